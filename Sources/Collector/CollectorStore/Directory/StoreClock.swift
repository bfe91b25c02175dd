import Glibc

/// The collector's wall clock, injected: it names the day's file, so tests must be able to step it.
package protocol StoreClock: Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z. Cheap, and safe from any thread.
    func now() -> Int64
}

package struct SystemStoreClock: StoreClock {
    package init() {}

    package func now() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }
}
