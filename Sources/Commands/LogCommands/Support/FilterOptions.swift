import ArgumentParser
import CollectorClient
import CommandKit
import LogStore
import TelemetryBasics
import WireModel

enum TypeArgument: String, CaseIterable, ExpressibleByArgument {
    case application, crash, all

    func kinds(withRing: Bool) -> Set<SegmentName.Kind> {
        Set(
            SegmentName.Kind.allCases.filter {
                (self == .all || $0.type.rawValue == rawValue) && (withRing || $0 != .ring)
            })
    }
}

/// A level by its name.
struct LevelArgument: ExpressibleByArgument {
    var level: LogLevel

    init(_ level: LogLevel) { self.level = level }

    init?(argument: String) {
        guard let level = LogLevel(name: argument) else { return nil }
        self.init(level)
    }

    static var allValueStrings: [String] { LogLevel.allCases.map(\.name) }
}

/// The applications whose lines are meant.
struct ApplicationOptions: ParsableArguments {
    @Option(
        name: .customLong("application"),
        help: ArgumentHelp("Lines of the program with this bundle id; by default of all.", valueName: "id"))
    var identifier: String?
}

/// The options that select chunks of a collector.
struct ChunkOptions: ParsableArguments {
    @Option(
        name: .customLong("ids"),
        help: ArgumentHelp("Only these chunks, by their numbers from list, separated by commas.", valueName: "n,n"))
    var text: String?

    var ids: [String] { text?.split(separator: ",", omittingEmptySubsequences: false).map(String.init) ?? [] }

    func validate() throws {
        guard ids.allSatisfy({ Int64($0).map { $0 > 0 } ?? false }), ids.count <= CollectorClient.idsPerRequest else {
            throw ValidationError(
                "--ids must be up to \(CollectorClient.idsPerRequest) numbers of chunks, separated by commas")
        }
    }
}

/// The options that select lines.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .customLong("level"),
        help: ArgumentHelp(
            """
            Lines of this level and of more severe levels; by default of all. If it is verbose, also those that --ring \
            adds.
            """,
            valueName: "level"))
    var levelArgument: LevelArgument?

    @Option(help: "The type of log.")
    var type: TypeArgument = .all

    @Option(help: ArgumentHelp("Lines from this time on: 2h, 3d, or RFC 3339.", valueName: "time"))
    var since: TimeArgument?

    @Option(help: ArgumentHelp("Lines before this time.", valueName: "time"))
    var until: TimeArgument?

    @Option(
        help: ArgumentHelp(
            "Lines of this category. A name that ends in * means all categories that begin so. May be repeated.",
            valueName: "name"))
    var category: [String] = []

    @Option(
        help: ArgumentHelp("Lines that contain this text. The letters A to Z match in either case.", valueName: "text"))
    var text: String = ""

    @OptionGroup var application: ApplicationOptions

    @Flag(help: "Also lines that are more verbose than the level in force. The device keeps them for a while.")
    var ring = false

    var level: LogLevel { levelArgument?.level ?? .verbose }

    /// Whoever asks for verbose lines means these: mostly there are no others.
    var includesRing: Bool { ring || levelArgument?.level == .verbose }

    var kinds: Set<SegmentName.Kind> { type.kinds(withRing: includesRing) }

    func filter(now: Int64 = SystemClock.wallMicroseconds()) -> LogFilter {
        LogFilter(
            level: level, since: since?.microseconds(now: now), until: until?.microseconds(now: now),
            categories: category, text: text)
    }

    /// The same filter as the collector accepts it.
    func query(_ scope: LogScope, now: Int64 = SystemClock.wallMicroseconds()) throws -> LogQuery {
        guard !ring else {
            throw CommandError(
                .usage,
                """
                --ring is for logs of this machine. A collector has such lines only if ws1log request --ring asked for \
                them, and shows them without the flag
                """)
        }
        return try LogQuery(scope, type: type.rawValue, lines: filter(now: now))
    }
}
