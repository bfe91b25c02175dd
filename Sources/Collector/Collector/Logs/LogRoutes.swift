import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import LogArchive
import Logging
import NIOCore
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Logs as people see them: the list of chunks, the lines in them, and deletion. Viewers read, operators delete.
struct LogRoutes: RouteGroup {
    let shared: RouteContext
    let streams: RequestShares

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/logs", use: list)
            .get("/api/v1/logs/content", use: content)
            .get("/api/v1/logs/usage", use: usage)
            .get("/api/v1/devices/{device}/uploads", use: uploads)
        router.people(.operator)
            .delete("/api/v1/logs", use: delete)
    }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: LogQuery.parameters.union(["limit", "cursor"]), repeated: LogQuery.repeatedParameters)
        let page = try await metadata.chunks(
            try await logQuery(context, query), below: try query.numberCursor(), limit: try query.limit())
        let names = try await metadata.names(of: Set(page.rows.map(\.device)))
        return try Page(items: page.rows.map { ChunkView($0, names) }, next: page.next.map(NumberCursor.text))
            .response()
    }

    private func usage(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        return try Page(
            items: try await metadata.logUsage(organization: context.person.organization).map(LogUsageView.init),
            next: nil
        )
        .response()
    }

    private func uploads(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["limit"])
        let device = try await knownDevice(context)
        let rows = try await metadata.uploads(of: device.id, command: nil, limit: try query.limit())
        return try Page(items: rows.map(UploadView.init), next: nil).response()
    }

    // MARK: Content

    private func content(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: LogQuery.parameters.union(["order", "label"]), repeated: LogQuery.repeatedParameters)
        let logs = try await logQuery(context, query)
        var form = LogForm(isCompressed: request.acceptsGzip)
        switch query.text("order") {
        case nil, "time": form.order = .time
        case "number": form.order = .number
        case .some(let text): throw Problem.invalidParameter("order", "is \(text); expected time or number.")
        }
        form.label = try query.choice("label", LogLabel.allCases.map { ($0.rawValue, $0) })
        let place = try context.acquirePlace(in: streams, for: "log queries")
        let lines = try await archive.content(logs, as: form)
        // An unreadable chunk can only be reported before the answer begins.
        let first = try await lines.next()
        var headers: HTTPFields = [
            .contentType: "text/plain; charset=utf-8", .cacheControl: "no-store", .vary: "Accept-Encoding",
        ]
        if form.isCompressed { headers[.contentEncoding] = "gzip" }
        let logger = logger
        let body = ResponseBody { writer in
            defer { place.giveBack() }
            var piece = first
            while let bytes = piece {
                try await writer.write(ByteBuffer(bytes: bytes))
                do throws(StoreError) { piece = try await lines.next() } catch {
                    // The answer breaks off, so its reader notices.
                    logger.error("logs cannot be read", metadata: ["error": "\(error)"])
                    throw error
                }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: headers, body: body)
    }

    // MARK: Deleting

    private func delete(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(
            request, known: LogQuery.parametersOfWholeChunks.union(["olderThanDays", "confirm"]),
            repeated: LogQuery.repeatedParameters)
        let person = context.person
        var logs = try await logQuery(context, query)
        // A filter that says little must not select the logs of every organization by accident.
        guard
            person.organization != nil || !logs.devices.isEmpty || query.text("ids") != nil
                || query.text(QueryParameters.organization) == QueryParameters.allOrganizations
        else {
            throw Problem.invalidParameter(
                QueryParameters.organization,
                """
                is missing. Name the organization whose logs are deleted, or \(QueryParameters.allOrganizations) for \
                all.
                """
            )
        }
        if let text = query.text("olderThanDays") {
            guard let days = Int(text), SharedRanges.days.contains(days) else {
                throw Problem.invalidParameter(
                    "olderThanDays", "is \(text); expected 1 to \(SharedRanges.days.upperBound).")
            }
            // From midnight, so a confirmation stays valid for a while.
            let today = context.now / CivilDate.microsecondsPerDay
            logs.receivedBefore = (today - Int64(days)) * CivilDate.microsecondsPerDay
        }
        guard let confirmation = query.text("confirm") else {
            return try LogDeletionView(try await metadata.deletion(logs), isDone: false).response()
        }
        guard let deleted = try await archive.delete(logs, confirmation: confirmation, by: AuditActor(person)) else {
            throw Problem.confirmationOutdated
        }
        logger.notice(
            "logs deleted",
            metadata: [
                "person": "\(person.name)", "organization": "\(person.organization ?? "")",
                "chunks": "\(deleted.chunks)", "raw.bytes": "\(deleted.rawBytes)",
            ])
        return try LogDeletionView(deleted, isDone: true).response()
    }
}

