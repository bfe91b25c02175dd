import TelemetryBasics
import WireModel

/// Decides which files of a stream retention removes. Pure.
///
/// Only the oldest files can be removed, because marks in an older file would be newer than the baseline's. Today's
/// file is never removed, nor is a file that a fast clock has named after a later day.
package enum RetentionPlan {
    /// The facts about a record file that the plan uses.
    package struct File: Equatable, Sendable {
        package var day: UTCDay
        /// The bytes on disk.
        package var bytes: Int64
        /// When its newest record was received, in microseconds since 1970; `nil` if unknown, then the end of its day
        /// counts.
        package var newestReceipt: Int64?
    }

    package enum Reason: String, Equatable, Sendable {
        /// It is older than records are kept.
        case age
        /// The stream's files exceed their limit.
        case bytes
    }

    package struct Removal: Equatable, Sendable {
        package var file: File
        package var reason: Reason
    }

    /// - Parameters:
    ///   - files: all files of one stream, in any order.
    ///   - now: the collector's clock, in microseconds since 1970.
    /// - Returns: oldest first.
    package static func removals(of files: [File], at now: Int64, limits: RetentionLimits.Stream) -> [Removal] {
        let today = UTCDay(microseconds: now)
        let (oldest, overflow) = now.subtractingReportingOverflow(Int64(limits.days) * CivilDate.microsecondsPerDay)
        var left = files.reduce(0) { $0 + $1.bytes }
        var removals: [Removal] = []
        for file in files.sorted(by: { $0.day < $1.day }) {
            guard file.day < today else { break }
            let newest = file.newestReceipt ?? file.day.next.start
            if !overflow, newest <= oldest {
                removals.append(Removal(file: file, reason: .age))
            } else if let bytes = limits.bytes, left > bytes {
                removals.append(Removal(file: file, reason: .bytes))
            } else {
                break
            }
            left -= file.bytes
        }
        return removals
    }
}

/// How long the records of each stream are kept, and the limit of their bytes.
package struct RetentionLimits: Equatable, Sendable {
    package struct Stream: Equatable, Sendable {
        /// Days since their receipt, 1 or more.
        package var days: Int
        /// Bytes of all the stream's files together; `nil` for no limit.
        package var bytes: Int64?

        package init(days: Int, bytes: Int64? = nil) {
            self.days = days
            self.bytes = bytes
        }
    }

    package var status: Stream
    package var event: Stream
    package var sample: Stream

    package init(
        status: Stream = Stream(days: 90), event: Stream = Stream(days: 90), sample: Stream = Stream(days: 30)
    ) {
        self.status = status
        self.event = event
        self.sample = sample
    }

    package subscript(stream: StreamName) -> Stream {
        switch stream {
        case .status: status
        case .event: event
        case .sample: sample
        }
    }
}
