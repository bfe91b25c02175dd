import Crypto
import Foundation
import Registry
import SwiftASN1
import WireModel
import X509

/// Decides whether a device with a valid credential is admitted with the certificate that it showed. Pure.
enum CertificateVerdict: Equatable {
    case admitted
    /// Admitted with a certificate that it shows for the first time. Earlier certificates end.
    case admittedAnew(fingerprint: Data)
    case refused(Problem)

    var isAdmission: Bool { if case .refused = self { false } else { true } }

    /// - Parameters:
    ///   - isRequired: whether the device must show a certificate.
    ///   - shown: `nil` if it showed none.
    ///   - device: contains the certificates issued to it.
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

/// The certificate that a client showed in its handshake. The TLS library has verified it against the authorities.
struct ShownCertificate: Sendable {
    private let der: [UInt8]
    /// SHA-256 of the DER form.
    let fingerprint: Data

    init(der: [UInt8]) {
        self.der = der
        fingerprint = Data(SHA256.hash(data: der))
    }

    /// The device it names; `nil` if it names none, for instance a certificate of `--client-ca`.
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
        status: 401, code: .certificateRequired, title: "Certificate required",
        detail:
            """
            This collector serves devices only with a client certificate that it issued. Enroll again with a \
            certificate signing request.
            """,
        scope: .device)

    /// Replaced by a later one, or issued after the state to which this collector was restored.
    static let certificateUnknown = Problem(
        status: 401, code: .certificateUnknown, title: "Certificate unknown",
        detail:
            """
            The collector does not accept the device's client certificate, or no longer. Enroll again with a \
            certificate signing request.
            """,
        scope: .device)

    static let certificateExpired = Problem(
        status: 401, code: .certificateExpired, title: "Certificate expired",
        detail: "The device's client certificate has expired. Enroll again with a certificate signing request.",
        scope: .device)

    static let certificateOfAnother = Problem(
        status: 403, code: .certificateMismatch, title: "Certificate of another device",
        detail: "The client certificate and the credential belong to different devices.", scope: .device)

    /// - Parameter code: `csr-...`.
    static func signingRequest(_ code: Code, _ detail: String) -> Problem {
        Problem(
            status: 400, code: code, title: "Certificate signing request refused",
            detail: "The certificate signing request cannot be used. \(detail) Nothing was changed.", scope: .device)
    }
}

/// Whether devices have client certificates of this collector's own authority, and what happens to devices without one.
///
/// A certificate is a second factor in addition to the credential. Whoever shows one must still send the credential of
/// the device it was issued to. People never need one. The server requests a certificate in every handshake, and only
/// routes of devices look at it.
///
/// Considered once: a certificate alone could be the credential, as in SCEP or EST. But then a lost renewal locks the
/// device out, a proxy that ends TLS hides identities, and revocation needs lists. As a second factor the certificate
/// only narrows who is admitted, so each of these cases fails safely. A certificate that is not known to be the
/// device's own is refused, and nothing else depends on it.
///
/// If no authority is set, or certificates are switched off, requests for a certificate are ignored. A device then
/// enrolls with its credential alone. Refusing would protect nothing, and would stop fleets whose agents were set up
/// before the authority.
package enum DeviceCertificates: Sendable {
    case off
    /// A device may come without one. This is how certificates are introduced in a fleet.
    case optional(DeviceAuthority)
    /// Routes of devices require one, except enrollment, which issues it.
    case required(DeviceAuthority)

    package var authority: DeviceAuthority? {
        switch self {
        case .off: nil
        case .optional(let authority), .required(let authority): authority
        }
    }
}
