import CollectorStore
import Foundation
import WireModel

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
