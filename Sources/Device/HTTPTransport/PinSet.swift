import Crypto
import FoundationEssentials
import NIOCore
import NIOSSL

/// The keys a server may have: SHA-256 of its certificate's subject public key info, as RFC 7469 pins are. A certificate renewed with the same
/// key passes. Only the server's own certificate counts, not the authorities above it.
struct PinSet: Equatable, Sendable {
    /// 32 bytes each; empty: any server that the certificate authorities vouch for.
    let pins: Set<Data>

    init(_ pins: [Data] = []) { self.pins = Set(pins) }

    /// Throws where the connection is not to a server with one of the keys. Called once TLS is established and before anything is sent over it.
    /// - Returns: the server's key, as a pin says it; `nil` where it showed no certificate.
    func check(_ channel: any Channel) throws -> Data? {
        let certificate = try channel.pipeline.syncOperations.nioSSL_peerCertificate()
        let key = try certificate.map { Data(SHA256.hash(data: try $0.extractPublicKey().toSPKIBytes())) }
        guard pins.isEmpty || key.map(pins.contains) == true else { throw PinMismatch(found: key) }
        return key
    }
}

/// Why a server is not spoken to although certificate authorities vouch for it.
struct PinMismatch: Error, Equatable {
    /// SHA-256 of its key; `nil` where it showed no certificate.
    var found: Data?
}
