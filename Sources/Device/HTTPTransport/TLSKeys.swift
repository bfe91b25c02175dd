import Crypto
import FoundationEssentials
import NIOCore
import NIOSSL
import TelemetryBasics
import Transmitter
import WireModel

/// The device's certificate together with its key.
struct ClientIdentity {
    /// PEM, as it was given.
    let chain: String
    let life: CertificateLife
    private let certificates: [NIOSSLCertificate]
    private let key: NIOSSLPrivateKey

    /// - Parameter keyFile: PEM. Read each time, so a replaced key is noticed.
    init(chain: String, keyFile: String?) throws(TransportError) {
        func refusal(_ why: String) -> TransportError { TransportError(.clientCertificate, why) }
        guard let keyFile else {
            throw refusal(
                "this device was given a client certificate, but no file with its key is configured: say clientKey")
        }
        do { key = try NIOSSLPrivateKey(bytes: try PlainText.read(keyFile), format: .pem) } catch {
            throw refusal(
                "the key \(keyFile) of the client certificate cannot be read: it must be a PEM file without a "
                    + "passphrase (\(error))"
            )
        }
        do {
            certificates = try NIOSSLCertificate.fromPEMBytes(Array(chain.utf8))
        } catch { throw refusal("the client certificate that is kept is damaged; another is asked for (\(error))") }
        guard let leaf = certificates.first else {
            throw refusal(
                "the client certificate that is kept is damaged: it holds no certificate; another is asked for")
        }
        self.chain = chain
        life = CertificateLife(
            begins: Int64(leaf.notValidBefore) * 1_000_000, ends: Int64(leaf.notValidAfter) * 1_000_000)
        var configuration = TLSConfiguration.makeClientConfiguration()
        apply(to: &configuration)
        do { _ = try NIOSSLContext(configuration: configuration) } catch {
            throw refusal(
                "the key \(keyFile) is not the one that the client certificate was issued for; one for the request "
                    + "that is configured is asked for"
            )
        }
    }

    func apply(to configuration: inout TLSConfiguration) {
        configuration.certificateChain = certificates.map { .certificate($0) }
        configuration.privateKey = .privateKey(key)
    }
}

/// The keys a server may have: SHA-256 of the certificate's subject public key info, as in RFC 7469. A certificate
/// renewed with the same key passes. Only the server's own certificate counts, not those of the authorities above it.
struct PinSet: Equatable, Sendable {
    /// 32 bytes each. Empty: any server that a trusted authority vouches for.
    let pins: Set<Data>

    init(_ pins: [Data] = []) { self.pins = Set(pins) }

    /// Throws where the connection is not to a server with one of the keys. Called once TLS is established and before
    /// anything is sent over it.
    /// - Parameter peer: host and port for the message.
    /// - Returns: the server's key, as a pin says it; `nil` where it showed no certificate.
    func check(_ channel: any Channel, peer: String) throws -> Data? {
        let certificate = try channel.pipeline.syncOperations.nioSSL_peerCertificate()
        let key = try certificate.map { Data(SHA256.hash(data: try $0.extractPublicKey().toSPKIBytes())) }
        guard pins.isEmpty || key.map(pins.contains) == true else {
            throw TransportError(
                .pinMismatch,
                "the certificate of \(peer) is trusted, but its key (SHA-256 \(key?.hexadecimal ?? "missing")) is none "
                    + "of those pinned by profile or enrollment file; a new key's pin has to be in the profile before "
                    + "the collector uses the key. Before the enrollment, only another enrollment file helps")
        }
        return key
    }
}
