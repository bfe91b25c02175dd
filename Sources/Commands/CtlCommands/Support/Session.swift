import CollectorClient
import CommandKit
import FoundationEssentials
import JSON
import WireModel

/// The calls of one command at one collector, with JSON as it comes. Names are resolved here.
struct Session {
    typealias Call = (_ call: CollectorCall, _ key: String?) async throws(CollectorClientError) -> Data

    /// Items in one page of a list.
    private static let pageItems = 200
    /// More of a list would only fill the memory.
    private static let maximumItems = 1_000_000

    /// The collector as it was named.
    let collector: String
    /// The one that is looked at; `nil` for all that the token sees.
    let organization: String?
    let call: Call

    init(collector: String = "", organization: String?, call: @escaping Call) {
        self.collector = collector
        self.organization = organization
        self.call = call
    }

    /// Calls a route that answers JSON. An answer without a body is null.
    /// - Parameter key: the `Idempotency-Key` of a POST.
    func json(_ call: CollectorCall, key: String? = nil) async throws -> JSONValue {
        let data = try await self.call(call, key)
        guard !data.isEmpty else { return .null }
        do throws(JSONParser.Fault) { return try JSONValue(parsing: data, limits: .own) } catch {
            throw CommandError(
                .failed, "the collector answered /\(call.path.joined(separator: "/")) with what is no JSON",
                cause: error)
        }
    }

    /// Sends a value as the body.
    func send(_ call: CollectorCall, _ body: JSONValue, key: String? = nil) async throws -> JSONValue {
        var call = call
        call.body = try JSONText.of(body)
        return try await json(call, key: key)
    }

    /// The items of a list, page by page.
    /// - Parameter limit: the most items; `nil` for all.
    func list(_ call: CollectorCall, limit: Int? = nil) async throws -> [JSONValue] {
        let limit = min(limit ?? Self.maximumItems, Self.maximumItems)
        var items: [JSONValue] = []
        var cursor: String?
        repeat {
            var paged = call
            paged.query.append(("limit", "\(max(1, min(Self.pageItems, limit - items.count)))"))
            if let cursor { paged.query.append(("cursor", cursor)) }
            let page = try await json(paged)
            guard case .array(let more)? = page["items"] else {
                throw CommandError(.failed, "the collector answered \(call.target) without a list")
            }
            items += more
            let next = page["next"]?.string
            guard next == nil || next != cursor else {
                throw CommandError(.failed, "the collector repeats a page of \(call.target) for ever")
            }
            cursor = next
        } while cursor != nil && items.count < limit
        return Array(items.prefix(limit))
    }

    // MARK: Names

    /// The id of the device that is meant: by its id, its name, or the first digits of its id.
    /// - Throws: `.usage` if there is none, or several; the message lists them.
    func device(_ name: String) async throws -> String {
        if let id = DeviceID(name) { return "\(id)" }
        let found = try await list(
            CollectorCall(.get, "devices", query: [("q", String(name.prefix(256))), ("test", "true")]))
        return try Self.choose("device", name, among: found)
    }

    /// Those of the items that a name means.
    ///
    /// The whole name comes before the same in other case, and that before the first four or more digits of an id. So a
    /// name never means another device because a further one begins with it.
    static func choose(_ kind: String, _ name: String, among items: [JSONValue]) throws(CommandError) -> String {
        func id(_ item: JSONValue) -> String { item["id"]?.string ?? "" }
        let lowercase = name.lowercased()
        let readings: [(JSONValue) -> Bool] = [
            { id($0) == name }, { $0["name"]?.string == name }, { $0["name"]?.string?.lowercased() == lowercase },
            { lowercase.utf8.count >= 4 && id($0).lowercased().hasPrefix(lowercase) },
        ]
        for reading in readings {
            let matches = items.filter(reading)
            if matches.count == 1 { return id(matches[0]) }
            guard matches.isEmpty else {
                let lines = matches.prefix(20).map { item in
                    let rest = ["organization", "state", "kind"].compactMap { item[$0]?.string }
                    return "  \(id(item))  \(item["name"]?.string ?? "")  \(rest.joined(separator: ", "))"
                }
                let more = matches.count > 20 ? "\n  and \(matches.count - 20) more" : ""
                throw CommandError(
                    .usage,
                    "`\(name)` means \(matches.count) \(kind)s. Give the id of one:\n"
                        + lines.joined(separator: "\n") + more)
            }
        }
        throw CommandError(
            .usage, "there is no \(kind) `\(name)` that you can see: `ws1ctl \(kind) list` shows those that there are")
    }

    /// The organization that a route needs by name: the one that is looked at, or the only one that the token sees.
    func requireOrganization() async throws -> String {
        if let organization { return organization }
        let all = try await list(CollectorCall(.get, "organizations"))
        let names = all.compactMap { $0["name"]?.string }
        guard names.count == 1 else {
            throw CommandError(
                .usage, "give --organization: you see \(names.prefix(20).joined(separator: ", "))")
        }
        return names[0]
    }
}
