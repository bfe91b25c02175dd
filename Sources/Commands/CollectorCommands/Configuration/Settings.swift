import Collector
import CollectorAPI
import CommandKit
import Forwarding
import Foundation
import HTTPConnection
import Logging
import RecordStore
import Registry
import WireModel

/// The collector's settings, merged from flags, environment and file, and checked.
struct Settings: ProgramSettings, Equatable {
    /// Whether devices have client certificates.
    enum DeviceCertificateMode: String, CaseIterable, Sendable {
        case off, optional, required
    }

    var data = StandardDirectory.collector
    var store = StoreKind.directory
    var cluster = ClusterSettings()
    var broker = BrokerSettings()
    var configurationFile: String?
    var listen = ListenAddress(host: "127.0.0.1", port: 8420)
    var tlsCertificate: String?
    var tlsKey: String?
    var clientCA: String?
    var deviceCertificates: DeviceCertificateMode?
    var deviceCACertificate: String?
    var deviceCAKey: String?
    var deviceCertificateDays = DeviceAuthority.defaultValidDays
    var allowPlaintext = false
    var logLevel = LogLevel.information
    var maximumBodyBytes = WireLimits.bodyBytes
    var maximumInflatedBytes = WireLimits.inflatedBytes
    var maximumConnections = ConnectionLimits().connections
    var maximumConnectionsPerAddress: Int?
    var deviceRequestsPerSecond = CollectorServer.Settings().deviceRequestsPerSecond
    var recordQuotas = RecordQuotas()
    var logQuotas = LogQuotas()
    var retention = RetentionLimits()
    var packAfterDays = 2
    var diskNoticeBytes = 2 << 30
    var deviceMetrics = DeviceMetricSettings()
    var forward: [String: ForwardEndpoint] = [:]
    var noticeWebhook: Webhook?
    var assets: String?
    /// The proxies that the environment names for what the collector itself asks.
    private(set) var proxies = ProxyEnvironment()
    /// The proxy on the way to the webhook; `nil` to reach it directly.
    private(set) var webhookProxy: EndpointURL?

    static let keyStyle = SettingKeyStyle.dashes

    private static let bodyBytes = 64 * 1024...256 * 1024 * 1024
    private static let inflatedBytes = 64 * 1024...1024 * 1024 * 1024
    private static let counts = 1...1_000_000
    private static let retentionBytes = 1 << 20...Int64(SharedRanges.petabyte)

