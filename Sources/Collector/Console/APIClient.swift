import CollectorAPI
import Foundation
import JSON
import Synchronization
import WireModel

/// A request to the collector's own HTTP API, answered in the same process.
package struct APIRequest: Sendable, Equatable {
    package var method: String
    package var path: String
    package var query: FormFields
    /// JSON; `nil` for no body.
    package var body: JSONValue?
    /// The revision that a change is meant for (`If-Match`).
    package var ifMatch: String?
    /// `*` for a change that is meant for nothing: only if there is none yet (`If-None-Match`).
    package var ifNoneMatch: String?
    /// Makes a repeated request do once what it asks for (`Idempotency-Key`).
    package var idempotencyKey: String?

    /// Path and query as in an address.
    package var target: String { query.address(path) }
}

/// Performs requests to the API: the collector around the console, or a test.
package protocol APITransport: Sendable {
    /// - Returns: the answer, and its entity tag if it has one.
    /// - Throws: `Problem` if the API refuses.
    func perform<Answer: Codable & Sendable>(
        _ request: APIRequest, _: Answer.Type
    ) async throws -> (answer: Answer, entityTag: String?)
}

/// The API with the rights of the person who is signed in. A page has no other way to data, so it can show and do only
/// what the person may see and do with a token.
///
/// Remembers the requests of a page, which shows them as commands for a shell. Safe from any thread.
package final class APIClient: Sendable {
    private let transport: any APITransport
    private let made = Mutex<[APIRequest]>([])

    package init(_ transport: any APITransport) { self.transport = transport }

    /// The requests made so far.
    var requests: [APIRequest] { made.withLock { $0 } }

    /// Performs an operation.
    /// - Throws: `Problem` if the API refuses.
    @discardableResult
    func call<Answer>(
        _ operation: APIOperation<Answer>, _ query: FormFields = FormFields(), body: JSONValue? = nil,
        ifMatch: String? = nil, ifNoneMatch: String? = nil, idempotencyKey: String? = nil
    ) async throws -> Answer {
        let request = APIRequest(
            method: operation.method, path: operation.path, query: query, body: body, ifMatch: ifMatch,
            ifNoneMatch: ifNoneMatch, idempotencyKey: idempotencyKey)
        return try await perform(request, Answer.self).answer
    }

    /// Performs an operation like `call`; `nil` if what is asked for does not exist.
    func find<Answer>(
        _ operation: APIOperation<Answer>, _ query: FormFields = FormFields()
    ) async throws -> Answer? {
        do { return try await call(operation, query) } catch let problem as Problem where problem.status == 404 {
            return nil
        }
    }

    /// Performs an operation like `call`, and returns the answer's entity tag, too.
    func tagged<Answer>(
        _ operation: APIOperation<Answer>, _ query: FormFields = FormFields()
    ) async throws -> (answer: Answer, entityTag: String?) {
        try await perform(APIRequest(method: operation.method, path: operation.path, query: query), Answer.self)
    }

    /// The items of all pages of a list.
    func all<Item>(
        _ operation: APIOperation<CollectorAPI.Page<Item>>, _ query: FormFields = FormFields()
    ) async throws -> [Item] {
        var (items, query) = ([Item](), query.with("limit", "1000"))
        while true {
            let page = try await call(operation, query)
            items += page.items
            guard let next = page.next else { return items }
            query = query.with("cursor", next)
        }
    }

    /// Performs a request as it is.
    func perform<Answer: Codable & Sendable>(
        _ request: APIRequest, _ type: Answer.Type
    ) async throws -> (answer: Answer, entityTag: String?) {
        made.withLock { $0.append(request) }
        return try await transport.perform(request, type)
    }
}

extension APIRequest {
    /// This request as a command for a shell. The token comes from the environment, because addresses and commands
    /// are kept in histories.
    func curl(origin: String, base: String) -> String {
        var words = ["curl"]
        if method != "GET" { words += ["-X", method] }
        words.append(#"-H "Authorization: Bearer $WS1_TOKEN""#)
        if let ifMatch { words += ["-H", Self.quoted("If-Match: \(ifMatch)")] }
        if let ifNoneMatch { words += ["-H", Self.quoted("If-None-Match: \(ifNoneMatch)")] }
        if let idempotencyKey { words += ["-H", Self.quoted("Idempotency-Key: \(idempotencyKey)")] }
        if let body { words += ["--json", Self.quoted(body.compactText)] }
        words.append(Self.quoted(origin + base + target))
        return words.joined(separator: " ")
    }

    /// The text in quotes for a POSIX shell.
    static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: #"'\''"#))'" }
}
