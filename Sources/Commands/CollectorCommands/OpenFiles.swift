import Foundation

/// How many descriptors the system lets this process have open, and how many of them may be connections.
///
/// A collector without a descriptor left cannot open a record file, and the runtime beneath it may end the process; so connections
/// never get all of them.
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

    /// What serving takes without a connection: databases and record files, and four descriptors of each thread that waits for the network.
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
