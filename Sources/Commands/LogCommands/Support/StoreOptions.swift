import ArgumentParser
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

/// Where the logs are.
struct StoreOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The agent's data directory, with the logs in its directory logs, or a log store itself. (WS1_DATA)",
            valueName: "dir"))
    var data: String?

    /// The directory that the flag or the environment names, without a slash at its end.
    /// - Parameter wanted: what the error says is missing, such as `logs`.
    func path(of wanted: String) throws(LogCommandError) -> String {
        guard let given = data ?? ProcessInfo.processInfo.environment["WS1_DATA"], !given.isEmpty else {
            throw LogCommandError(.usage, "which \(wanted)? Give --data DIR, or set WS1_DATA")
        }
        let path = given.count > 1 && given.hasSuffix("/") ? String(given.dropLast()) : given
        var status = stat()
        if stat(path, &status) != 0, let denial = AccessDenial.text(path, errno) {
            throw LogCommandError(.failed, "\(denial)")
        }
        guard stat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
            throw LogCommandError(.failed, "\(path) is no directory: check --data")
        }
        return path
    }

    func directory() throws(LogCommandError) -> StoreDirectory {
        let path = try path(of: "logs")
        var status = stat()
        let nested = "\(path)/logs"
        if stat(nested, &status) == 0, status.st_mode & S_IFMT == S_IFDIR { return StoreDirectory(path: nested) }
        let directory = StoreDirectory(path: path)
        let names: [String]
        do { names = try directory.names() } catch { throw LogCommandError(error) }
        guard names.isEmpty || names.contains(where: { $0 == SegmentName.stateName || SegmentName.read($0) != nil })
        else {
            throw LogCommandError(
                .failed, "\(path) is neither a log store nor an agent's data directory with one in logs: check --data")
        }
        return directory
    }

    func snapshot(_ kinds: Set<SegmentName.Kind>) throws -> StoreSnapshot {
        let directory = try directory()
        return try StoreSnapshot(directory, kinds: kinds, epoch: try directory.readState()?.epoch ?? .unknown)
    }
}

/// Which type of log.
enum TypeArgument: String, CaseIterable, ExpressibleByArgument {
    case application, crash, all

    func kinds(withRing: Bool) -> Set<SegmentName.Kind> {
        var kinds = Set(SegmentName.Kind.allCases.filter { self == .all || $0.type.rawValue == rawValue })
        if !withRing { kinds.remove(.ring) }
        return kinds
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
    var defaultValueDescription: String { level.name }
}

/// Which lines.
struct FilterOptions: ParsableArguments {
    @Option(
        name: .customLong("level"), help: ArgumentHelp("This level and all that is more severe.", valueName: "level"))
    var levelArgument = LevelArgument(.verbose)

    @Option(help: "Which type of log.")
    var type: TypeArgument = .all

    @Option(help: ArgumentHelp("From this time on: 2h, 3d, or RFC 3339.", valueName: "time"))
    var since: TimeArgument?

    @Option(help: ArgumentHelp("To before this time.", valueName: "time"))
    var until: TimeArgument?

    @Option(
        help: ArgumentHelp(
            "Only this category; a name that ends in * stands for all that begin so. May be repeated.",
            valueName: "name"))
    var category: [String] = []

    @Option(help: ArgumentHelp("Only lines that hold this, letters A to Z in either case.", valueName: "text"))
    var text: String = ""

    @Flag(help: "Also lines more verbose than the level in force, which are kept for a while.")
    var ring = false

    var level: LogLevel { levelArgument.level }

    var kinds: Set<SegmentName.Kind> { type.kinds(withRing: ring) }

    func filter(now: Int64 = SystemClock.wallMicroseconds()) -> LogFilter {
        LogFilter(
            level: level, since: since?.microseconds(now: now), until: until?.microseconds(now: now),
            categories: category, text: text)
    }
}

/// Says what of a store could not be read; a command that was to read all of it fails then.
struct Shortfall {
    private(set) var messages: [String] = []

    mutating func add(_ problems: [StoreSnapshot.Problem]) {
        for problem in problems { messages.append(problem.error.message) }
    }

    mutating func add(_ message: String) { messages.append(message) }

    func throwIfAny() throws(LogCommandError) {
        guard !messages.isEmpty else { return }
        for message in messages { StandardError.warn(message) }
        throw LogCommandError(.failed, "\(messages.count) parts could not be read: what is named above was left out")
    }
}
