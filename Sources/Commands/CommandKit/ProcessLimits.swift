import Glibc

/// The process limits that a program needs, checked before anything else.
///
/// The runtime, the event loops and the allocator end the process if they get no descriptor, thread stack or memory.
/// With this check, a limit that is too low is a clear error at the start and not a crash later.
package struct ProcessLimits: Sendable {
    /// Open files.
    package var descriptors: UInt64
    /// Bytes of address space. With less, the program's code, stacks and heap do not fit.
    package var addressSpace: UInt64

    /// The limits for a command that runs and ends.
    package static let command = ProcessLimits(descriptors: 32, addressSpace: 192 << 20)
    /// The limits for an agent: its queue, log, control socket with clients, and connections to the collector.
    package static let agent = ProcessLimits(descriptors: 64, addressSpace: 192 << 20)

    /// Raises the limits as far as allowed.
    /// - Throws: `.failed` with the limit that is too low and what to do.
    package func check() throws(CommandError) {
        if let objection = objection() { throw CommandError(.failed, objection) }
    }

    private func objection() -> String? {
        let files = Self.allowed(RLIMIT_NOFILE, needed: descriptors)
        if let files, files < descriptors {
            return "this process may have \(files) open files and needs \(descriptors): raise the limit (ulimit -n; "
                + "LimitNOFILE= in a unit)"
        }
        let space = Self.allowed(RLIMIT_AS, needed: addressSpace)
        if let space, space < addressSpace {
            return
                "this process may use \(space >> 20) MiB of address space and needs \(addressSpace >> 20): raise the "
                + "limit (ulimit -v; LimitAS= in a unit)"
        }
        return nil
    }

    /// The limit in force after raising it as far as needed and allowed; `nil` if unknown.
    private static func allowed(_ resource: __rlimit_resource, needed: UInt64) -> UInt64? {
        var limit = rlimit()
        let resource = __rlimit_resource_t(resource.rawValue)
        guard getrlimit(resource, &limit) == 0 else { return nil }
        guard limit.rlim_cur < needed else { return UInt64(limit.rlim_cur) }
        let former = limit.rlim_cur
        limit.rlim_cur = min(limit.rlim_max, rlim_t(needed))
        return UInt64(setrlimit(resource, &limit) == 0 ? limit.rlim_cur : former)
    }
}
