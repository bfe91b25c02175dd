import ArgumentParser
import Collector
import CommandKit
import Foundation
import WireModel

/// The flags that `serve` and `validate` share.
struct ServerOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Directory that holds everything the collector keeps; made when missing.", valueName: "dir"))
    var data: String?

    @Option(help: ArgumentHelp("Where to listen (default: \(Settings.defaultListen)).", valueName: "host:port"))
    var listen: String?

    @Option(help: ArgumentHelp("YAML file with settings of these names.", valueName: "file"))
    var config: String?

    @Option(help: ArgumentHelp("PEM file with the server's certificate chain.", valueName: "file"))
    var tlsCertificate: String?

    @Option(help: ArgumentHelp("PEM file with the private key.", valueName: "file"))
    var tlsKey: String?

    @Option(
        help: ArgumentHelp("PEM file with the authorities whose client certificates are required.", valueName: "file"))
    var clientCA: String?

    @OptionGroup var deviceCertificates: DeviceCertificateOptions

    @Flag(
        help:
            "Allow http beyond this machine: to listen without TLS behind a proxy that ends it, and for --notice-webhook."
    )
    var allowPlaintext = false

    @Option(
        help: ArgumentHelp(
            "trace, debug, info, notice, warning, error or critical (default: info).", valueName: "level"))
    var logLevel: String?

    @Option(help: ArgumentHelp("Largest request body as it travels, bytes (default: 4194304).", valueName: "bytes"))
    var maximumBodyBytes: String?

    @Option(help: ArgumentHelp("Largest request body inflated, bytes (default: 20971520).", valueName: "bytes"))
    var maximumInflatedBytes: String?

    @Option(help: ArgumentHelp("Connections at a time (default: 2048).", valueName: "count"))
    var maximumConnections: String?

    @Option(
        help: ArgumentHelp(
            "Of these, connections that one address (or IPv6 /64) may have open; more are closed at once (default: half, and no limit for addresses of this machine). Behind a proxy on another machine give as many as --maximum-connections.",
            valueName: "count"))
    var maximumConnectionsPerAddress: String?

    @Option(
        help: ArgumentHelp(
            "Requests a second of one device, on average; more are answered 429 (default: 1000).", valueName: "count"))
    var deviceRequestsPerSecond: String?

    @Option(
        help: ArgumentHelp(
            "Logs kept per organization and application, bytes of text; more are refused (default: 200000000).",
            valueName: "bytes"))
    var logQuotaBytes: String?

    @Option(
        help: ArgumentHelp(
            "Logs kept per organization, all applications together, bytes of text (default: 50 times --log-quota-bytes).",
            valueName: "bytes"))
    var logOrganizationBytes: String?

    @Option(
        help: ArgumentHelp(
            "Applications that one device sends logs of; uploads under further names are refused (default: 50).",
            valueName: "count"))
    var logDeviceApplications: String?

    @Option(
        help: ArgumentHelp(
            "Applications that all devices of an organization send logs of (default: 1000).", valueName: "count"))
    var logApplications: String?

    @OptionGroup var retention: RetentionOptions

    @Option(
        help: ArgumentHelp(
            "A notice is raised when fewer bytes of disk are free; 0: never (default: \(Settings.defaultDiskNoticeBytes)).",
            valueName: "bytes"))
    var diskNoticeBytes: String?

    @Option(
        help: ArgumentHelp(
            "Notices are posted here as JSON; may be a secret, so better said in the environment or the file.",
            valueName: "url"))
    var noticeWebhook: String?

    func settings() throws(CommandError) -> Settings {
        var flags: [Setting: String] = [:]
        flags[.data] = data
        flags[.listen] = listen
        flags[.tlsCertificate] = tlsCertificate
        flags[.tlsKey] = tlsKey
        flags[.clientCA] = clientCA
        flags.merge(deviceCertificates.flags) { $1 }
        if allowPlaintext { flags[.allowPlaintext] = "true" }
        flags[.logLevel] = logLevel
        flags[.maximumBodyBytes] = maximumBodyBytes
        flags[.maximumInflatedBytes] = maximumInflatedBytes
        flags[.maximumConnections] = maximumConnections
        flags[.maximumConnectionsPerAddress] = maximumConnectionsPerAddress
        flags[.deviceRequestsPerSecond] = deviceRequestsPerSecond
        flags[.logQuotaBytes] = logQuotaBytes
        flags[.logOrganizationBytes] = logOrganizationBytes
        flags[.logDeviceApplications] = logDeviceApplications
        flags[.logApplications] = logApplications
        flags.merge(retention.flags) { $1 }
        flags[.diskNoticeBytes] = diskNoticeBytes
        flags[.noticeWebhook] = noticeWebhook
        return try Settings(GivenSettings(config: config, flags: flags))
    }
}

