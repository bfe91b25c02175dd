import ArgumentParser
import Collector

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

    @Option(name: .customLong("device-ca-key"), help: ArgumentHelp("PEM file with that authority's private key.", valueName: "file"))
    var deviceCAKey: String?

    @Option(
        help: ArgumentHelp(
            "Days a device's certificate is good for, 1 to 1095 (default: \(DeviceAuthority.defaultValidDays)).", valueName: "days"))
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
