import CollectorStore
import Crypto
import Foundation
import SwiftASN1
import WireModel
import X509

/// Whether a device that has proved its credential is let in with what it showed in the handshake. Pure.
enum CertificateVerdict: Equatable {
    case admitted
    /// With a certificate that it comes with for the first time: those before it are over.
    case admittedAnew(fingerprint: Data)
    case refused(Problem)

    var isAdmission: Bool { if case .refused = self { false } else { true } }

    /// - Parameters:
    ///   - isRequired: whether it has to show one.
    ///   - shown: `nil`: none.
    ///   - device: with the certificates it was issued.
    init(isRequired: Bool, shown: ShownCertificate?, device: DeviceRow, at now: Int64) {
        let withoutOne: CertificateVerdict = isRequired ? .refused(.certificateRequired) : .admitted
        guard let shown else {
            self = withoutOne
            return
        }
        if let own = device.certificates.first(where: { $0.fingerprint == shown.fingerprint }) {
            // The handshake may have been long ago.
            guard now < own.expires else {
                self = .refused(.certificateExpired)
                return
            }
            self = own.used == nil ? .admittedAnew(fingerprint: own.fingerprint) : .admitted
            return
        }
        switch shown.device {
        case nil: self = withoutOne
        case device.id: self = .refused(.certificateUnknown)
        default: self = .refused(.certificateOfAnother)
        }
    }
}

/// The certificate that a client showed in its handshake, which the TLS library has held against the authorities and
/// found good.
struct ShownCertificate: Sendable {
    private let der: [UInt8]
    /// SHA-256 of its DER form.
    let fingerprint: Data

    init(der: [UInt8]) {
        self.der = der
        fingerprint = Data(SHA256.hash(data: der))
    }

    /// Whose it says it is; `nil` where it is no device's, such as one of `--client-ca`.
    var device: DeviceID? {
        guard let certificate = try? Certificate(derEncoded: der),
            let names = try? certificate.extensions.subjectAlternativeNames
        else { return nil }
        for case .uniformResourceIdentifier(let text) in names { if let name = DeviceName(text) { return name.device } }
        return nil
    }
}

extension Problem {
    static let certificateRequired = Problem(
        status: 401, code: Code.certificateRequired, title: "Certificate required",
        detail:
            "This collector serves devices only with a client certificate that it issued. Enroll again with a certificate signing request.",
        scope: .device)

    /// Superseded by a later one, or of a time that this collector was restored to before.
    static let certificateUnknown = Problem(
        status: 401, code: Code.certificateUnknown, title: "Certificate unknown",
        detail:
            "The device's client certificate is not, or no longer, one that is accepted. Enroll again with a certificate signing request.",
        scope: .device)

    static let certificateExpired = Problem(
        status: 401, code: Code.certificateExpired, title: "Certificate expired",
        detail: "The device's client certificate has expired. Enroll again with a certificate signing request.",
        scope: .device)

    static let certificateOfAnother = Problem(
        status: 403, code: "certificate-mismatch", title: "Certificate of another device",
        detail: "The client certificate is another device's than the credential.", scope: .device)

    /// - Parameter code: `csr-...`.
    static func signingRequest(_ code: String, _ detail: String) -> Problem {
        Problem(
            status: 400, code: code, title: "Certificate signing request refused",
            detail: "The certificate signing request cannot be used. \(detail) Nothing was changed.", scope: .device)
    }
}

/// Whether devices have client certificates of this collector's own authority, and what comes of a device without one.
///
/// A certificate is a second factor beside the credential, never in its place: whoever shows one still has to send the
/// credential of the device that it was issued to. People never need one; the server asks for it during the handshake,
/// and only a device's route looks at it.
///
/// Argued against once: a certificate alone could be the credential, as in SCEP or EST. But then a renewal that is lost
/// locks the device out, a proxy that ends TLS makes identities unreadable, and revocation needs lists. Beside a
/// credential the certificate only ever narrows who is let in, so each of these fails safely: what is not remembered as
/// the device's own is refused, and nothing else depends on it.
///
/// Where it is off - no authority is set, or it was switched off - a request for a certificate is not looked at, and a
/// device is enrolled with its credential alone, as at a collector that knows nothing of certificates. Refusing it
/// would keep a fleet whose agents were set up first from reporting, and protect nothing: this collector asks nobody
/// for a certificate.
package enum DeviceCertificates: Sendable {
    case off
    /// A device may come without; the way to bring certificates to a fleet that has none.
    case optional(DeviceAuthority)
    /// A device's routes are closed without one, all but enrolling, which gives one.
    case required(DeviceAuthority)

    package var authority: DeviceAuthority? {
        switch self {
        case .off: nil
        case .optional(let authority), .required(let authority): authority
        }
    }
}
