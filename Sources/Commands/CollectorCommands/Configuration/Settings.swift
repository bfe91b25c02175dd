import Collector
import CollectorStore
import CommandKit
import Configuration
import Foundation
import Logging
import WireModel

/// What a command runs with, after flags, environment and file have been put together and checked.
struct Settings: Equatable, Sendable {
    var data: String
    var listen: ListenAddress
    var tls: TLSFiles?
    var deviceCertificates: DeviceCertificateSettings
    var allowPlaintext: Bool
    var logLevel: Logger.Level
    var maximumBodyBytes: Int
    var maximumInflatedBytes: Int
    var maximumConnections: Int
    /// `nil`: half of them, and no limit for addresses of this machine.
    var maximumConnectionsPerAddress: Int?
    var deviceRequestsPerSecond: Int
    var logQuotas: LogQuotas
    var retention: RetentionLimits
    /// Below so many free bytes there is a notice; 0: never.
    var diskNoticeBytes: Int
    var noticeWebhook: Webhook?

    static let defaultDiskNoticeBytes = 2 << 30
    static let defaultListen = ListenAddress(host: "127.0.0.1", port: 8420)

    /// - Parameters:
    ///   - flags: what the command line gave.
    ///   - environment: the process's environment.
    ///   - file: the configuration file, where one was named.
    /// - Throws: `CommandError` `.usage` naming the setting.
    init(flags: [Setting: String], environment: [String: String], file: ConfigurationFile?) throws(CommandError) {
        try self.init(GivenSettings(flags: flags, environment: environment, file: file))
    }

