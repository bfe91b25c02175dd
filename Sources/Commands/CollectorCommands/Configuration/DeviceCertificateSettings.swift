import Collector
import CommandKit

/// Whether devices have client certificates, as it was set.
struct DeviceCertificateSettings: Equatable, Sendable {
    enum Mode: String, CaseIterable, Sendable {
        case off, optional, required
    }

    struct Authority: Equatable, Sendable {
        var certificate: String
        var key: String
    }

    var mode: Mode
    var authority: Authority?
    var days: Int

    /// - Throws: `.usage` where only one of the files is named, there is none for what is asked, or no TLS to show a
    ///   certificate in.
    init(_ given: GivenSettings, servesTLS: Bool) throws(CommandError) {
        days =
            try given.number(.deviceCertificateDays, in: DeviceAuthority.validDays) ?? DeviceAuthority.defaultValidDays
        switch (given.text(.deviceCACertificate), given.text(.deviceCAKey)) {
        case (let certificate?, let key?): authority = Authority(certificate: certificate, key: key)
        case (nil, nil): authority = nil
        case (nil, _): throw given.invalid(.deviceCAKey, "is given without --device-ca-certificate. Give both")
        case (_, nil): throw given.invalid(.deviceCACertificate, "is given without --device-ca-key. Give both")
        }
        if let text = given.text(.deviceCertificates) {
            guard let mode = Mode(rawValue: text) else {
                throw given.invalid(
                    .deviceCertificates,
                    "is \(text); expected one of \(Mode.allCases.map(\.rawValue).joined(separator: ", "))")
            }
            self.mode = mode
        } else {
            mode = authority == nil ? .off : .optional
        }
        guard mode != .off else { return }
        guard authority != nil else {
            throw given.invalid(
                .deviceCertificates,
                "is \(mode.rawValue), but no authority issues them. Give --device-ca-certificate and --device-ca-key "
                    + "(`ws1collector device-ca create` makes them)")
        }
        guard servesTLS else {
            throw given.invalid(
                .deviceCACertificate,
                "is given without a certificate for the server: clients show theirs only in TLS that ends here. Give --tls-certificate and --tls-key too"
            )
        }
    }

    /// The authority read and checked.
    func certificates() throws(CollectorError) -> DeviceCertificates {
        guard mode != .off, let authority else { return .off }
        let opened = try DeviceAuthority(certificate: authority.certificate, key: authority.key, days: days)
        return mode == .required ? .required(opened) : .optional(opened)
    }
}
