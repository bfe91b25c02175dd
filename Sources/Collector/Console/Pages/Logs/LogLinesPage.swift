import CollectorAPI
import JSON
import TelemetryBasics
import WireModel

/// The lines of logs that match a filter, page by page; or the lines around one. Several devices are merged by time.
///
/// A page begins at one end of the log, or where another page ended: `cursor` is the API's, and `at` is a time. Which
/// way it goes from there is `toward`, older or newer lines. `order` is which lines come first on a page.
struct LogLinesPage: ConsolePage {
    let path = "/logs/view"

    private static let linesOfPage = 100
    /// A page of the API reads about 16 MiB of text. A search for rare words goes on until it has a line or this many.
    private static let maximumReads = 4
    /// The live topics of one page.
    private static let maximumTopics = 8
    private static let linesAround = 20
    private static let mostLinesAround = 200

    func view(_ visit: Visit) async throws -> Answer {
        if let answer = try await ChosenDevices.search(visit) { return answer }
        let filter = try LogFilter(visit.query, now: visit.now)
        if let line = visit.query.text("around") { return .view(try await context(of: line, visit, filter)) }
        let isOldestFirst = visit.query["order"] == "oldest"
        let toward = visit.query.text("toward") ?? (isOldestFirst ? "newer" : "older")
        let isAtNewest = !isOldestFirst && visit.query.text("cursor") == nil && visit.query.text("at") == nil
        let isFollowing = isAtNewest && visit.query["follow"] != nil
        let read = try await read(visit, filter, towardNewer: toward == "newer")
        let items = (toward == "newer") == isOldestFirst ? read.items : read.items.reversed()
        let devices = try await ChosenDevices(visit)
        let names = devices.names(items.map { ($0.device, $0.deviceName) })
        let hasSeveral = Set(names.keys).count > 1
        let ways = ways(visit, filter, read, towardNewer: toward == "newer", isOldestFirst: isOldestFirst)
        let (before, after) = isOldestFirst ? (ways.older, ways.newer) : (ways.newer, ways.older)
        let values: [String: JSONValue] = [
            "hasItems": .boolean(!items.isEmpty),
            "items": .array(
                items.map { LogLine($0, names, filter, isLabelled: hasSeveral).values(base: visit.base) }),
            "order": .text(isOldestFirst ? "oldest" : "newest"),
            "hasOrders": true,
            "orders": Choice.list(
                [("", "newest first"), ("oldest", "oldest first")], chosen: isOldestFirst ? "oldest" : ""),
            "before": .array(before), "hasBefore": .boolean(!before.isEmpty),
            "after": .array(after), "hasAfter": .boolean(!after.isEmpty),
            "searched": read.next == nil ? .null : JSONValue(read.through),
            "scannedBytes": JSONValue(read.scannedBytes),
            "follow": isAtNewest && !isFollowing
                ? .text(visit.base + filter.fields.with("follow", "yes").address(path)) : .null,
            "unfollow": isFollowing ? .text(visit.base + filter.fields.address(path)) : .null,
            "topics": isFollowing ? .text(Self.topics(filter)) : .null,
        ]
        return .view(
            View("log-lines", title: "Lines of App Logs", filter.values(at: visit, devices).merging(values) { $1 }))
    }

    // MARK: Reading

    private struct Read {
        var items: [LogLineView] = []
        var next: String?
        var through: String?
        var scannedBytes = 0
    }

    private func read(_ visit: Visit, _ filter: LogFilter, towardNewer: Bool) async throws -> Read {
        var query = filter.query.with("order", towardNewer ? "oldest" : "newest")
            .with("limit", "\(Self.linesOfPage)").with("cursor", visit.query.text("cursor"))
        if let time = try TimeRange.time(visit.query, "at") {
            // The line at that time comes again, so that a reader sees where the pages meet.
            let bound = towardNewer ? max(time, filter.from ?? time) : min(time + 1, filter.to ?? time + 1)
            query = query.with(towardNewer ? "from" : "to", Timestamp.text(bound))
        }
        var read = Read()
        for _ in 0..<Self.maximumReads {
            let page = try await visit.api.call(.listLogLines, query)
            (read.items, read.next, read.through) = (page.items, page.next, page.through)
            read.scannedBytes.addSaturating(page.scannedBytes)
            guard read.items.isEmpty, let next = read.next else { break }
            query = query.with("cursor", next)
        }
        return read
    }