    static let table: [Setting<Settings>] =
        [
            Setting(
                "data", \.data, .text,
                """
                Directory for everything the collector keeps, in a cluster only its own tokens and keys; created if \
                missing
                """,
                value: "dir"),
            Setting(
                "config", \.configurationFile, .text, "YAML file with settings of these names", value: "file",
                in: [.flag, .variable]),
            Setting(
                "listen", \.listen, .address,
                """
                The address to listen on; port 0 lets the system choose. An address that other machines can reach \
                needs a certificate, or allow-plaintext behind a proxy that ends TLS
                """,
                value: "host:port"),
            Setting(
                "tls-certificate", \.tlsCertificate, .text, "PEM file with the server's certificate chain",
                value: "file",
                example: "/etc/ws1collector/certificate.pem", reload: .content),
            Setting(
                "tls-key", \.tlsKey, .text, "PEM file with the private key", value: "file",
                example: "/etc/ws1collector/key.pem", reload: .content),
            Setting(
                "client-ca", \.clientCA, .text, "PEM file with the authorities whose client certificates are required",
                value: "file", example: "/etc/ws1collector/clients.pem"),
            Setting(
                "device-certificates", \.deviceCertificates, .choice(),
                "Whether the collector issues client certificates to devices, and requires them", value: "mode",
                fallback: "optional with an authority, else off", example: "optional"),
            Setting(
                "device-ca-certificate", \.deviceCACertificate, .text,
                """
                PEM file with the authority that issues devices' certificates, and its parents; `device-ca create` \
                makes one
                """,
                value: "file", example: "/var/lib/ws1collector/device-ca.pem"),
            Setting(
                "device-ca-key", \.deviceCAKey, .text, "PEM file with that authority's private key", value: "file",
                example: "/var/lib/ws1collector/device-ca.key"),
            Setting(
                "device-certificate-days", \.deviceCertificateDays, .integer(DeviceAuthority.validDays),
                "Days for which a device's certificate is valid", value: "days"),
            Setting(
                "allow-plaintext", \.allowPlaintext, .flag,
                """
                Allow http to and from other machines: listening without TLS behind a proxy that ends it, \
                --notice-webhook, and a cluster's servers, PostgreSQL without verified TLS among them
                """
            ),
            Setting(
                "log-level", \.logLevel, .logLevel, "Least severe level of the log", value: "level", reload: .atOnce),
            Setting(
                "maximum-body-bytes", \.maximumBodyBytes, .integer(bodyBytes),
                "Largest request body as sent, bytes", value: "bytes"),
            Setting(
                "maximum-inflated-bytes", \.maximumInflatedBytes, .integer(inflatedBytes),
                "Largest request body after decompression, bytes", value: "bytes"),
            Setting(
                "maximum-connections", \.maximumConnections, .integer(counts), "Most open connections", value: "count"),
            Setting(
                "maximum-connections-per-address", \.maximumConnectionsPerAddress, .integer(counts),
                """
                The most open connections of one address (or IPv6 /64); more are closed at once. Behind a proxy \
                on another machine, set it to the value of --maximum-connections
                """,
                value: "count", fallback: "half, and no limit for addresses of this machine", example: "1024"),
            Setting(
                "device-requests-per-second", \.deviceRequestsPerSecond, .integer(counts),
                """
                Requests per second of one device on average, bursts twice as many; more are answered 429. Collectors \
                of a cluster share it
                """,
                value: "count"),
            Setting(
                "record-device-bytes-per-day", \.recordQuotas.deviceBytes, .integer(SharedRanges.quotaBytes),
                """
                Bytes of records that one device may store in a day (UTC); then it is answered 429 and keeps further \
                ones
                """,
                value: "bytes", reload: .atOnce),
            Setting(
                "record-organization-bytes-per-day", \.recordQuotas.organizationBytes,
                .integer(SharedRanges.quotaBytes),
                "Bytes of records that all devices of an organization may store in a day (UTC)", value: "bytes",
                fallback: "1000 times --record-device-bytes-per-day", example: "1000000000000", reload: .atOnce),
            Setting(
                "record-device-epochs-per-day", \.recordQuotas.deviceEpochs, .integer(counts),
                "Epochs in which one device may send or close records in a day (UTC); further ones are answered 429",
                value: "count",
                reload: .atOnce),
            Setting(
                "otlp-devices-per-day", \.recordQuotas.otlpDevices, .integer(counts),
                "Devices that one token for OTLP may make in a day (UTC); requests with further ones are answered 429",
                value: "count", reload: .atOnce),
            Setting(
                "log-application-bytes", \.logQuotas.applicationBytes, .integer(SharedRanges.quotaBytes),
                "Bytes of log text kept per organization and application; more is refused", value: "bytes",
                reload: .atOnce),
            Setting(
                "log-organization-bytes", \.logQuotas.organizationBytes, .integer(SharedRanges.quotaBytes),
                "Bytes of log text kept per organization, all applications together", value: "bytes",
                fallback: "50 times --log-application-bytes", example: "10000000000", reload: .atOnce),
            Setting(
                "log-device-bytes", \.logQuotas.deviceBytes, .integer(SharedRanges.quotaBytes),
                "Bytes of log text kept per device, all applications together", value: "bytes",
                fallback: "twice --log-application-bytes", example: "400000000", reload: .atOnce),
            Setting(
                "log-device-applications", \.logQuotas.applicationsPerDevice, .integer(counts),
                "The most applications whose logs one device may send; uploads of others are refused", value: "count",
                reload: .atOnce),
            Setting(
                "log-applications", \.logQuotas.applicationsPerOrganization, .integer(counts),
                "The most applications whose logs an organization's devices may send", value: "count", reload: .atOnce),
            Setting(
                "retention-status-days", \.retention.status.days, .integer(SharedRanges.days),
                "Days for which beacons and command results are kept", value: "days", reload: .atOnce),
            Setting(
                "retention-event-days", \.retention.event.days, .integer(SharedRanges.days),
                "Days for which events are kept",
                value: "days", reload: .atOnce),
            Setting(
                "retention-sample-days", \.retention.sample.days, .integer(SharedRanges.days),
                "Days for which samples are kept", value: "days", reload: .atOnce),
            Setting(
                "retention-status-bytes", \.retention.status.bytes, .integer(retentionBytes),
                "The most bytes of the status stream; the oldest days are removed first", value: "bytes",
                fallback: "no limit", example: "50000000000", reload: .atOnce),
            Setting(
                "retention-event-bytes", \.retention.event.bytes, .integer(retentionBytes),
                "The most bytes of the event stream", value: "bytes", fallback: "no limit", example: "50000000000",
                reload: .atOnce),
            Setting(
                "retention-sample-bytes", \.retention.sample.bytes, .integer(retentionBytes),
                "The most bytes of the sample stream", value: "bytes", fallback: "no limit", example: "200000000000",
                reload: .atOnce),
            Setting(
                "pack-after-days", \.packAfterDays, .integer(0...SharedRanges.days.upperBound),
                "Days after which the records of a day are packed into less space; 0: never", value: "days"),
            Setting(
                "disk-notice-bytes", \.diskNoticeBytes, .integer(0...SharedRanges.petabyte),
                "Free disk space in bytes below which a notice is raised; 0: never", value: "bytes"),
            Setting(
                "device-metrics", \.deviceMetrics.choice, .deviceMetrics,
                """
                The metrics whose newest values of all devices GET /metrics/devices shows to Prometheus: names of the \
                catalog with commas between, custom:NAME for a metric of custom samples, otlp:NAME for one that came \
                as OTLP, or all
                """,
                value: "names", reload: .atOnce),
            Setting(
                "device-metrics-age-seconds", \.deviceMetrics.ageSeconds, .integer(DeviceMetricSettings.ageSeconds),
                """
                Age from which GET /metrics/devices does not show a value any more, seconds. Give twice the time that \
                devices take to sample and send
                """,
                value: "seconds", reload: .atOnce),
            Setting(
                "device-metrics-series", \.deviceMetrics.maximumSeries, .integer(DeviceMetricSettings.seriesLimits),
                """
                The most series of one organization in an answer of GET /metrics/devices; the devices with the \
                greatest ids are left out
                """,
                value: "count", reload: .atOnce),
            Setting(
                "notice-webhook", \.noticeWebhook, .webhook,
                """
                Address to which notices are posted as JSON; it may contain a secret, so prefer the environment or the \
                file
                """,
                value: "url", example: "https://hooks.example/notices", isSecret: true),
            Setting(
                "assets", \.assets, .text, "Directory with the files of the web console", value: "dir",
                fallback: "share/ws1collector beside the directory of the program", example: "/usr/share/ws1collector"),
        ] + ForwardEndpoint.table + BrokerSettings.table + ClusterSettings.table

