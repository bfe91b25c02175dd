/// The rules by which records are kept, as administrators see them over HTTP and on the collector's machine.
package struct RetentionView: Codable, Equatable, Sendable {
    package var streams: [Stream] = []
    /// Why nothing is removed; absent while old records are removed.
    package var waiting: String?
    package var waitingSince: String?
    /// The last purge; absent if there was none.
    package var purge: Purge?

    package struct Stream: Codable, Equatable, Sendable {
        package var stream = ""
        package var files = 0
        package var bytes: Int64 = 0
        /// A day; absent if there is no file.
        package var oldest: String?
        package var newest: String?
        package var removedFiles = 0

        package init() {}
    }

    package struct Purge: Codable, Equatable, Sendable {
        package var id = ""
        package var state = ""
        package var removedFiles = 0
        package var failure: String?

        package init() {}
    }

    package init() {}
}

/// Whether retention goes on again.
package struct ReleaseView: Codable, Equatable, Sendable {
    package var released = false
    /// The reason for which retention waited.
    package var waited: String?

    package init() {}
}

/// The records that a purge would remove, or was requested to remove.
package struct PurgeView: Codable, Equatable, Sendable {
    /// Whether the purge was requested. The files are removed within seconds.
    package var asked = false
    /// The streams that lose records.
    package var streams: [Stream] = []
    package var files = 0
    package var bytes: Int64 = 0
    /// The value to send as `confirm`. Only while nothing is requested.
    package var confirm: String?
    /// The purge's id in `GET /api/v1/retention` and in the audit trail.
    package var purge: String?

    package struct Stream: Codable, Equatable, Sendable {
        package var stream = ""
        package var files = 0
        package var bytes: Int64 = 0
        package var oldest = ""
        package var newest = ""

        package init() {}
    }

    package init() {}
}

/// The rate of records, the room that they need, and when the disk will be full.
package struct CapacityView: Codable, Equatable, Sendable {
    package var ingest = Ingest()
    package var streams: [Stream] = []
    package var bytes: Int64 = 0
    /// Absent until there is a whole day of records.
    package var bytesPerDay: Int64?
    package var growthDays = 0
    /// Absent if the system does not report it.
    package var disk: Disk?

    package struct Ingest: Codable, Equatable, Sendable {
        /// Absent in the first minute after the start.
        package var recordsPerSecond: Double?
        package var minutes: [Minute] = []

        package struct Minute: Codable, Equatable, Sendable {
            package var begin = ""
            package var records: UInt64 = 0

            package init() {}
        }

        package init() {}
    }

    package struct Stream: Codable, Equatable, Sendable {
        package var stream = ""
        package var files = 0
        package var bytes: Int64 = 0
        package var bytesPerDay: Int64?
        package var retentionDays = 0
        package var retentionBytes: Int64?

        package init() {}
    }

    package struct Disk: Codable, Equatable, Sendable {
        package var freeBytes: UInt64 = 0
        package var sizeBytes: UInt64 = 0
        /// `unknown`, `never`, or `expected` after `fullInDays`.
        package var full = ""
        package var fullInDays: Int?

        package init() {}
    }

    package init() {}
}
