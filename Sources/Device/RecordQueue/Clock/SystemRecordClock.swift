import WireModel

#if canImport(Glibc)
import Glibc

/// The kernel's clocks: wall time, time since boot counting suspend, and the boot's id.
package struct SystemRecordClock: RecordClock {
    /// Read once: it cannot change while this process lives.
    private let bootID: BootID?

    package init() {
        bootID = Self.readBootID("/proc/sys/kernel/random/boot_id")
    }

    package func now() -> RecordStamp {
        RecordStamp(
            wallTime: Self.microseconds(CLOCK_REALTIME), bootID: bootID, timeSinceBoot: UInt64(max(0, Self.microseconds(CLOCK_BOOTTIME))))
    }

    private static func microseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1000
    }

    private static func readBootID(_ path: String) -> BootID? {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes = [UInt8](repeating: 0, count: 64)
        let count = read(descriptor, &bytes, bytes.count)
        guard count >= 36 else { return nil }
        return BootID(String(decoding: bytes.prefix(36), as: UTF8.self))
    }
}
#endif
