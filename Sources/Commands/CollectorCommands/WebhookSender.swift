import AsyncHTTPClient
import Collector
import CollectorStore
import Foundation
import HTTPConnection
import NIOCore
import NIOHTTP1
import NIOSSL
import WireModel

/// Posts notices to a webhook, with a client of its own: TLS 1.2 or later, no redirects followed, one connection.
///
/// The address may hold a secret, so nothing that is said here names more of it than its host.
final class WebhookSender: Sendable {
    private let webhook: Webhook
    private let collector: CollectorID
    private let client: HTTPClient

    private static let timeout = TimeAmount.seconds(10)

    /// - Parameters:
    ///   - collector: who posts.
    ///   - authorities: whose certificates are trusted; `nil`: the system's.
    init(_ webhook: Webhook, collector: CollectorID, authorities: NIOSSLTrustRoots? = nil) {
        self.webhook = webhook
        self.collector = collector
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        if let authorities { tls.trustRoots = authorities }
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: tls, redirectConfiguration: .disallow,
            timeout: .init(connect: .seconds(5), read: Self.timeout))
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = 1
        configuration.httpVersion = .http1Only
        // The courier tries again, later and later; here a failure is told at once.
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
            // What is sent elsewhere would go to whoever the answer names. Tried again: the address may be mended.
            case 300..<400:
                return .failed(
                    "\(webhook.host) answered \(status): redirects are not followed. "
                        + "Name the address itself with --notice-webhook.")
            // Trying again can help after these.
            case 408, 425, 429, 500...: return .failed("\(webhook.host) answered \(status)")
            default: return .refused("\(webhook.host) answered \(status)")
            }
        } catch {
            return .failed("\(webhook.host) cannot be reached: \(type(of: error))")
        }
    }

    func shutDown() async {
        // What it still had to do is nobody's matter any more.
        try? await client.shutdown()
    }
}

/// Where notices are posted to, one JSON object each (`NoticeView.json`).
struct Webhook: Equatable, Sendable {
    /// May hold a secret, so it is never logged.
    let url: URL

    /// - Returns: `nil` for what is no http or https URL with a host.
    init?(_ text: String) {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased() ?? ""),
            url.host?.isEmpty == false
        else {
            return nil
        }
        self.url = url
    }

    /// Whether nobody on the way can read what is posted.
    var isConfidential: Bool { url.scheme?.lowercased() == "https" || LoopbackHost.contains(host) }

    /// What may be shown of it.
    var host: String { url.host ?? "" }
}
