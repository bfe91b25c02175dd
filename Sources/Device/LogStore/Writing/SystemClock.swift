import Glibc

/// Clocks of the system.
enum SystemClock {
    /// Microseconds since 1970.
    static func wallMicroseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_REALTIME, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    /// Milliseconds since boot, also while the machine sleeps.
    static func bootMilliseconds() -> Int64 {
        var time = timespec()
        clock_gettime(CLOCK_BOOTTIME, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Of the machine since it was started; `nil` where the kernel does not tell.
    static func bootID() -> String? {
        let bytes = try? StoreFile(reading: "/proc/sys/kernel/random/boot_id").read(36, at: 0)
        return bytes.map { String(decoding: $0, as: UTF8.self) }
    }
}
