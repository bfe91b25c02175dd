import Synchronization
import TelemetryBasics

/// Records that the store has committed, by minute of the last hour. Safe from any thread.
///
/// A collector that has just started knows only the minutes since then, so the rate goes by these.
package final class IngestRate: Sendable {
    /// Whole minutes that the present rate is the mean of.
    private static let rateMinutes: Int64 = 5
    private static let minutesKept: Int64 = 60
    private static let minute: Int64 = 60_000_000

    private struct Counts {
        /// The records by minutes since 1970.
        var records: [Int64: UInt64] = [:]
        var began: Int64
    }

    /// Its counts at one moment.
    struct Report: Equatable {
        struct Minute: Equatable {
            /// Its beginning, in microseconds since 1970.
            var begin: Int64
            var records: UInt64
        }

        /// `nil` until a whole minute has been counted.
        var recordsPerSecond: Double?
        /// Whole minutes, oldest first.
        var minutes: [Minute]
    }

    private let now: @Sendable () -> Int64
    private let counts: Mutex<Counts>

    /// - Parameter now: microseconds since 1970.
    package init(now: @escaping @Sendable () -> Int64 = SystemClock.wallMicroseconds) {
        self.now = now
        counts = Mutex(Counts(began: now()))
    }

    func record(_ records: UInt64) {
        let minute = now() / Self.minute
        counts.withLock { counts in
            counts.records[minute, default: 0] += records
            // A clock that was set back leaves minutes of the future behind.
            if counts.records.count > 2 * Int(Self.minutesKept) {
                counts.records = counts.records.filter { abs(minute - $0.key) <= Self.minutesKept }
            }
        }
    }

    func report() -> Report {
        let present = now() / Self.minute
        return counts.withLock { counts in
            // The minute of the start is not a whole one.
            let first = max(counts.began / Self.minute + 1, present - Self.minutesKept)
            guard first < present else { return Report(recordsPerSecond: nil, minutes: []) }
            let minutes = (first..<present).map {
                Report.Minute(begin: $0 * Self.minute, records: counts.records[$0] ?? 0)
            }
            let last = minutes.suffix(Int(Self.rateMinutes))
            let sum = last.reduce(0) { $0 + $1.records }
            return Report(recordsPerSecond: Double(sum) / Double(last.count * 60), minutes: minutes)
        }
    }
}