    /// Reads the settings and checks them together, as `serve` needs them.
    init(_ layers: SettingLayers<Settings>) throws(CommandError) {
        self = try layers.read()
        proxies = ProxyEnvironment(layers.environment)
        if store == .cluster { try cluster.check(layers) }
        try checkTLS(layers)
        try checkDeviceCertificates(layers)
        if deviceCertificates == nil { deviceCertificates = deviceCACertificate == nil ? .off : .optional }
        guard tls != nil || allowPlaintext || listen.isLoopback else {
            throw CommandError(
                .usage,
                """
                \(listen) can be reached from other machines, and without TLS anybody on the network path can read \
                credentials and data. Give --tls-certificate and --tls-key, listen on 127.0.0.1, or give \
                --allow-plaintext (behind a proxy that ends TLS).
                """
            )
        }
        try broker.check(layers, self)
        try checkForwarding(layers)
        if let noticeWebhook {
            do throws(ConnectionSettingsError) { webhookProxy = try proxies.proxy(for: noticeWebhook.server) } catch {
                throw CommandError(.usage, error.message, cause: error)
            }
            guard allowPlaintext || noticeWebhook.isConfidential(through: webhookProxy) else {
                throw layers.refusal(
                    \.noticeWebhook,
                    """
                    it is an http:// address that another machine or its proxy answers, and anybody on the network \
                    path could read the notices. Give an https:// address, or --allow-plaintext
                    """)
            }
        }
    }

    init() {}

