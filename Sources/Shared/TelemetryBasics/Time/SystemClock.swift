import Glibc

/// The kernel's clocks.
package enum SystemClock {
    /// The microseconds of the wall clock, since 1970.
    package static func wallMicroseconds() -> Int64 { nanoseconds(CLOCK_REALTIME) / 1000 }

    /// Since the machine was started, sleep included.
    package static func bootMicroseconds() -> Int64 { nanoseconds(CLOCK_BOOTTIME) / 1000 }

    package static func bootMilliseconds() -> Int64 { bootMicroseconds() / 1000 }

    /// The nanoseconds of a clock that nobody sets; it stands still while the machine sleeps.
    package static func monotonicNanoseconds() -> Int64 { nanoseconds(CLOCK_MONOTONIC) }

    /// The id of this start of the machine, a UUID; `nil` where the kernel does not report it.
    package static func bootID() -> String? {
        guard let bytes = try? Files<FileError>.read("/proc/sys/kernel/random/boot_id", maximumBytes: 36),
            bytes.count == 36
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Cannot fail: these clocks exist since Linux 2.6.39, and the memory is ours.
    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }
}
