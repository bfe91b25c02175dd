import Foundation
import JSON
import Synchronization

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

package struct APIAnswer: Sendable {
    package var status: Int
    package var entityTag: String?
    package var body: Data

    package init(status: Int, entityTag: String? = nil, body: Data) {
        self.status = status
        self.entityTag = entityTag
        self.body = body
    }
}

/// A refusal of the API (RFC 9457). The page shows its detail.
package struct APIProblem: Error, Equatable {
    package var status: Int
    package var code: String
    package var title: String
    package var detail: String
    /// The field of the request that is wrong: `sampling.modules[2]`.
    package var field: String?

    package init(status: Int, code: String, title: String, detail: String, field: String? = nil) {
        self.status = status
        self.code = code
        self.title = title
        self.detail = detail
        self.field = field
    }
}

/// The API with the rights of the person who is signed in. A page has no other way to data, so it can show and do only
/// what the person may see and do with a token.
///
/// Remembers the requests of a page, which shows them as commands for a shell. Safe from any thread.
package final class APIClient: Sendable {
    private let answer: @Sendable (APIRequest) async throws -> APIAnswer
    private let made = Mutex<[APIRequest]>([])

    package init(_ answer: @escaping @Sendable (APIRequest) async throws -> APIAnswer) { self.answer = answer }

    /// The requests made so far.
    var requests: [APIRequest] { made.withLock { $0 } }

    /// - Throws: `APIProblem` if the API refuses.
    func get(_ path: String, _ query: FormFields = FormFields()) async throws -> JSONValue {
        try await send("GET", path, query)
    }

    /// Gets like `get`; `nil` if what is asked for does not exist.
    func find(_ path: String, _ query: FormFields = FormFields()) async throws -> JSONValue? {
        do { return try await get(path, query) } catch let problem as APIProblem where problem.status == 404 {
            return nil
        }
    }

    /// - Returns: the answer's JSON; `.null` if it has no body.
    /// - Throws: `APIProblem` if the API refuses.
    @discardableResult
    func send(
        _ method: String, _ path: String, _ query: FormFields = FormFields(), body: JSONValue? = nil,
        ifMatch: String? = nil, idempotencyKey: String? = nil
    ) async throws -> JSONValue {
        try await answer(
            to: APIRequest(
                method: method, path: path, query: query, body: body, ifMatch: ifMatch, idempotencyKey: idempotencyKey)
        ).value
    }

    /// The names of devices, by id. Devices that are gone and those without a name are left out. The page does not show
    /// these requests: they are one for each row.
    func deviceNames(of devices: Set<String>) async throws -> [String: String] {
        var names: [String: String] = [:]
        for device in devices {
            do {
                let request = APIRequest(
                    method: "GET", path: "/api/v1/devices/\(device.percentEncoded)", query: FormFields())
                names[device] = try await answer(to: request, isShown: false).value["name"].text
            } catch let problem as APIProblem where problem.status == 404 {}
        }
        return names.filter { !$0.value.isEmpty }
    }

    /// Sends like `send`, and returns the answer with its entity tag.
    /// - Parameter isShown: whether the page shows the request as a command.
    func answer(to request: APIRequest, isShown: Bool = true) async throws -> (value: JSONValue, entityTag: String?) {
        if isShown { made.withLock { $0.append(request) } }
        let answer = try await answer(request)
        let value = answer.body.isEmpty ? JSONValue.null : try JSONValue(parsing: answer.body, limits: .own)
        guard (200..<300).contains(answer.status) else {
            throw APIProblem(
                status: answer.status, code: value["code"].text ?? "internal",
                title: value["title"].text ?? "The collector refused.", detail: value["detail"].text ?? "",
                field: value["field"].text)
        }
        return (value, answer.entityTag)
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
