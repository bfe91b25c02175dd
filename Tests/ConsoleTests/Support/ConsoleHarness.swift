import CollectorAPI
import Foundation
import JSON
import Synchronization
import WireModel

@testable import Console

/// The console over an API whose answers a test writes.
final class ConsoleHarness: APITransport {
    struct Reply: Sendable {
        var status = 200
        var entityTag: String?
        var body: JSONValue
    }

    let console: Console
    /// 2026-01-02T03:04:05Z.
    static let now: Int64 = 1_767_323_045_000_000
    static let formToken = "form-token"

    private let replies: Mutex<[String: Reply]>
    private let first = Mutex<[String: Reply]>([:])
    private let made = Mutex<[APIRequest]>([])

    /// - Parameter replies: by method and path: `GET /api/v1/devices`. With a query only for that query. Anything else
    ///   is answered 404.
    init(_ replies: [String: Reply] = [:]) throws {
        console = Console(assets: try Self.loaded.get(), version: "1.2.3")
        self.replies = Mutex(replies)
    }

    convenience init(_ replies: [String: JSONValue]) throws { try self.init(replies.mapValues { Reply(body: $0) }) }

    /// The directory of this repository's own assets.
    static let assets = URL(fileURLWithPath: #filePath).deletingLastPathComponent().appending(
        path: "../../../Sources/Collector/Console/Assets"
    ).standardized.path

    /// Loaded once: to parse all templates takes longer than most tests.
    private static let loaded = Result { try Assets(directory: assets) }

    /// What pages asked for, in order.
    var requests: [APIRequest] { made.withLock { $0 } }

    func set(_ route: String, _ reply: Reply) { replies.withLock { $0[route] = reply } }

    /// Answers the next request of the route so, and later ones as before.
    func answersOnce(_ route: String, _ reply: Reply) { first.withLock { $0[route] = reply } }

    func visit(
        _ path: String, parameters: [String: String] = [:], query: FormFields = [], form: FormFields = [],
        role: PersonRole = .administrator, organization: String? = nil, base: String = ""
    ) -> Visit {
        Visit(
            path: path, parameters: parameters, query: query, form: form,
            visitor: Visitor(name: "Ada", role: role, organization: organization), formToken: Self.formToken,
            now: Self.now, base: base, origin: "https://collector.example",
            api: APIClient(self))
    }

    /// The text of a page.
    func page(_ pattern: String, _ visit: Visit) async throws -> (status: Int, html: String) {
        let response = try await console.answer(pattern, visit)
        return (response.status, String(decoding: response.body, as: UTF8.self))
    }

    /// The rows of an answer in CSV, with what follows its body.
    func rows(of response: Console.Response) async throws -> [String] {
        var bytes = response.body
        try await response.rest? { bytes += $0 }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\r\n").map(String.init)
    }

    func perform<Answer: Codable & Sendable>(
        _ request: APIRequest, _ type: Answer.Type
    ) async throws -> (answer: Answer, entityTag: String?) {
        made.withLock { $0.append(request) }
        let once = first.withLock { $0.removeValue(forKey: "\(request.method) \(request.path)") }
        let reply =
            once
            ?? replies.withLock {
                $0["\(request.method) \(request.target)"] ?? $0["\(request.method) \(request.path)"]
            } ?? .notFound
        guard (200..<300).contains(reply.status) else {
            throw try FixtureDecoder.view(Problem.self, from: reply.body)
        }
        return (try FixtureDecoder.view(type, from: reply.body), reply.entityTag)
    }
}

extension ConsoleHarness.Reply {
    static let notFound = refusal(404, "not-found", "There is nothing here.")

    static func refusal(_ status: Int, _ code: String, _ detail: String) -> Self {
        Self(
            status: status,
            body: [
                "status": JSONValue(status), "code": .text(code), "title": "Refused", "detail": .text(detail),
                "scope": "collector",
            ])
    }
}
