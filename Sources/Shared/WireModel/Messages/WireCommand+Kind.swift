extension WireCommand.OneOf_Action {
    /// Its name, as people say it.
    package var kind: String {
        switch self {
        case .requestLogs: "request-logs"
        case .cancel: "cancel"
        case .sendBeacon: "send-beacon"
        case .queryDeviceInformation: "query-device-information"
        case .reloadProfile: "reload-profile"
        case .changeLogLevel: "change-log-level"
        case .wipe: "wipe"
        }
    }
}