extension RouteGroup {
    /// The requested query, limited to the organization. Includes the devices' predecessors.
    func logQuery(_ context: PersonContext, _ query: QueryParameters) async throws -> LogQuery {
        let organization = context.person.organization
        var logs = try LogQuery(query, organization: organization)
        for id in logs.devices {
            guard let device = try await metadata.device(id, organization: organization), device.predecessor != nil
            else {
                continue
            }
            logs.predecessors += try await metadata.lineage(of: device).predecessors
        }
        return logs
    }
}

extension LogQuery {
    /// Parameters that select whole chunks.
    static let parametersOfWholeChunks: Set<String> = [
        "ids", "device", "application", "type", "level", "from", "to", "test",
    ]
    /// These, and those that only lines can match.
    static let parameters = parametersOfWholeChunks.union(["category", "text"])

    static let repeatedParameters: Set<String> = ["device"]

    static let maximumIDs = 1000
    static let maximumDevices = 50

    /// - Parameter organization: the caller's; `nil` for all.
    init(_ query: QueryParameters, organization: String?) throws {
        self.init(
            organization: organization, application: query.text("application"), withTest: try query.flag("test"))
        devices = try query.devices("device", most: Self.maximumDevices)
        switch query.text("type") {
        case nil, "all": break
        case .some(let text):
            type = LogType(rawValue: text)
            guard type != nil else { throw Problem.invalidParameter("type", "must be one of all, application, crash.") }
        }
        if let text = query.text("ids") {
            for word in text.split(separator: ",", omittingEmptySubsequences: false) {
                guard let id = Int64(word), id > 0 else {
                    throw Problem.invalidParameter("ids", "must be ids of chunks, separated by commas.")
                }
                chunks.append(id)
            }
            guard chunks.count <= Self.maximumIDs else {
                throw Problem.invalidParameter("ids", "are more than \(Self.maximumIDs).")
            }
            // Chunks that are named explicitly are meant.
            withTest = true
        }
        lines = try Self.lines(query)
    }

    private static func lines(_ query: QueryParameters) throws -> LogFilter {
        var filter = LogFilter(since: try query.time("from"), until: try query.time("to"))
        if let text = query.text("level") {
            guard let level = LogLevel(name: text) else {
                throw Problem.invalidParameter(
                    "level", "must be one of \(LogLevel.allCases.map(\.name).joined(separator: ", ")).")
            }
            filter.level = level
        }
        if let since = filter.since, let until = filter.until, since >= until {
            throw Problem.invalidParameter("to", "is not after `from`.")
        }
        if let text = query.text("category") {
            filter.categories = text.split(separator: ",").map(String.init)
            guard filter.categories.count <= LogLimits.filterCategories,
                filter.categories.allSatisfy({ $0.utf8.count <= LogLimits.categoryBytes })
            else {
                throw Problem.invalidParameter(
                    "category",
                    """
                    must have at most \(LogLimits.filterCategories) names, each of at most \(LogLimits.categoryBytes) \
                    bytes.
                    """
                )
            }
        }
        filter.text = query.text("text") ?? ""
        guard filter.text.utf8.count <= LogLimits.filterTextBytes else {
            throw Problem.invalidParameter("text", "has more than \(LogLimits.filterTextBytes) bytes.")
        }
        return filter
    }
}
