/// Names of headers, media types and routes that both ends use.
package enum WireNames {
    /// Every answer of a collector has it. An answer without it counts as unreachable.
    package static let versionHeader = "WS1-Collector-Version"
    package static let collectorHeader = "WS1-Collector-Id"
    package static let incarnationHeader = "WS1-Incarnation-Id"

    package static let protobuf = "application/x-protobuf"
    package static let problem = "application/problem+json"
    package static let json = "application/json"
    package static let mergePatch = "application/merge-patch+json"
    package static let form = "application/x-www-form-urlencoded"
    /// The media type of a log chunk. Gzip is its content and not a content encoding.
    package static let gzip = "application/gzip"

    package static let enrollPath = "/api/v1/enroll"
    package static let rotatePath = "/api/v1/rotate"
    package static let unenrollPath = "/api/v1/unenroll"
    package static let batchesPath = "/api/v1/batches"
    package static let closePath = "/api/v1/streams/close"
    package static let commandsPath = "/api/v1/commands"
    package static let profilePath = "/api/v1/profile"
    package static let assignmentsPath = "/api/v1/assignments"
    package static let doNotDisturbPath = "/api/v1/do-not-disturb"
    /// Followed by `/{upload}`, `/{upload}/chunks/{number}` or `/{upload}/complete`.
    package static let uploadsPath = "/api/v1/uploads"

    /// The TLS 1.2 cipher suites, in BoringSSL's notation. All have forward secrecy and authenticated encryption. TLS
    /// 1.3 has no others.
    package static let cipherSuites = "ECDHE+AESGCM:ECDHE+CHACHA20"

    /// The wire's major version, which is the first component of the version header. A device sends nothing to a
    /// collector with another one.
    package static let majorVersion = 1
}

/// Sizes that both ends keep to. A collector may be configured with other body limits.
package enum WireLimits {
    /// A serialized record: 256 KiB.
    package static let recordBytes = 256 * 1024
    /// Raw bytes of records in one batch part: 1 MiB.
    package static let partBytes = 1024 * 1024
    /// A request body as sent: 4 MiB.
    package static let bodyBytes = 4 * 1024 * 1024
    /// A request body after inflating: 20 MiB.
    package static let inflatedBytes = 20 * 1024 * 1024
    /// The greatest ratio of inflated to compressed size.
    package static let inflateRatio = 200
}

extension WireCommand.OneOf_Action {
    /// The kind's name for people.
    package var kind: String {
        switch self {
        case .requestLogs: "request-logs"
        case .cancel: "cancel"
        case .sendBeacon: "send-beacon"
        case .queryDeviceInformation: "query-device-information"
        case .reloadProfile: "reload-profile"
        case .changeLogLevel: "change-log-level"
        case .wipe: "wipe"
        case .enterpriseWipe: "enterprise-wipe"
        case .message: "message"
        }
    }
}
