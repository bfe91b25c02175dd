import AsyncHTTPClient
import Collector
import CollectorAPI
import Foundation
import HTTPConnection
import NIOCore
import NIOHTTP1
import NIOSSL
import Registry
import TelemetryBasics
import WireModel

/// Posts notices to a webhook with its own HTTP client: TLS 1.2 or later, no redirects, one connection.
///
/// The address may contain a secret, so messages name only its host.
final class WebhookSender: Sendable {
    private let webhook: Webhook
    private let collector: CollectorID
    private let client: HTTPClient
    /// The receiver in messages, with the proxy on the way.
    private let peer: String

    private static let timeout = TimeAmount.seconds(10)

    /// - Parameters:
    ///   - collector: the id of the sender.
    ///   - proxy: the HTTP proxy on the way; `nil` connects directly.
    ///   - authorities: the trusted certificate authorities; `nil` for the system's.
    init(
        _ webhook: Webhook, collector: CollectorID, proxy: EndpointURL? = nil, authorities: NIOSSLTrustRoots? = nil
    ) {
        self.webhook = webhook
        peer = proxy.map { "\(webhook.host), through the proxy \($0.authority)," } ?? webhook.host
        self.collector = collector
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities { tls.trustRoots = authorities }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5), read: Self.timeout))
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        configuration.httpVersion = .http1Only
        configuration.proxy = proxy?.clientProxy
        // The courier retries with growing pauses, so the client reports a failure at once.
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    func post(_ news: NoticeNews) async -> NoticeCourier.Delivery {
        do {
            var request = HTTPClientRequest(url: webhook.url.absoluteString)
            request.method = .POST
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: try NoticeView.json(of: news, collector: collector)))
            let response = try await client.execute(request, timeout: Self.timeout)
            let status = response.status.code
            switch status {
            case 200..<300: return .delivered
            // A redirect could send the notice to anybody. The courier retries, because the address may be corrected.
            case 300..<400:
                return .failed(
                    "\(webhook.host) answered \(status): redirects are not followed. "
                        + "Give the final address with --notice-webhook.")
            // A retry can help after these.
            case 408, 425, 429, 500...: return .failed("\(webhook.host) answered \(status)")
            default: return .refused("\(webhook.host) answered \(status)")
            }
        } catch { return .failed("\(peer) cannot be reached: \(type(of: error))") }
    }

    func shutDown() async {
        // Nobody waits for requests that are still under way.
        try? await client.shutdown()
    }
}

/// The address to which notices are posted, one JSON object each (`NoticeView.json`).
struct Webhook: Equatable, Sendable {
    /// It may contain a secret, so it is never logged.
    let url: URL
    /// Scheme, host and port of the address, without what may be secret.
    let server: EndpointURL

    /// - Returns: `nil` unless the text is an http or https URL with a host.
    init?(_ text: String) {
        guard let url = URL(string: text), var parts = URLComponents(string: text) else { return nil }
        (parts.user, parts.password, parts.path, parts.query, parts.fragment) = (nil, nil, "", nil, nil)
        guard let server = try? EndpointURL(server: parts.string ?? "", name: "webhook") else { return nil }
        (self.url, self.server) = (url, server)
    }

    /// Whether nobody on the network path can read the notices.
    /// - Parameter proxy: on the way; a proxy on this machine may forward to anywhere.
    func isConfidential(through proxy: EndpointURL?) -> Bool {
        server.scheme == .https || server.isLoopback && proxy?.isLoopback != false
    }

    /// The part of the address that may be shown.
    var host: String { server.host }
}
