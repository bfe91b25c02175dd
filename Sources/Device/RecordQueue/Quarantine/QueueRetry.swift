/// What became of records that were quarantined, when they were to be sent again. `Codable` is its JSON form.
package struct QueueRetry: Codable, Equatable, Sendable {
    package enum Outcome: String, Codable, Sendable {
        /// Queued anew, under another number.
        case queued
        /// Stays quarantined: the collector has not said yet whether it has the record.
        case open
        /// Stays quarantined: the collector may have it, and nobody can tell any more.
        case uncertain
        /// Stays quarantined: the row is damaged.
        case unreadable
    }

    package struct Record: Codable, Equatable, Sendable {
        /// As `inspect` shows it.
        package var id: Int64
        package var stream: String
        /// The one it was quarantined under.
        package var number: UInt64
        package var outcome: Outcome
        /// The one it has now, where it was queued.
        package var newNumber: UInt64?
    }

    /// In the order in which they were quarantined.
    package var records: [Record]
    /// Ids that were asked for and are not quarantined.
    package var unknown: [Int64]
}
