import Crypto
import Foundation
import SwiftASN1
import WireModel
import X509

/// The certificate that a client showed in its handshake, which the TLS library has held against the authorities and found good.
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
