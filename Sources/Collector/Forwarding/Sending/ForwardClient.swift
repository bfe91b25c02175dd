import AsyncHTTPClient
import CollectorTunables
import FoundationEssentials
import Gzip
import HTTPConnection
import NIOPosix
import OTLP
import RecordStore
import WireModel

/// Sends requests of OTLP to one receiver.
package protocol ForwardClient: Sendable {
    /// - Parameter body: in binary Protobuf.
    func send(_ body: Data, of signal: OTLPSignal) async -> ForwardAnswer

    /// Ends connections. Called once, last.
    func shutDown() async
}

/// Sends over HTTP/1.1, compressed, over TLS 1.2 or later unless the address is `http`. No redirects, no retries of its
/// own. The file of headers is read for each request, so a new token holds at once.
///
/// Call `shutDown` once, last.
package struct HTTPForwardClient: ForwardClient {
    private let connection: HTTPConnection
    private let headerFile: String?

    /// A receiver's answer has a few bytes. The protocol's bound is 4 MiB.
    private static let answerBytes = 4 << 20

    /// - Parameters:
    ///   - allowsPlaintext: whether `http` to another machine is permitted.
    ///   - proxies: those of the environment.
    /// - Throws: for plain HTTP that is not permitted, for a proxy's address and for the file of authorities.
    package init(
        _ endpoint: ForwardEndpoint, _ url: EndpointURL, allowsPlaintext: Bool, proxies: ProxyEnvironment
    ) throws(ConnectionSettingsError) {
        let settings = try Self.settings(endpoint, url, allowsPlaintext: allowsPlaintext, proxies: proxies)
        connection = HTTPConnection(
            settings, try settings.clientConfiguration(), on: MultiThreadedEventLoopGroup.singleton)
        headerFile = endpoint.headerFile
    }

    /// What a connection would be made with, without making one. For checks of the settings.
    package static func settings(
        _ endpoint: ForwardEndpoint, _ url: EndpointURL, allowsPlaintext: Bool, proxies: ProxyEnvironment
    ) throws(ConnectionSettingsError) -> ConnectionSettings {
        var settings = ConnectionSettings(collector: url, certificateAuthorityFile: endpoint.authorityFile)
        settings.trustsSystem = endpoint.authorityFile == nil
        settings.allowsPlaintext = allowsPlaintext
        try settings.applyProxy(from: proxies)
        return settings
    }

    package func send(_ body: Data, of signal: OTLPSignal) async -> ForwardAnswer {
        var given = ForwardHeaders()
        if let headerFile {
            do throws(ForwardHeaders.Invalid) { given = try ForwardHeaders(file: headerFile) } catch {
                return .misconfigured(error.message)
            }
        }
        let compressed: Data
        do throws(GzipError) {
            compressed = try GzipCodec.compress(body, level: Tunables.Forwarding.gzipLevel)
        } catch { return .later("the request cannot be compressed: \(error)", retryAfter: nil) }
        let request = TransportRequest(
            method: .post, path: signal.path,
            headers: [
                ("content-type", OTLPEncoding.protobuf.contentType), ("content-encoding", "gzip"),
                ("user-agent", "ws1collector"), (OTLPMetric.forwardedHeader, "1"),
            ] + given.headers, body: compressed, timeout: Tunables.Forwarding.timeout,
            maximumResponseBytes: Self.answerBytes)
        do throws(TransportError) {
            return ForwardAnswer(
                try await connection.send(request), to: signal, hiding: given.secrets, at: SystemStoreClock().now())
        } catch { return .later(error.message, retryAfter: nil) }
    }

    package func shutDown() async { await connection.shutdown() }
}
