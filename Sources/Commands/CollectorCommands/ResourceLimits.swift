import Collector
import CommandKit
import Foundation

/// A limit on this process's memory, and the share of it for requests.
///
/// Swift ends a program whose allocation fails. The collector therefore plans with less memory, or does not start.
struct MemoryLimit: Equatable {
    /// Who sets a limit, and how to raise it.
    enum Source: String {
        case addressSpace = "address space (ulimit -v, LimitAS)"
        case controlGroup = "memory of the control group (MemoryMax, a container's limit)"

        /// The program's need before the first request, doubled for its work. Memory that is mapped but unused counts
        /// as address space.
        var leastBytes: UInt64 {
            switch self {
            case .addressSpace: 768 << 20
            case .controlGroup: 128 << 20
            }
        }
    }

    var source: Source
    var bytes: UInt64

    /// One quarter is for request bodies and one for answers that stream logs. The rest is for the program, SQLite's
    /// caches and the decoded bodies.
    private static let share: UInt64 = 4
    /// The most memory of an answer that streams logs.
    private static let bytesPerLogStream: UInt64 = 40 << 20

    /// - Throws: `CommandError` `.failed` if the limit is too low to run.
    func check() throws(CommandError) {
        guard bytes < source.leastBytes else { return }
        throw CommandError(
            .failed,
            """
            The limit on the \(source.rawValue) is \(bytes >> 20) MiB, and the collector needs \
            \(source.leastBytes >> 20) MiB to start. Raise it.
            """
        )
    }

    /// Reduces the settings so that the requests under way fit into memory.
    func fitting(_ settings: CollectorServer.Settings) -> CollectorServer.Settings {
        var fitting = settings
        let part = bytes / Self.share
        // One request of the largest size must fit, or its device would wait for ever.
        let least = UInt64(settings.bodyBytes + settings.inflatedBytes)
        let bodies = min(UInt64(settings.budget.maximumBytes), max(part, least))
        if bodies < settings.budget.maximumBytes { fitting.budget = settings.budget.with(maximumBytes: Int(bodies)) }
        fitting.logStreams = max(1, min(settings.logStreams, Int(clamping: part / Self.bytesPerLogStream)))
        return fitting
    }

    // MARK: Limits in force

    /// The limits of this process, after raising the address space's soft limit to the hard one.
    static func current() -> [MemoryLimit] {
        var limits: [MemoryLimit] = []
        let resource = __rlimit_resource_t(RLIMIT_AS.rawValue)
        var limit = rlimit()
        if getrlimit(resource, &limit) == 0 {
            var raised = limit
            raised.rlim_cur = limit.rlim_max
            if raised.rlim_cur != limit.rlim_cur, setrlimit(resource, &raised) == 0 { limit = raised }
            if limit.rlim_cur < UInt64(Int64.max) {
                limits.append(MemoryLimit(source: .addressSpace, bytes: UInt64(limit.rlim_cur)))
            }
        }
        if let bytes = controlGroupBytes(
            root: "/sys/fs/cgroup", group: try? String(contentsOfFile: "/proc/self/cgroup", encoding: .utf8))
        {
            limits.append(MemoryLimit(source: .controlGroup, bytes: bytes))
        }
        return limits
    }

    /// The lowest `memory.max` of the process's control group (version 2) and its parents.
    /// - Parameter group: the text of `/proc/self/cgroup`, such as `0::/system.slice/ws1collector.service`.
    static func controlGroupBytes(root: String, group: String?) -> UInt64? {
        guard let line = group?.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
        var names = line.dropFirst(4).split(separator: "/")
        var least: UInt64?
        while true {
            let file = ([root] + names.map(String.init) + ["memory.max"]).joined(separator: "/")
            // "max" means no limit.
            if let text = try? String(contentsOfFile: file, encoding: .utf8),
                let bytes = UInt64(text.trimmingCharacters(in: .whitespacesAndNewlines))
            {
                least = min(least ?? .max, bytes)
            }
            if names.popLast() == nil { return least }
        }
    }
}

/// The limit on open files, and the share of it for connections.
///
/// Connections never get all descriptors: without one the collector cannot open a record file, and the runtime may end
/// the process.
enum OpenFiles {
    /// More descriptors than any configuration uses.
    private static let enough: rlim_t = 1 << 20

    /// Raises the soft limit to the hard one. - Returns: the limit in force.
    static func raiseLimit() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        var raised = limit
        raised.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, enough))
        if raised.rlim_cur > limit.rlim_cur, setrlimit(resource, &raised) == 0 { limit = raised }
        return Int(min(limit.rlim_cur, enough))
    }

    /// The descriptors needed without connections: databases, record files, and four for each network thread.
    static func least(cores: Int) -> Int { 96 + 4 * cores }

    /// - Throws: `CommandError` `.failed` if the limit is too low to serve.
    static func check(limit: Int, cores: Int) throws(CommandError) {
        let least = least(cores: cores)
        guard limit < least else { return }
        throw CommandError(
            .failed,
            """
            The limit on open files is \(limit), and the collector needs \(least) to start. Raise it (ulimit -Hn, \
            LimitNOFILE).
            """
        )
    }

    /// Reserves half of the descriptors for record files and everything else.
    static func connections(wanted: Int, limit: Int) -> Int { max(1, min(wanted, limit / 2)) }
}
