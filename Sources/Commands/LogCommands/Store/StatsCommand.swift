import ArgumentParser
import CollectorAPI
import CollectorClient
import CommandKit
import LogStore
import TelemetryBasics
import WireModel

struct StatsCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "stats",
        abstract: "Counts lines and bytes by level, type and category, and dropped lines by reason.",
        discussion: """
            Lines are counted if they match the options. Dropped lines are counted for the whole store. At a collector \
            each line counts once; a collector does not know how many lines the device dropped.
            """)

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var filter: FilterOptions
    @OptionGroup(title: "At a collector") var chunkOptions: ChunkOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    var application: ApplicationOptions { filter.application }

    struct Count: Codable, Equatable {
        var lines = 0
        var bytes = 0

        mutating func add(_ bytes: Int) {
            lines += 1
            self.bytes += bytes
        }
    }

    /// The statistics as printed with --json.
    struct Statistics: Codable, Equatable {
        var all = Count()
        var levels: [String: Count] = [:]
        var types: [String: Count] = [:]
        var categories: [String: Count] = [:]
        var segments = 0
        var storedBytes = 0
        var dropped: [String: [UInt64]] = [:]
        var epoch: String?

        mutating func add(_ line: UnsafeRawBufferPointer, _ fields: LogLine?, kind: SegmentName.Kind) {
            all.add(line.count)
            types[kind.rawValue, default: Count()].add(line.count)
            levels[fields?.level.name ?? "none", default: Count()].add(line.count)
            let category = fields.map { String(decoding: line[$0.category], as: UTF8.self) } ?? "-"
            categories[category, default: Count()].add(line.count)
        }
    }

    func runLocally() throws {
        let snapshot = try store.snapshot(filter.kinds, application)
        let state = try snapshot.directory.readState()
        var statistics = Statistics()
        statistics.epoch = state?.epoch.description
        for (reason, counts) in state?.dropped ?? [:] { statistics.dropped[reason.rawValue] = counts.list }
        var shortfall = Shortfall(snapshot.problems)
        let wanted = filter.filter()
        for segment in snapshot.segments {
            statistics.segments += 1
            statistics.storedBytes += segment.index.whole.storedBytes
            let lines = try MergedLines(snapshot.only(segment), filter: wanted)
            lines.forEach { line in statistics.add(line, LogLine(line), kind: segment.name.kind) }
            shortfall.add(lines.problems)
        }
        try print(statistics, piece: "segment", place: "on disk")
        try shortfall.throwIfAny()
    }

    private func print(_ statistics: Statistics, piece: String, place: String) throws(CommandError) {
        if json { return try Output.json(statistics) }
        var text =
            """
            \(CountText.of(statistics.all.lines, "line")), \(ByteText.of(statistics.all.bytes)) of text; \
            \(CountText.of(statistics.segments, piece)), \(ByteText.of(statistics.storedBytes)) \(place)\n
            """
        func section(_ title: String, _ counts: [String: Count], order: [String]? = nil) {
            guard !counts.isEmpty else { return }
            var table = TextTable([title, "lines", "text"], right: [1, 2])
            let names =
                order?.filter { counts[$0] != nil }
                ?? counts.keys.sorted { (counts[$1]!.lines, $0) < (counts[$0]!.lines, $1) }
            for name in names { table.add([name, "\(counts[name]!.lines)", ByteText.of(counts[name]!.bytes)]) }
            text += "\n" + table.text
        }
        section("level", statistics.levels, order: LogLevel.allCases.map(\.name) + ["none"])
        section("type", statistics.types)
        section("category", statistics.categories)
        if !statistics.dropped.isEmpty {
            var table = TextTable(["dropped", "E", "W", "I", "V"], right: [1, 2, 3, 4])
            for (reason, counts) in statistics.dropped.sorted(by: { $0.key < $1.key }) {
                table.add([reason] + counts.map(String.init))
            }
            text += "\n" + table.text
        }
        try Output.write(text.utf8)
    }
}

extension StatsCommand {
    /// Reads the lines and counts each once. The list of chunks counts a line as often as the device sent it.
    func runRemotely() async throws {
        var statistics = Statistics()
        let now = SystemClock.wallMicroseconds()
        try await ask { client, scope in
            let query = try filter.query(scope, now: now)
            let chunks = try await client.chunks(query)
            statistics.segments = chunks.count
            statistics.storedBytes = chunks.reduce(0) { $0 + $1.storedBytes }
            for kind in [SegmentName.Kind.application, .crash]
            where filter.type == .all || filter.type.rawValue == kind.rawValue {
                var tally = statistics
                let query = try LogQuery(scope, type: kind.rawValue, lines: filter.filter(now: now))
                try await client.lines(query.with("order", "number")) { line in
                    tally.add(line, LogLine(line), kind: kind)
                }
                statistics = tally
            }
        }
        try print(statistics, piece: "chunk", place: "at the collector")
    }
}
