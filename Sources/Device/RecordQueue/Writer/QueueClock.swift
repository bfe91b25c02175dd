import TelemetryBasics
import WireModel

/// The clock for age and hold, in microseconds since the queue's file was made. It never goes back.
///
/// Within a boot it follows the time since boot. So setting the wall clock neither releases a held event, nor holds it
/// for ever, nor empties the queue by age. Across boots, only the wall clock knows how long the machine was off. Its
/// difference counts, limited to 0...24 h.
package struct QueueClock: Equatable, Sendable {
    /// Microseconds; 0 when the file was made.
    package private(set) var time: Int64
    /// The device's clocks at `time`.
    package private(set) var stamp: RecordStamp

    /// Two thousand years. A greater time was not written by a clock, and sums below it cannot overflow.
    static let greatestTime: Int64 = 1 << 56

    static let greatestStepAcrossBoots: Int64 = 24 * 3600 * 1_000_000

    package init(time: Int64 = 0, stamp: RecordStamp) {
        self.time = time
        self.stamp = stamp
    }

    /// The clock at `now`, in the process that set `stamp`. A missing boot id means the same boot, because a process
    /// does not outlive one.
    package func advanced(to now: RecordStamp) -> QueueClock {
        moved(to: now, sameBoot: now.bootID == stamp.bootID)
    }

    /// The clock at `now`, read from disk by a process that may run in a later boot. A missing boot id means another
    /// boot.
    package func resumed(at now: RecordStamp) -> QueueClock {
        moved(to: now, sameBoot: now.bootID != nil && now.bootID == stamp.bootID)
    }

    /// The time of something stamped `made` on this clock. From the same boot it is exact; from another boot it is now.
    func time(of made: RecordStamp) -> Int64 {
        guard made.bootID == stamp.bootID, made.timeSinceBoot <= stamp.timeSinceBoot else { return time }
        return time - min(Self.greatestTime, Int64(clamping: stamp.timeSinceBoot - made.timeSinceBoot))
    }

    private func moved(to now: RecordStamp, sameBoot: Bool) -> QueueClock {
        QueueClock(
            time: min(Self.greatestTime, time + min(Self.greatestTime, step(to: now, sameBoot: sameBoot))), stamp: now)
    }

    private func step(to now: RecordStamp, sameBoot: Bool) -> Int64 {
        if sameBoot, now.timeSinceBoot >= stamp.timeSinceBoot {
            return Int64(clamping: now.timeSinceBoot - stamp.timeSinceBoot)
        }
        let (difference, overflow) = now.wallTime.subtractingReportingOverflow(stamp.wallTime)
        return overflow ? 0 : min(max(0, difference), Self.greatestStepAcrossBoots)
    }
}

extension Duration {
    /// Whole microseconds, limited to what can be added to any queue time.
    var queueMicroseconds: Int64 {
        let (seconds, attoseconds) = components
        guard seconds < 1 << 40 else { return (1 << 40) * 1_000_000 }
        return max(0, seconds * 1_000_000 + attoseconds / 1_000_000_000_000)
    }
}

/// The device's clocks, injected.
package protocol RecordClock: Sendable {
    /// Cheap, and safe from any thread.
    func now() -> RecordStamp
}

/// The kernel's clocks: wall time, time since boot including suspend, and the boot id.
package struct SystemRecordClock: RecordClock {
    /// Read once, because it cannot change while this process lives.
    private let bootID = SystemClock.bootID().flatMap { BootID($0) }

    package init() {}

    package func now() -> RecordStamp {
        RecordStamp(
            wallTime: SystemClock.wallMicroseconds(), bootID: bootID,
            timeSinceBoot: UInt64(SystemClock.bootMicroseconds()))
    }
}
