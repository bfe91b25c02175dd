import CommandKit
import Glibc
import LogStore
import TelemetryBasics

extension StoreOptions {
    /// The directory that the flag or the variable names, without a slash at its end.
    func path() throws(CommandError) -> String {
        let layers = try SettingLayers<LogSettings>(flags: given)
        let given = try layers[\.data]?.text() ?? StandardDirectory.agent
        let path = given.count > 1 && given.hasSuffix("/") ? String(given.dropLast()) : given
        guard Self.isDirectory(path) else {
            let denial = AccessDenial.text(path, errno)
            let remedy =
                layers[\.data] == nil
                ? "no agent has kept logs on this machine. Give --data DIR for another directory, or --collector URL "
                    + "and --device ID for the logs of a device at its collector"
                : "check --data"
            throw CommandError(.failed, denial ?? "\(path) is not a directory: \(remedy)")
        }
        return path
    }

    func directory() throws -> StoreDirectory {
        let path = try path()
        let source = try SettingLayers<LogSettings>(flags: given)[\.deviceKey]?.text()
        let nested = "\(path)/logs"
        if Self.isDirectory(nested) {
            return StoreDirectory(path: nested, keys: try StoreKeys(directory: path, source: source).keys)
        }
        // The store of an agent, or one of a program that has its keys beside it.
        let data = path.hasSuffix("/logs") ? String(path.dropLast("/logs".count)) : path
        let directory = StoreDirectory(path: path, keys: try StoreKeys(directory: data, source: source).keys)
        let names = try directory.names()
        guard names.isEmpty || names.contains(where: { $0 == SegmentName.stateName || SegmentName.read($0) != nil })
        else {
            throw CommandError(
                .failed,
                "\(path) is not a log store, and has none in its directory logs as an agent's data directory does: "
                    + "check --data")
        }
        return directory
    }

    func snapshot(_ kinds: Set<SegmentName.Kind>, _ application: ApplicationOptions) throws -> StoreSnapshot {
        let directory = try directory()
        return try StoreSnapshot(
            directory, kinds: kinds, application: application.identifier,
            epoch: try directory.readState()?.epoch ?? .unknown)
    }

    /// If not, `errno` may say why.
    private static func isDirectory(_ path: String) -> Bool {
        errno = 0
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }
}

/// The parts that could not be read. A command that should read everything fails if there are any.
struct Shortfall {
    private(set) var messages: [String] = []
    /// Whether all of it may be readable later.
    private var isForNow = true

    init(_ problems: [StoreSnapshot.Problem] = []) { add(problems) }

    mutating func add(_ problems: [StoreSnapshot.Problem]) {
        for problem in problems where !messages.contains(problem.error.message) {
            messages.append(problem.error.message)
            isForNow = isForNow && problem.error.code == .locked
        }
    }

    mutating func add(_ message: String) {
        messages.append(message)
        isForNow = false
    }

    func throwIfAny() throws(CommandError) {
        guard !messages.isEmpty else { return }
        for message in messages { StandardError.warn(message) }
        throw CommandError(
            isForNow ? .tryAgain : .failed,
            "\(CountText.of(messages.count, "part")) could not be read: the lines above name what is missing")
    }
}