    /// The addresses of the neighbouring pages, none where the log ends.
    private func ways(
        _ visit: Visit, _ filter: LogFilter, _ read: Read, towardNewer: Bool, isOldestFirst: Bool
    ) -> (older: [JSONValue], newer: [JSONValue]) {
        let fields = filter.fields.with("order", isOldestFirst ? "oldest" : nil)
        func way(_ label: String, _ fields: FormFields) -> JSONValue {
            ["label": .text(label), "address": .text(visit.base + fields.address(path))]
        }
        var ways = (older: [JSONValue](), newer: [JSONValue]())
        let onward = fields.with("toward", towardNewer ? "newer" : "older").with("at", visit.query.text("at"))
            .with("cursor", read.next)
        let hasStart = visit.query.text("cursor") != nil || visit.query.text("at") != nil
        let back = hasStart ? read.items.first.map { fields.with("at", $0.time) } : nil
        let isSearching = read.items.isEmpty
        if towardNewer {
            let label = isSearching ? "Search newer lines" : "Newer lines"
            ways.newer = read.next == nil ? [] : [way(label, onward)]
            ways.older = back.map { [way("Older lines", $0.with("toward", "older"))] } ?? []
        } else {
            let label = isSearching ? "Search older lines" : "Older lines"
            ways.older = read.next == nil ? [] : [way(label, onward)]
            ways.newer = back.map { [way("Newer lines", $0.with("toward", "newer"))] } ?? []
        }
        if hasStart, !isOldestFirst { ways.newer.insert(way("Newest lines", fields), at: 0) }
        if hasStart, isOldestFirst { ways.older.insert(way("Oldest lines", fields), at: 0) }
        return ways
    }

    /// The topics that say that lines have come: the logs of the devices, or of all if they are too many for one page.
    private static func topics(_ filter: LogFilter) -> String {
        let ids = ChosenDevices.ids(filter.fields)
        return ids.isEmpty || ids.count > maximumTopics ? "logs" : ids.map { "logs:\($0)" }.joined(separator: ",")
    }

    // MARK: Around a line

    private func context(of line: String, _ visit: Visit, _ filter: LogFilter) async throws -> View {
        let asked = visit.query.text("lines").flatMap { Int($0) } ?? Self.linesAround
        let count = min(max(asked, 1), Self.mostLinesAround)
        let answer = try await visit.api.call(.listLogLinesAround, [("around", line), ("lines", "\(count)")])
        let items = answer.items
        let hit = items.first { $0.id == line } ?? LogLineView()
        let name = hit.deviceName ?? hit.device
        // The log that the line stands in, with all levels and words.
        let log = FormFields().with("device", hit.device).with("application", hit.application).with("order", "oldest")
            .with("test", hit.test == true ? "true" : nil)
        func edge(_ line: LogLineView?, _ toward: String) -> JSONValue {
            JSONValue(line.map { visit.base + log.with("toward", toward).with("at", $0.time).address(path) })
        }
        let wider = filter.fields.with("around", line).with("lines", "\(min(count * 5, Self.mostLinesAround))")
        return View(
            "log-context", title: "Around a log line",
            [
                "items": .array(
                    items.map { LogLine($0, [hit.device: name], filter, hit: line).values(base: visit.base) }),
                "deviceName": .text(name), "deviceID": .text(hit.device), "application": JSONValue(hit.application),
                "back": .text(visit.base + filter.fields.address(path)), "isFiltered": .boolean(!filter.isEmpty),
                "wider": count < Self.mostLinesAround ? .text(visit.base + wider.address(path) + "#hit") : .null,
                "earlier": answer.hasEarlier ? edge(items.first, "older") : .null,
                "later": answer.hasLater ? edge(items.last, "newer") : .null,
            ])
    }
}
