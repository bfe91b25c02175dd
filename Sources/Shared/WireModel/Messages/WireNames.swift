/// Names of headers, media types and routes, the same on both ends.
package enum WireNames {
    /// On every answer of a collector; without them an answer counts as unreachable.
    package static let versionHeader = "WS1-Collector-Version"
    package static let collectorHeader = "WS1-Collector-Id"
    package static let incarnationHeader = "WS1-Incarnation-Id"

    package static let protobuf = "application/x-protobuf"
    package static let problem = "application/problem+json"
    package static let json = "application/json"
    package static let mergePatch = "application/merge-patch+json"
    /// A chunk of a log: content, not an encoding of it.
    package static let gzip = "application/gzip"

    package static let enrollPath = "/api/v1/enroll"
    package static let rotatePath = "/api/v1/rotate"
    package static let unenrollPath = "/api/v1/unenroll"
    package static let batchesPath = "/api/v1/batches"
    package static let closePath = "/api/v1/streams/close"
    package static let commandsPath = "/api/v1/commands"
    package static let profilePath = "/api/v1/profile"
    /// `/{upload}`, `/{upload}/chunks/{number}` and `/{upload}/complete` follow.
    package static let uploadsPath = "/api/v1/uploads"

    /// What may encrypt a connection of TLS 1.2, as BoringSSL names it: only suites whose sessions a stolen key does
    /// not open afterwards, with encryption and authentication in one. TLS 1.3 has no others.
    package static let cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"

    /// The wire's major version, first component of the version header: another one is held, not sent to.
    package static let majorVersion = 1
}

/// Sizes both ends keep to; the collector may be configured to lower or higher body limits.
package enum WireLimits {
    /// A serialized record: 256 KiB.
    package static let recordBytes = 256 * 1024
    /// Raw bytes of records in one batch part: 1 MiB.
    package static let partBytes = 1024 * 1024
    /// A request body as it travels: 4 MiB.
    package static let bodyBytes = 4 * 1024 * 1024
    /// The same inflated: 20 MiB.
    package static let inflatedBytes = 20 * 1024 * 1024
    /// Inflated over compressed: 200.
    package static let inflateRatio = 200
}

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
