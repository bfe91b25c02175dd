/// What is in a queue's directory, for people; `Codable` is its JSON form.
package struct QueueInspection: Codable, Equatable, Sendable {
    package struct File: Codable, Equatable, Sendable {
        package var name: String
        package var bytes: Int64
    }

    package struct Gap: Codable, Equatable, Sendable {
        package var first: UInt64
        package var last: UInt64
        package var reason: String
    }

    package struct Stream: Codable, Equatable, Sendable {
        package var stream: String
        package var waiting: UInt64
        package var waitingBytes: UInt64
        package var oldestAgeSeconds: Double?
        package var lastNumber: UInt64
        package var markNumber: UInt64
        package var gaps: [Gap]
        package var consentPending: UInt64
        package var apart: UInt64
    }

    package struct Ended: Codable, Equatable, Sendable {
        package var epoch: String
        package var end: EpochEnd
        package var isClosed: Bool
        package var waiting: UInt64
        /// Why the file was given up, where this epoch ended so.
        package var cause: String?
        package var file: String?
        package var salvaged: UInt64?
        package var lost: UInt64?
    }

    /// A record that was quarantined.
    package struct Quarantined: Codable, Equatable, Sendable {
        package var id: Int64
        package var stream: String
        package var number: UInt64
        package var reason: String
        package var bytes: Int
        /// The device's wall clock when it was made, microseconds since 1970.
        package var wallTime: Int64
        /// Whether the collector has it: `open`, `not-stored` or `uncertain`; `nil` from an agent of before it was
        /// known.
        package var fate: String?
    }

    package var directory: String
    package var epoch: String
    package var collector: String?
    package var organization: String?
    package var device: String?
    package var parting: String?
    package var streams: [Stream]
    package var ended: [Ended]
    package var quarantine: [Quarantined]
    /// Those of the queue itself.
    package var files: [File]
    /// Corrupt files kept aside, oldest first: names of directories.
    package var corruptFiles: [String]
}

/// What `verify` found.
package struct QueueVerification: Codable, Equatable, Sendable {
    /// For people; empty: the chain holds over every row, all counts are those of the rows, and SQLite finds nothing wrong with the file.
    package var findings: [String]
    package var rows: UInt64
    package var isWhole: Bool { findings.isEmpty }
}

/// What `repair` did.
package struct QueueRepair: Codable, Equatable, Sendable {
    /// What was wrong; empty: nothing, and nothing was changed.
    package var findings: [String]
    /// Where the bad file is kept aside.
    package var file: String?
    package var salvaged: UInt64
    package var lost: UInt64
}

/// A page of exported records.
package struct QueueExport: Codable, Equatable, Sendable {
    /// One JSON object each, without a line end.
    package var lines: [String]
    /// For the next page; `nil` at the end.
    package var next: String?
}
