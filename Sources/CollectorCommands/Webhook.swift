import AsyncHTTPClient
import Collector
import CollectorStore
import Foundation
import NIOCore
import NIOHTTP1

/// Where notices are posted to, one JSON object each: what `GET /api/v1/notices` shows of it.
struct Webhook: Equatable, Sendable {
    /// May hold a secret, so it is never logged.
    let url: URL

    private static let timeout = TimeAmount.seconds(10)

    /// - Returns: `nil` for what is no http or https URL with a host.
    init?(_ text: String) {
        guard let url = URL(string: text), ["http", "https"].contains(url.scheme?.lowercased() ?? ""), url.host?.isEmpty == false else {
            return nil
        }
        self.url = url
    }

    /// What may be shown of it.
    var host: String { url.host ?? "" }

    func post(_ notice: NoticeRow) async -> NoticeCourier.Delivery {
        do {
            var request = HTTPClientRequest(url: url.absoluteString)
            request.method = .POST
            request.headers.add(name: "content-type", value: "application/json")
            request.body = .bytes(ByteBuffer(bytes: try NoticeView.json(of: notice)))
            let response = try await HTTPClient.shared.execute(request, timeout: Self.timeout)
            switch response.status.code {
            case 200..<300: return .delivered
            // Trying again can help after these.
            case 408, 425, 429, 500...: return .failed("\(host) answered \(response.status.code)")
            default: return .refused("\(host) answered \(response.status.code)")
            }
        } catch {
            return .failed("\(host) cannot be reached: \(type(of: error))")
        }
    }
}
