import ArgumentParser
import CollectorAPI
import CollectorClient
import CommandKit
import LogStore
import TelemetryBasics
import WireModel

struct DeleteCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Deletes sealed segments, by time and type; asks first.",
        discussion: """
            Deletes only whole segments, if all their lines lie between --since and --until. Segments that are still \
            being written stay. The store counts the deleted lines. At a collector the same rule holds for chunks; if \
            a device sends a deleted chunk again, the collector tells it that it had the chunk.
            """)

    @OptionGroup var confirmation: ConfirmationOptions

    @Option(help: ArgumentHelp("Lines from this time on: 2h, 3d, or RFC 3339.", valueName: "time"))
    var since: TimeArgument?

    @Option(help: ArgumentHelp("Lines before this time.", valueName: "time"))
    var until: TimeArgument?

    @Option(help: "The type of log.")
    var type: TypeArgument = .all

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var application: ApplicationOptions
    @OptionGroup(title: "At a collector") var chunkOptions: ChunkOptions
    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    /// The result as printed with --json.
    struct Result: Codable, Equatable {
        var segments: Int
        var lines: UInt64
    }

    private var span: LogFilter {
        let now = SystemClock.wallMicroseconds()
        return LogFilter(since: since?.microseconds(now: now), until: until?.microseconds(now: now))
    }

    func runLocally() throws {
        let span = span
        let deletion = SegmentDeletion(
            try store.snapshot(type.kinds(withRing: true), application), since: span.since, until: span.until)
        guard !deletion.segments.isEmpty else { return try print(Result(segments: 0, lines: 0)) }
        let lines = deletion.segments.reduce(0) { $0 + $1.index.whole.lines }
        try confirmation.confirm(
            """
            \(CountText.of(lines, "line")) in \(CountText.of(deletion.segments.count, "segment")) will be deleted for \
            good
            """
        )
        try print(Result(segments: deletion.segments.count, lines: try deletion.perform().total))
    }

    private func print(_ result: Result) throws(CommandError) {
        if json { try Output.json(result) } else { try Output.line("\(CountText.of(result.lines, "line")) deleted") }
    }
}

extension DeleteCommand {
    func runRemotely() async throws {
        let span = span
        let result = try await ask { client, scope in
            let query = try LogQuery(scope, type: type.rawValue, lines: span)
            let chunks = try await client.chunks(query).filter { isWhole($0, in: span) }
            guard !chunks.isEmpty else { return Result(segments: 0, lines: 0) }
            let count = chunks.reduce(0) { $0 + $1.lines }
            try confirmation.confirm(
                "\(CountText.of(count, "line")) in \(CountText.of(chunks.count, "chunk")) \(scope) at \(client.name) "
                    + "will be deleted for good")
            let deleted = try await client.delete(chunks.map(\.id))
            return Result(segments: deleted.chunks, lines: deleted.lines)
        }
        try print(result)
    }

    private func isWhole(_ chunk: ChunkView, in span: LogFilter) -> Bool {
        guard type == .all || chunk.type?.rawValue == type.rawValue else { return false }
        guard span.since != nil || span.until != nil else { return true }
        guard let times = chunk.times else { return false }
        return times.lowerBound >= span.since ?? .min && times.upperBound < span.until ?? .max
    }
}