    private func checkTLS(_ layers: SettingLayers<Settings>) throws(CommandError) {
        switch (tlsCertificate, tlsKey) {
        case (nil, _?): throw layers.refusal(\.tlsKey, "give --tls-certificate too")
        case (_?, nil): throw layers.refusal(\.tlsCertificate, "give --tls-key too")
        case (nil, nil) where clientCA != nil:
            throw layers.refusal(\.clientCA, "give --tls-certificate and --tls-key too")
        default: break
        }
    }

    private func checkDeviceCertificates(_ layers: SettingLayers<Settings>) throws(CommandError) {
        switch (deviceCACertificate, deviceCAKey) {
        case (nil, _?): throw layers.refusal(\.deviceCAKey, "give --device-ca-certificate too")
        case (_?, nil): throw layers.refusal(\.deviceCACertificate, "give --device-ca-key too")
        case (nil, nil):
            guard deviceCertificates == nil || deviceCertificates == .off else {
                throw layers.refusal(
                    \.deviceCertificates,
                    "there is no authority to issue them. Give --device-ca-certificate and --device-ca-key "
                        + "(`ws1collector device-ca create` makes them)")
            }
        case (_?, _?):
            guard deviceCertificates == .off || tlsCertificate != nil else {
                throw layers.refusal(
                    \.deviceCACertificate,
                    """
                    clients present certificates only if the collector itself ends TLS. Give --tls-certificate and \
                    --tls-key too
                    """
                )
            }
        }
    }

    /// The files for TLS; `nil` if the collector serves without TLS.
    var tls: TLSFiles? {
        guard let tlsCertificate, let tlsKey else { return nil }
        return TLSFiles(
            certificate: tlsCertificate, key: tlsKey, clientCA: clientCA,
            deviceCA: deviceCertificates == .off ? nil : deviceCACertificate)
    }

    /// Reads and checks the certificates and keys that the settings name, for `serve` and `validate`.
    func secrets(logger: Logger) throws -> (certificates: DeviceCertificates, tls: ServerTLS?) {
        var certificates = DeviceCertificates.off
        if let deviceCACertificate, let deviceCAKey, deviceCertificates != .off {
            let authority = try DeviceAuthority(
                certificate: deviceCACertificate, key: deviceCAKey, days: deviceCertificateDays)
            certificates = deviceCertificates == .required ? .required(authority) : .optional(authority)
        }
        return (certificates, try tls.map { try ServerTLS($0, logger: logger) })
    }

    /// The server's part of the settings.
    var server: CollectorServer.Settings {
        var server = CollectorServer.Settings(
            host: listen.host, port: listen.port,
            connections: ConnectionLimits(
                connections: maximumConnections, connectionsPerAddress: maximumConnectionsPerAddress),
            bodyBytes: maximumBodyBytes, inflatedBytes: maximumInflatedBytes)
        server.servesTLS = tls != nil
        // A cluster's data is elsewhere.
        server.diskNoticeBytes = store == .directory ? UInt64(diskNoticeBytes) : 0
        server.deviceRequestsPerSecond = deviceRequestsPerSecond
        server.deviceMetrics = deviceMetrics
        return server
    }
}

extension SettingType where Value == ListenAddress {
    fileprivate static let address = SettingType(.text(range: "HOST:PORT, port 0 to 65535", pattern: nil)) {
        given throws(CommandError) in
        guard let address = ListenAddress(try given.text()) else {
            throw given.wrong("HOST:PORT, such as 127.0.0.1:8420 or [::1]:8420")
        }
        return address
    }
}

extension SettingType where Value == DeviceMetricChoice {
    fileprivate static let deviceMetrics = SettingType(
        .names(known: nil), text: { $0.names.isEmpty ? "none" : $0.names.joined(separator: ",") }
    ) { given throws(CommandError) in
        let names = try given.names("metrics").filter { !$0.isEmpty }
        do throws(DeviceMetricChoice.Refusal) { return try DeviceMetricChoice(names) } catch {
            throw given.refused(error.message)
        }
    }
}

extension SettingType where Value == Webhook {
    fileprivate static let webhook = SettingType(
        .text(range: "http:// or https://", pattern: "^https?://"), text: { "at \($0.host)" }
    ) { given throws(CommandError) in
        guard let webhook = Webhook(try given.text()) else {
            throw given.wrong("a URL, http:// or https:// with a host")
        }
        return webhook
    }
}
