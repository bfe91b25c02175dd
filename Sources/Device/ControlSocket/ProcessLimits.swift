import Glibc

/// What a command line program needs of the process it runs in, looked at before anything else.
///
/// The runtime, the event loops and the allocator end the process where a descriptor, a thread's stack or memory is
/// refused. So a limit that is too low is an error in words at the start, not a crash somewhere later.
package struct ProcessLimits: Sendable {
    /// Open files.
    package var descriptors: UInt64
    /// Bytes of address space. Less does not hold the program's code, its threads' stacks and its heap.
    package var addressSpace: UInt64

    /// A command that ends again.
    package static let command = ProcessLimits(descriptors: 32, addressSpace: 192 << 20)
    /// An agent: its queue, log, control socket with its clients, and the connections to the collector.
    package static let agent = ProcessLimits(descriptors: 64, addressSpace: 192 << 20)

    /// Raises what may be raised.
    /// - Returns: what is too low and how to mend it; `nil`: nothing is.
    package func objection() -> String? {
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

    /// The limit in force, after it was raised as far as is needed and may be; `nil` where nobody knows.
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
