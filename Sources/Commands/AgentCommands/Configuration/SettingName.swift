/// The agent's settings by their flag's name. A flag beats the environment variable, which beats the configuration
/// file.
enum SettingName: String, CaseIterable, Sendable {
    case data
    case collector
    case enrollmentToken = "enrollment-token"
    case enrollmentTokenFile = "enrollment-token-file"
    case sampleInterval = "sample-interval"
    case transmitInterval = "transmit-interval"
    case modules
    case eventHold = "event-hold"
    case beaconInterval = "beacon-interval"
    case lossWindow = "loss-window"
    case ca
    case clientKey = "client-key"
    case clientRequest = "client-request"
    case proxy
    case allowPlaintext = "allow-plaintext"
    case logLevel = "log-level"

    // Seldom said: no flags, only environment and file.
    case application
    case applicationVersion = "application-version"
    case disabledModules = "disabled-modules"
    case telecomSource = "telecom-source"
    case analytics
    case logging
    case logsOverWiFiOnly = "logs-over-wifi-only"
    case telemetryDisabled = "telemetry-disabled"
    case test
    case offlineTimeAllowed = "offline-time-allowed"
    case credentialDays = "credential-days"
    case accessGroup = "access-group"
    case detectors
    case binaryDigest = "binary-digest"

    // Objects: only the file can say them.
    case moduleIntervals = "module-intervals"
    case privacy
    case budgets
    case logRetention = "log-retention"

    /// Whether only the file can say it.
    var isTable: Bool {
        switch self {
        case .moduleIntervals, .privacy, .budgets, .logRetention: true
        default: false
        }
    }

    /// Whether a running agent takes a new value over; the others want a restart.
    var isLive: Bool {
        switch self {
        case .sampleInterval, .transmitInterval, .modules, .moduleIntervals, .disabledModules, .telecomSource,
            .eventHold, .beaconInterval,
            .logLevel, .analytics, .logging, .logsOverWiFiOnly, .telemetryDisabled, .test, .offlineTimeAllowed,
            .privacy, .budgets,
            .credentialDays:
            true
        case .data, .collector, .enrollmentToken, .enrollmentTokenFile, .lossWindow, .ca, .clientKey, .clientRequest,
            .proxy,
            .allowPlaintext, .accessGroup, .application, .applicationVersion, .detectors, .binaryDigest, .logRetention:
            false
        }
    }

    var flag: String { "--\(rawValue)" }

    /// `WS1_` and the flag's name in capitals.
    var variable: String { "WS1_" + rawValue.uppercased().map { $0 == "-" ? "_" : String($0) }.joined() }

    /// The flag's name in camel case.
    var fileKey: String {
        if self == .logsOverWiFiOnly { return "logsOverWiFiOnly" }
        let words = rawValue.split(separator: "-")
        return words[0] + words.dropFirst().map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined()
    }
}
