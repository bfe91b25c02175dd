import FoundationEssentials
import WireModel

/// Sends one request to the collector and returns its whole answer. This is the port between the transmitter, which
/// decides, and the network.
package protocol Transport: Sendable {
    /// Sends a request and waits for the whole answer, within `request.timeout`.
    ///
    /// Any HTTP status is an answer, not an error. Cancelling the task ends the request.
    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse

    /// Speaks only to servers with one of these keys from now on, and closes earlier connections.
    /// - Parameter pins: SHA-256 of subject public key infos, 32 bytes each. Empty: any server that a trusted authority
    ///   vouches for.
    func pin(to pins: [Data])

    /// Trusts these certificate authorities, each in DER, beside those it was made with, from now on. Closes earlier
    /// connections if the set is another. One that cannot be read is left out.
    func trust(_ authorities: [Data])

    /// SHA-256 of the subject public key info that the server showed on the newest connection under the present pins;
    /// `nil` if there was none yet, or no TLS.
    var serverKey: Data? { get }

    /// Shows this certificate on connections from now on, with the key that the transport was made with, and closes
    /// earlier connections.
    /// - Parameter chain: PEM, the device's certificate first; `nil` shows none.
    /// - Returns: the validity of the device's certificate; `nil` if none is shown.
    /// - Throws: `clientCertificate` if chain or key cannot be used; then none is shown.
    func show(certificate chain: String?) throws(TransportError) -> CertificateLife?
}

/// A transport without TLS has no server key to pin, no authority to trust and no certificate to show.
extension Transport {
    package func pin(to pins: [Data]) {}
    package func trust(_ authorities: [Data]) {}
    package var serverKey: Data? { nil }
    package func show(certificate chain: String?) throws(TransportError) -> CertificateLife? { nil }
}

/// The validity of a certificate, in microseconds since 1970.
package struct CertificateLife: Equatable, Sendable {
    package var begins: Int64
    package var ends: Int64

    package init(begins: Int64, ends: Int64) {
        self.begins = begins
        self.ends = ends
    }

    /// When it is renewed: with a third of its life left.
    package var renewal: Int64 { ends - max(0, ends - begins) / 3 }
}