    init(_ given: GivenSettings) throws(CommandError) {
        data = try given.required(.data, "Name the collector's data directory.")
        if let text = given.text(.listen) {
            guard let address = ListenAddress(text) else {
                throw given.invalid(.listen, "is \(text); expected HOST:PORT, such as 127.0.0.1:8420 or [::1]:8420")
            }
            listen = address
        } else {
            listen = Self.defaultListen
        }
        allowPlaintext = try given.flag(.allowPlaintext)
        let (certificate, key, clientCA) = (given.text(.tlsCertificate), given.text(.tlsKey), given.text(.clientCA))
        switch (certificate, key) {
        case (let certificate?, let key?): tls = TLSFiles(certificate: certificate, key: key, clientCA: clientCA)
        case (nil, nil):
            tls = nil
            if clientCA != nil {
                throw given.invalid(
                    .clientCA, "is given without a certificate. Give --tls-certificate and --tls-key too")
            }
        case (nil, _): throw given.invalid(.tlsKey, "is given without --tls-certificate. Give both")
        case (_, nil): throw given.invalid(.tlsCertificate, "is given without --tls-key. Give both")
        }
        deviceCertificates = try DeviceCertificateSettings(given, servesTLS: tls != nil)
        if deviceCertificates.mode != .off { tls?.deviceCA = deviceCertificates.authority?.certificate }
        guard tls != nil || allowPlaintext || listen.isLoopback else {
            throw CommandError(
                .usage,
                "\(listen) can be reached from other machines, and without TLS everybody in between can read credentials and data. "
                    + "Give --tls-certificate and --tls-key, listen on 127.0.0.1, or say --allow-plaintext (behind a proxy that ends TLS)."
            )
        }
        if let text = given.text(.logLevel) {
            guard let level = Logger.Level(rawValue: text) else {
                throw given.invalid(
                    .logLevel,
                    "is \(text); expected one of \(Logger.Level.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            logLevel = level
        } else {
            logLevel = .info
        }
        maximumBodyBytes =
            try given.number(.maximumBodyBytes, in: 64 * 1024...256 * 1024 * 1024) ?? WireLimits.bodyBytes
        maximumInflatedBytes =
            try given.number(.maximumInflatedBytes, in: 64 * 1024...1024 * 1024 * 1024) ?? WireLimits.inflatedBytes
        maximumConnections = try given.number(.maximumConnections, in: 1...1_000_000) ?? ConnectionLimits().connections
        maximumConnectionsPerAddress = try given.number(.maximumConnectionsPerAddress, in: 1...1_000_000)
        deviceRequestsPerSecond =
            try given.number(.deviceRequestsPerSecond, in: 1...1_000_000)
            ?? CollectorServer.Settings().deviceRequestsPerSecond
        logQuotas = try given.logQuotas()
        var limits = RetentionLimits()
        for (stream, days, bytes) in Self.retentionSettings {
            limits[stream].days = try given.number(days, in: 1...36_500) ?? limits[stream].days
            limits[stream].bytes = try given.number(bytes, in: 1 << 20...1_000_000_000_000_000).map(Int64.init)
        }
        retention = limits
        let mayPostPlainly = allowPlaintext
        noticeWebhook = try given.text(.noticeWebhook).map { text throws(CommandError) in
            guard let webhook = Webhook(text) else {
                throw given.invalid(.noticeWebhook, "is no URL; expected http:// or https:// with a host")
            }
            guard mayPostPlainly || webhook.isConfidential else {
                throw given.invalid(
                    .noticeWebhook,
                    "is an http:// address of another machine, and everybody in between could read the notices. Give an https:// address, or "
                        + "say --allow-plaintext")
            }
            return webhook
        }
        diskNoticeBytes =
            try given.number(.diskNoticeBytes, in: 0...1_000_000_000_000_000) ?? Self.defaultDiskNoticeBytes
    }

    private static let retentionSettings: [(stream: StreamName, days: Setting, bytes: Setting)] = [
        (.status, .retentionStatusDays, .retentionStatusBytes), (.event, .retentionEventDays, .retentionEventBytes),
        (.sample, .retentionSampleDays, .retentionSampleBytes),
    ]

    /// The certificates and keys that the settings name, read and checked: what `serve` starts with, and `validate`
    /// tries.
    func secrets(logger: Logger) throws -> (certificates: DeviceCertificates, tls: ServerTLS?) {
        (try deviceCertificates.certificates(), try tls.map { try ServerTLS($0, logger: logger) })
    }

    /// What `serve` listens with.
    var server: CollectorServer.Settings {
        var server = CollectorServer.Settings(
            host: listen.host, port: listen.port,
            connections: ConnectionLimits(
                connections: maximumConnections, connectionsPerAddress: maximumConnectionsPerAddress),
            bodyBytes: maximumBodyBytes, inflatedBytes: maximumInflatedBytes)
        server.servesTLS = tls != nil
        server.deviceRequestsPerSecond = deviceRequestsPerSecond
        return server
    }

    /// The settings whose values are others than in `former`.
    func changes(from former: Settings) -> [Setting] {
        Setting.allCases.filter { self[$0] != former[$0] }
    }

    /// A value as it may be shown; `nil` where there is none.
    func shown(_ setting: Setting) -> String? {
        setting == .noticeWebhook ? noticeWebhook.map { "at \($0.host)" } : self[setting]
    }

    private subscript(_ setting: Setting) -> String? {
        switch setting {
        case .data: data
        case .listen: "\(listen)"
        case .tlsCertificate: tls?.certificate
        case .tlsKey: tls?.key
        case .clientCA: tls?.clientCA
        case .deviceCertificates: deviceCertificates.mode.rawValue
        case .deviceCACertificate: deviceCertificates.authority?.certificate
        case .deviceCAKey: deviceCertificates.authority?.key
        case .deviceCertificateDays: "\(deviceCertificates.days)"
        case .allowPlaintext: "\(allowPlaintext)"
        case .logLevel: "\(logLevel)"
        case .maximumBodyBytes: "\(maximumBodyBytes)"
        case .maximumInflatedBytes: "\(maximumInflatedBytes)"
        case .maximumConnections: "\(maximumConnections)"
        case .maximumConnectionsPerAddress:
            maximumConnectionsPerAddress.map { "\($0)" } ?? "half, and no limit for addresses of this machine"
        case .deviceRequestsPerSecond: "\(deviceRequestsPerSecond)"
        case .logQuotaBytes: "\(logQuotas.applicationBytes)"
        case .logOrganizationBytes: logQuotas.organizationBytes.map { "\($0)" }
        case .logDeviceApplications: "\(logQuotas.applicationsPerDevice)"
        case .logApplications: "\(logQuotas.applicationsPerOrganization)"
        case .retentionStatusDays: "\(retention.status.days)"
        case .retentionEventDays: "\(retention.event.days)"
        case .retentionSampleDays: "\(retention.sample.days)"
        case .retentionStatusBytes: retention.status.bytes.map { "\($0)" }
        case .retentionEventBytes: retention.event.bytes.map { "\($0)" }
        case .retentionSampleBytes: retention.sample.bytes.map { "\($0)" }
        case .diskNoticeBytes: "\(diskNoticeBytes)"
        case .noticeWebhook: noticeWebhook?.url.absoluteString
        }
    }
}

/// The three sources as one, by precedence, each value with the name of where it came from.
struct GivenSettings {
    private let reader: ConfigReader
    private let flags: [Setting: String]
    private let environment: [String: String]

    init(flags: [Setting: String], environment: [String: String], file: ConfigurationFile?) {
        self.flags = flags
        self.environment = environment
        var providers: [any ConfigProvider] = [
            InMemoryProvider(
                name: "flags",
                values: .init(uniqueKeysWithValues: flags.map { ($0.key.key, ConfigValue(stringLiteral: $0.value)) })),
            // An empty variable is how a unit file or a shell says "not set".
            EnvironmentVariablesProvider(environmentVariables: environment.filter { !$0.value.isEmpty }).prefixKeys(
                with: ["ws1"]),
        ]
        if let file { providers.append(file.provider) }
        reader = ConfigReader(providers: providers)
    }

    /// Of this process's environment, and the file that is named, there or as `config`.
    init(config: String?, flags: [Setting: String]) throws(CommandError) {
        let environment = ProcessInfo.processInfo.environment
        var path = config
        if path == nil, let named = environment["WS1_CONFIG"], !named.isEmpty { path = named }
        var file: ConfigurationFile?
        if let path { file = try ConfigurationFile(path: path) }
        self.init(flags: flags, environment: environment, file: file)
    }

    func text(_ setting: Setting) -> String? {
        reader.string(forKey: ConfigKey([setting.rawValue]))
    }

    func required(_ setting: Setting, _ remedy: String) throws(CommandError) -> String {
        guard let text = text(setting), !text.isEmpty else {
            throw CommandError(
                .usage,
                "--\(setting.rawValue) is missing. \(remedy) (Also \(setting.environmentName), or `\(setting.rawValue):` in the file.)"
            )
        }
        return text
    }

    func flag(_ setting: Setting) throws(CommandError) -> Bool {
        switch text(setting)?.lowercased() {
        case nil, "false", "no", "0": return false
        case "true", "yes", "1": return true
        case .some(let text): throw invalid(setting, "is \(text); expected true or false")
        }
    }

    func number(_ setting: Setting, in range: ClosedRange<Int>) throws(CommandError) -> Int? {
        guard let text = text(setting) else { return nil }
        guard let number = Int(text), range.contains(number) else {
            throw invalid(setting, "is \(text); expected \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func logQuotas() throws(CommandError) -> LogQuotas {
        var quotas = LogQuotas()
        let bytes = LogLimits.chunkBytes...1_000_000_000_000_000
        quotas.applicationBytes = try number(.logQuotaBytes, in: bytes) ?? quotas.applicationBytes
        quotas.organizationBytes = try number(.logOrganizationBytes, in: bytes)
        quotas.applicationsPerDevice =
            try number(.logDeviceApplications, in: 1...1_000_000) ?? quotas.applicationsPerDevice
        quotas.applicationsPerOrganization =
            try number(.logApplications, in: 1...1_000_000) ?? quotas.applicationsPerOrganization
        return quotas
    }

    func invalid(_ setting: Setting, _ what: String) -> CommandError {
        let source =
            flags[setting] != nil
            ? "--\(setting.rawValue)"
            : environment[setting.environmentName].map { !$0.isEmpty } == true
                ? setting.environmentName : "`\(setting.rawValue)` in the file"
        return CommandError(.usage, "\(source) \(what).")
    }
}

/// Everything that can be set: by flag (`--listen`), environment (`WS1_LISTEN`) and file (`listen:`), in this order of
/// precedence.
enum Setting: String, CaseIterable, Sendable {
    case data
    case listen
    case tlsCertificate = "tls-certificate"
    case tlsKey = "tls-key"
    case clientCA = "client-ca"
    case deviceCertificates = "device-certificates"
    case deviceCACertificate = "device-ca-certificate"
    case deviceCAKey = "device-ca-key"
    case deviceCertificateDays = "device-certificate-days"
    case allowPlaintext = "allow-plaintext"
    case logLevel = "log-level"
    case maximumBodyBytes = "maximum-body-bytes"
    case maximumInflatedBytes = "maximum-inflated-bytes"
    case maximumConnections = "maximum-connections"
    case maximumConnectionsPerAddress = "maximum-connections-per-address"
    case deviceRequestsPerSecond = "device-requests-per-second"
    case logQuotaBytes = "log-quota-bytes"
    case logOrganizationBytes = "log-organization-bytes"
    case logDeviceApplications = "log-device-applications"
    case logApplications = "log-applications"
    case retentionStatusDays = "retention-status-days"
    case retentionEventDays = "retention-event-days"
    case retentionSampleDays = "retention-sample-days"
    case retentionStatusBytes = "retention-status-bytes"
    case retentionEventBytes = "retention-event-bytes"
    case retentionSampleBytes = "retention-sample-bytes"
    case diskNoticeBytes = "disk-notice-bytes"
    case noticeWebhook = "notice-webhook"

    /// How long, and how much of them, records are kept.
    static let ofRetention: [Setting] = [
        .retentionStatusDays, .retentionEventDays, .retentionSampleDays, .retentionStatusBytes, .retentionEventBytes,
        .retentionSampleBytes,
    ]

    /// What is kept of logs.
    static let ofLogQuotas: [Setting] = [
        .logQuotaBytes, .logOrganizationBytes, .logDeviceApplications, .logApplications,
    ]

    var environmentName: String { "WS1_" + rawValue.uppercased().replacing("-", with: "_") }
}
