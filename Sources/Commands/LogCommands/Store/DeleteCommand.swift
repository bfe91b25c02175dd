import ArgumentParser
import FoundationEssentials
import Glibc
import LogStore

struct DeleteCommand: AsyncParsableCommand {
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

    func run() async throws {
        switch try collector.place(data: store.data) {
        case .store: try runLocally()
        case .collector: try await runRemotely()
        }
    }

    private func runLocally() throws {
        let snapshot = try store.snapshot(type.kinds(withRing: true))
        let now = Clock.microseconds
        let deletion = SegmentDeletion(snapshot, since: since?.microseconds(now: now), until: until?.microseconds(now: now))
        var output = StandardOutput()
        let lines = deletion.segments.reduce(0) { $0 + $1.index.whole.lines }
        if !deletion.segments.isEmpty {
            try confirm("\(CountText.of(lines, "line")) in \(CountText.of(deletion.segments.count, "segment")) will be deleted for good")
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
        guard isatty(STDIN_FILENO) == 1 else { throw LogCommandError(.usage, "\(what). Nobody can be asked here: give --yes") }
        StandardError.write("\(what). Go on? [y/N] ")
        guard ["y", "yes"].contains(readLine()?.lowercased() ?? "") else { throw LogCommandError(.failed, "nothing was done") }
    }
}
