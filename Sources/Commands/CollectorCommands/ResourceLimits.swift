import Collector
import CommandKit
import Foundation

/// How much memory the system lets this process have, and what of it requests may take.
///
/// Swift ends a program that is refused memory, so nothing can be mended once it is missing: the collector plans with
/// less, or does not start.
struct MemoryLimit: Equatable {
    /// Where a limit is set, and how it is raised.
    enum Source: String {
        case addressSpace = "address space (ulimit -v, LimitAS)"
        case controlGroup = "memory of the control group (MemoryMax, a container's limit)"

        /// What the program takes before the first request, and as much again for its work. Mapped and not used counts
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

    /// A quarter goes to bodies of requests and a quarter to answers that stream logs; the rest is the program's own,
    /// SQLite's caches and what is made of the bodies.
    private static let share: UInt64 = 4
    /// What an answer that streams logs holds at most.
    private static let bytesPerLogStream: UInt64 = 40 << 20

    /// - Throws: `CommandError` `.failed` where it is too little to run at all.
    func check() throws(CommandError) {
        guard bytes < source.leastBytes else { return }
        throw CommandError(
            .failed,
            "The limit on the \(source.rawValue) is \(bytes >> 20) MiB, and the collector needs \(source.leastBytes >> 20) MiB to start. Raise it."
        )
    }

    /// The settings with no more in memory at a time than there is room for.
    func fitting(_ settings: CollectorServer.Settings) -> CollectorServer.Settings {
        var fitting = settings
        let part = bytes / Self.share
        // One request of the largest size is always taken, or its device would wait for ever.
        let least = UInt64(settings.bodyBytes + settings.inflatedBytes)
        let bodies = min(UInt64(settings.budget.maximumBytes), max(part, least))
        if bodies < settings.budget.maximumBytes { fitting.budget = settings.budget.with(maximumBytes: Int(bodies)) }
        fitting.logStreams = max(1, min(settings.logStreams, Int(clamping: part / Self.bytesPerLogStream)))
        return fitting
    }

    // MARK: What holds

    /// The limits of this process; the address space's soft one is raised to the hard one first, as every server may.
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

    /// The least `memory.max` of the process's control group (version 2) and those above it.
    /// - Parameter group: what `/proc/self/cgroup` says: `0::/system.slice/ws1collector.service`.
    static func controlGroupBytes(root: String, group: String?) -> UInt64? {
        guard let line = group?.split(separator: "\n").first(where: { $0.hasPrefix("0::/") }) else { return nil }
        var names = line.dropFirst(4).split(separator: "/")
        var least: UInt64?
        while true {
            let file = ([root] + names.map(String.init) + ["memory.max"]).joined(separator: "/")
            // "max" is no number: no limit there.
            if let text = try? String(contentsOfFile: file, encoding: .utf8),
                let bytes = UInt64(text.trimmingCharacters(in: .whitespacesAndNewlines))
            {
                least = min(least ?? .max, bytes)
            }
            if names.popLast() == nil { return least }
        }
    }
}

/// How many descriptors the system lets this process have open, and how many of them may be connections.
///
/// A collector without a descriptor left cannot open a record file, and the runtime beneath it may end the process; so
/// connections never get all of them.
enum OpenFiles {
    /// More than any configuration of connections and record files uses.
    private static let enough: rlim_t = 1 << 20

    /// Raises the soft limit to the hard one, as every server may. - Returns: the limit that holds now.
    static func raiseLimit() -> Int {
        let resource = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
        var limit = rlimit()
        guard getrlimit(resource, &limit) == 0 else { return 1024 }
        var raised = limit
        raised.rlim_cur = max(limit.rlim_cur, min(limit.rlim_max, enough))
        if raised.rlim_cur > limit.rlim_cur, setrlimit(resource, &raised) == 0 { limit = raised }
        return Int(min(limit.rlim_cur, enough))
    }

    /// What serving takes without a connection: databases and record files, and four descriptors of each thread that
    /// waits for the network.
    static func least(cores: Int) -> Int { 96 + 4 * cores }

    /// - Throws: `CommandError` `.failed` where there are too few to serve at all.
    static func check(limit: Int, cores: Int) throws(CommandError) {
        let least = least(cores: cores)
        guard limit < least else { return }
        throw CommandError(
            .failed,
            "The limit on open files is \(limit), and the collector needs \(least) to start. Raise it (ulimit -Hn, LimitNOFILE)."
        )
    }

    /// Half of the descriptors stay for record files and everything else.
    static func connections(wanted: Int, limit: Int) -> Int {
        max(1, min(wanted, limit / 2))
    }
}
