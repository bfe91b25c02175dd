import FoundationEssentials

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

package struct TransportRequest: Sendable {
    package enum Method: String, Sendable {
        case get = "GET"
        case post = "POST"
        case put = "PUT"
        case delete = "DELETE"
    }

    package var method: Method
    /// Absolute path with its query, below the collector's base URL.
    package var path: String
    package var headers: [(name: String, value: String)]
    package var body: Data?
    /// For the whole exchange.
    package var timeout: Duration
    /// A longer answer is a `responseTooLarge` error.
    package var maximumResponseBytes: Int

    package init(
        method: Method, path: String, headers: [(name: String, value: String)] = [], body: Data? = nil,
        timeout: Duration = .seconds(30),
        maximumResponseBytes: Int = 4 * 1024 * 1024
    ) {
        self.method = method
        self.path = path
        self.headers = headers
        self.body = body
        self.timeout = timeout
        self.maximumResponseBytes = maximumResponseBytes
    }
}

package struct TransportResponse: Sendable {
    package var status: Int
    /// Names in lower case; of repeated headers the first.
    package var headers: [String: String]
    package var body: Data

    package init(status: Int, headers: [String: String] = [:], body: Data = Data()) {
        self.status = status
        self.headers = headers
        self.body = body
    }
}

/// Why there was no whole answer.
package struct TransportError: Error, Equatable, Sendable, CustomStringConvertible {
    package enum Code: String, Sendable {
        case nameResolution = "name-resolution"
        case connectionRefused = "connection-refused"
        case connectionClosed = "connection-closed"
        case timedOut = "timed-out"
        case tls
        /// The server's key is none of those it is pinned to.
        case pinMismatch = "pin-mismatch"
        /// This device's certificate or its key cannot be used.
        case clientCertificate = "client-certificate"
        case responseTooLarge = "response-too-large"
        case cancelled
        case other
    }

    package var code: Code
    /// What failed, to which host and port, and what to look at.
    package var message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { "\(code.rawValue): \(message)" }
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
