import ArgumentParser
import CollectorAPI
import CollectorClient
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

struct DeleteCommand: PlacedCommand {
    static let configuration = CommandConfiguration(
        commandName: "delete", abstract: "Deletes sealed segments, by time and type; asks first.",
        discussion: """
            Only whole segments go: those all of whose lines lie between --since and --until. Segments that are being written stay. What is \
            deleted is counted in the store as deleted. At a collector it is whole chunks, by the same rule; a device that sends one again is told \
            that it was here.
            """)

    @Flag(help: "Do not ask.")
    var yes = false

    @Option(help: ArgumentHelp("From this time on: 2h, 3d, or RFC 3339.", valueName: "time"))
    var since: TimeArgument?

    @Option(help: ArgumentHelp("To before this time.", valueName: "time"))
    var until: TimeArgument?

    @Option(help: "Which type of log.")
    var type: TypeArgument = .all

    @Flag(help: "Print JSON.")
    var json = false

    @OptionGroup var store: StoreOptions
    @OptionGroup(title: "At a collector") var collector: CollectorOptions

    /// As printed with --json.
    struct Result: Codable, Equatable {
        var segments: Int
        var lines: UInt64
    }

    func runLocally() throws {
        let snapshot = try store.snapshot(type.kinds(withRing: true))
        let now = SystemClock.wallMicroseconds()
        let deletion = SegmentDeletion(
            snapshot, since: since?.microseconds(now: now), until: until?.microseconds(now: now))
        var output = StandardOutput()
        let lines = deletion.segments.reduce(0) { $0 + $1.index.whole.lines }
        if !deletion.segments.isEmpty {
            try confirm(
                "\(CountText.of(lines, "line")) in \(CountText.of(deletion.segments.count, "segment")) will be deleted for good"
            )
        }
        let deleted = deletion.segments.isEmpty ? 0 : try deletion.perform().total
        if json {
            try output.json(Result(segments: deletion.segments.count, lines: deleted))
        } else {
            try output.line("\(deleted) lines deleted")
        }
        try output.flush()
    }

    func confirm(_ what: String) throws(LogCommandError) {
        guard !yes else { return }
        guard isatty(STDIN_FILENO) == 1 else {
            throw LogCommandError(.usage, "\(what). Nobody can be asked here: give --yes")
        }
        StandardError.write("\(what). Go on? [y/N] ")
        guard ["y", "yes"].contains(readLine()?.lowercased() ?? "") else {
            throw LogCommandError(.failed, "nothing was done")
        }
    }
}

extension DeleteCommand {
    /// By the same rule as here: whole chunks, those all of whose lines lie between the times.
    func runRemotely() async throws {
        let now = SystemClock.wallMicroseconds()
        let lines = LogFilter(since: since?.microseconds(now: now), until: until?.microseconds(now: now))
        let result = try await collector.access().ask { client, device in
            let query = try LogQuery(device, type: type.rawValue, lines: lines)
            let chunks = try await client.chunks(query).filter { isWhole($0, in: lines) }
            guard !chunks.isEmpty else { return Result(segments: 0, lines: 0) }
            let count = chunks.reduce(0) { $0 + $1.lines }
            try confirm(
                "\(CountText.of(count, "line")) in \(CountText.of(chunks.count, "chunk")) of device \(device) at \(client.name) "
                    + "will be deleted for good")
            let deleted = try await client.delete(chunks.map(\.id), of: device)
            return Result(segments: deleted.chunks, lines: deleted.lines)
        }
        var output = StandardOutput()
        if json { try output.json(result) } else { try output.line("\(result.lines) lines deleted") }
        try output.flush()
    }

    private func isWhole(_ chunk: ChunkView, in lines: LogFilter) -> Bool {
        guard type == .all || chunk.type?.rawValue == type.rawValue else { return false }
        guard lines.since != nil || lines.until != nil else { return true }
        guard let times = chunk.times else { return false }
        return times.lowerBound >= lines.since ?? .min && times.upperBound < lines.until ?? .max
    }
}
