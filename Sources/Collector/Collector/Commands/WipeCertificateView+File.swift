import CollectorAPI
import Foundation
import TelemetryBasics
import WipeCertificates
import WireModel

extension WipeCertificateView {
    /// - Parameter kept: of the registry.
    init(_ kept: WipeCertificateFile) throws {
        self.init()
        finding = kept.collector?.finding
        isVerified = kept.collector != nil && finding == nil
        receivedAt = Timestamp.text(kept.collector?.received ?? 0)
        file = String(decoding: try kept.encoded(), as: UTF8.self)
        guard let signed = try? SignedWipeCertificate(text: kept.document ?? "") else { return }
        let certificate = signed.certificate
        method = certificate.method.rawValue
        provider = certificate.deviceKey?.provider
        deviceKeyFingerprint = certificate.deviceKey?.fingerprint
        keys = certificate.keys.map { key in
            var view = Key()
            view.id = Int(key.id)
            view.purpose = key.purpose
            view.fingerprint = key.fingerprint
            return view
        }
        otherKeys = certificate.otherKeys > 0 ? certificate.otherKeys : nil
        records = Int64(clamping: certificate.records)
        logSegments = certificate.logSegments
        begunAt = Timestamp.text(certificate.begun)
        endedAt = Timestamp.text(certificate.ended)
    }
}
