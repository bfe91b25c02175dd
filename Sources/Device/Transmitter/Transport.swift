import FoundationEssentials
import WireModel

/// Carries one request to the collector and its whole answer back. The port between the transmitter, which decides, and
/// the network.
package protocol Transport: Sendable {
    /// Sends and waits for the whole answer, within `request.timeout`.
    ///
    /// Any HTTP status is an answer, not an error. Cancelling the task ends the request.
    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse

    /// From now on only servers with one of these keys are spoken to; connections made before are given up.
    /// - Parameter pins: SHA-256 of subject public key infos, 32 bytes each; empty: any server that the certificate
    ///   authorities vouch for.
    func pin(to pins: [Data])

    /// SHA-256 of the subject public key info that the server showed on the newest connection under the present pins;
    /// `nil`: there was none yet, or no TLS.
    var serverKey: Data? { get }

    /// From now on connections show this certificate, with the key that the transport was made with; those made before
    /// are given up.
    /// - Parameter chain: PEM, the device's first; `nil`: none is shown.
    /// - Returns: the life of the device's; `nil` where none is shown.
    /// - Throws: `clientCertificate` where chain or key cannot be used; then none is shown.
    func show(certificate chain: String?) throws(TransportError) -> CertificateLife?
}

/// What a transport without TLS does: it has no server key to pin and no certificate to show.
extension Transport {
    package func pin(to pins: [Data]) {}
    package var serverKey: Data? { nil }
    package func show(certificate chain: String?) throws(TransportError) -> CertificateLife? { nil }
}

/// From when to when a certificate is good; microseconds since 1970.
package struct CertificateLife: Equatable, Sendable {
    package var begins: Int64
    package var ends: Int64

    package init(begins: Int64, ends: Int64) {
        self.begins = begins
        self.ends = ends
    }

    /// From then on, with a third of its life left, it is renewed.
    package var renewal: Int64 { ends - max(0, ends - begins) / 3 }
}
