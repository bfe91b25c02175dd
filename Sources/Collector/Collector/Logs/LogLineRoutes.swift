import CollectorAPI
import Hummingbird
import LogArchive
import RecordStore
import Registry
import WireModel

/// Log lines as JSON: pages by time, what arrives, and the lines around one. Viewers read.
struct LogLineRoutes: RouteGroup {
    let shared: RouteContext

    /// Lines on each side of a line.
    private static let context = 1...200
    private static let defaultContext = 20

    func add(to router: CollectorRouter) {
        router.people(.viewer).get("/api/v1/logs/lines", use: lines)
    }

    private func lines(_ request: Request, _ context: PersonContext) async throws -> Response {
        if try QueryParameters.names("around", in: request) { return try await around(request, context) }
        if try QueryParameters.names("after", in: request) { return try await arrived(request, context) }
        let query = try QueryParameters(
            request, known: LogQuery.parameters.union(["order", "limit", "cursor"]),
            repeated: LogQuery.repeatedParameters)
        var order = LogLineOrder.newest
        if let text = query.text("order") {
            guard let named = LogLineOrder(rawValue: text) else {
                throw Problem.invalidParameter("order", "is \(text); expected newest or oldest.")
            }
            order = named
        }
        let (limit, start) = (try query.limit(), try LogCursor.position(query, order))
        let logs = try await logQuery(context, query)
        let page = try await pages.read(context) { () throws(StoreError) in
            try await archive.lines(logs, order, from: start, limit: limit)
        }
        return try LogLinesView(page, order, try await names(page.lines)).response()
    }

    private func arrived(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: LogQuery.parameters.union(["after", "limit"]), repeated: LogQuery.repeatedParameters)
        let limit = try query.limit()
        let present = try await archive.arrival()
        guard let start = LogCursor.arrival(query.text("after") ?? ""), start.run <= present.run else {
            throw Problem.invalidParameter("after", "is not a `newest` that this collector gave.")
        }
        let logs = try await logQuery(context, query)
        // Who only waits occupies no place.
        if start.run == present.run { return try LogLinesView(ArrivedLogLines(arrival: present), [:]).response() }
        let arrived = try await pages.read(context) { () throws(StoreError) in
            try await archive.lines(logs, arrivedSince: start, limit: limit)
        }
        return try LogLinesView(arrived, try await names(arrived.lines)).response()
    }

    private func around(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["around", "lines"])
        guard let line = LogCursor.line(query.text("around") ?? "") else {
            throw Problem.invalidParameter("around", "is not the id of a line.")
        }
        let count = try query.integer("lines", Self.context) ?? Self.defaultContext
        let organization = context.person.organization
        let found = try await pages.read(context) { () throws(StoreError) in
            try await archive.lines(around: line, organization: organization, count: count)
        }
        guard let found else {
            throw Problem.notFound("The line is not stored any more, or you do not see it.")
        }
        return try LogContextView(found, of: line, try await names(found.lines)).response()
    }

    /// The names of the lines' devices.
    private func names(_ lines: [LogLineRow]) async throws(StoreError) -> [DeviceID: String] {
        try await metadata.names(of: Set(lines.map(\.id.device)))
    }
}

extension RequestShares {
    /// Reads logs for one answer.
    func read<Value: Sendable>(
        _ context: PersonContext, _ body: () async throws(StoreError) -> Value
    ) async throws -> Value {
        let place = try context.acquirePlace(in: self, for: "log queries")
        defer { place.giveBack() }
        do throws(StoreError) { return try await body() } catch {
            throw error.code == .invalid ? Problem.tooMuch(error.message) : Problem.ofStore(error)
        }
    }
}

/// Positions among log lines as text. Opaque to clients. They contain no secret and grant nothing.
enum LogCursor {
    private static let maximumBytes = 256

    static func text(_ line: LogLineID) -> String { CursorText.of(line.data) }

    /// `nil` if the text is no such id.
    static func line(_ text: String) -> LogLineID? {
        CursorText.data(text, maximumBytes: maximumBytes).flatMap(LogLineID.init)
    }

    static func text(_ position: LogLinePosition, _ order: LogLineOrder) -> String {
        switch position {
        case .time(let time): CursorText.of("\(order.rawValue)|time|\(time)")
        case .after(let line): CursorText.of("\(order.rawValue)|after|\(text(line))")
        }
    }

    /// The parameter `cursor`; `nil` without one.
    static func position(_ query: QueryParameters, _ order: LogLineOrder) throws -> LogLinePosition? {
        guard let text = query.text("cursor") else { return nil }
        let unknown = Problem.invalidParameter("cursor", "is not one that this collector gave.")
        guard let parts = parts(of: text), parts.count == 3, let named = LogLineOrder(rawValue: parts[0]) else {
            throw unknown
        }
        guard named == order else { throw Problem.invalidParameter("cursor", "is of a list in the other order.") }
        let position: LogLinePosition? =
            switch parts[1] {
            case "time": Int64(parts[2]).flatMap { $0 >= 0 ? .time($0) : nil }
            case "after": line(parts[2]).map { .after($0) }
            default: nil
            }
        guard let position, position.time >= 0 else { throw unknown }
        return position
    }

    static func text(_ arrival: LogArrival) -> String {
        CursorText.of(arrivalPrefix + arrival.text)
    }

    /// `nil` if the text is no such position.
    static func arrival(_ text: String) -> LogArrival? {
        guard let text = data(text), text.hasPrefix(arrivalPrefix) else { return nil }
        return LogArrival(String(text.dropFirst(arrivalPrefix.count)))
    }

    private static let arrivalPrefix = "arrival|"

    private static func data(_ text: String) -> String? {
        CursorText.data(text, maximumBytes: maximumBytes).map { String(decoding: $0, as: UTF8.self) }
    }

    private static func parts(of text: String) -> [String]? {
        data(text)?.split(separator: "|", omittingEmptySubsequences: false).map(String.init)
    }
}