/// The data directory alone, for the commands that work on it directly.
struct DataOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The collector's data directory (also WS1_DATA).", valueName: "dir"))
    var data: String?

    func directory() throws(CommandError) -> String {
        if let data { return data }
        if let data = ProcessInfo.processInfo.environment[Setting.data.environmentName], !data.isEmpty { return data }
        throw CommandError(
            .usage, "--data is missing. Name the collector's data directory. (Also \(Setting.data.environmentName).)")
    }
}

/// The flags that say whether devices have client certificates, and whose.
struct DeviceCertificateOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "off, optional or required: whether devices are issued client certificates, and served without (default: optional with an authority, else off).",
            valueName: "mode"))
    var deviceCertificates: String?

    @Option(
        name: .customLong("device-ca-certificate"),
        help: ArgumentHelp(
            "PEM file with the authority that issues devices' certificates, and those above it; `device-ca create` makes one.",
            valueName: "file"))
    var deviceCACertificate: String?

    @Option(
        name: .customLong("device-ca-key"),
        help: ArgumentHelp("PEM file with that authority's private key.", valueName: "file"))
    var deviceCAKey: String?

    @Option(
        help: ArgumentHelp(
            "Days a device's certificate is good for, 1 to 1095 (default: \(DeviceAuthority.defaultValidDays)).",
            valueName: "days"))
    var deviceCertificateDays: String?

    var flags: [Setting: String] {
        var flags: [Setting: String] = [:]
        flags[.deviceCertificates] = deviceCertificates
        flags[.deviceCACertificate] = deviceCACertificate
        flags[.deviceCAKey] = deviceCAKey
        flags[.deviceCertificateDays] = deviceCertificateDays
        return flags
    }
}

/// The flags that say how long records are kept.
struct RetentionOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Days for which beacons and command results are kept (default: 90).", valueName: "days"))
    var retentionStatusDays: String?

    @Option(help: ArgumentHelp("Days for which events are kept (default: 90).", valueName: "days"))
    var retentionEventDays: String?

    @Option(help: ArgumentHelp("Days for which samples are kept (default: 30).", valueName: "days"))
    var retentionSampleDays: String?

    @Option(
        help: ArgumentHelp(
            "Bytes that all days of the status stream may take; the oldest days go (default: no limit).",
            valueName: "bytes")
    )
    var retentionStatusBytes: String?

    @Option(help: ArgumentHelp("The same of the event stream.", valueName: "bytes"))
    var retentionEventBytes: String?

    @Option(help: ArgumentHelp("The same of the sample stream.", valueName: "bytes"))
    var retentionSampleBytes: String?

    var flags: [Setting: String] {
        var flags: [Setting: String] = [:]
        flags[.retentionStatusDays] = retentionStatusDays
        flags[.retentionEventDays] = retentionEventDays
        flags[.retentionSampleDays] = retentionSampleDays
        flags[.retentionStatusBytes] = retentionStatusBytes
        flags[.retentionEventBytes] = retentionEventBytes
        flags[.retentionSampleBytes] = retentionSampleBytes
        return flags
    }
}

/// Which streams a command is about.
struct StreamOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "Records of this stream only: status, event or sample; may be repeated.", valueName: "stream"))
    var stream: [String] = []

    /// - Throws: where streams are named and a kind that one asks for is in none of them: nothing would be found, which
    ///   is not what was meant.
    func check(_ kind: String, isIn stream: StreamName, _ flag: String) throws(CommandError) {
        guard try !streams().contains(stream) else { return }
        throw CommandError(
            .usage, "\(flag) \(kind) is of the stream \(stream), and --stream names others. Leave --stream out.")
    }

    /// All of them where none is named.
    func streams() throws(CommandError) -> Set<StreamName> {
        var streams: Set<StreamName> = []
        for name in stream {
            guard let known = StreamName(name: name) else {
                throw CommandError(.usage, "--stream is \(name); expected status, event or sample.")
            }
            streams.insert(known)
        }
        return streams.isEmpty ? Set(StreamName.allCases) : streams
    }
}
