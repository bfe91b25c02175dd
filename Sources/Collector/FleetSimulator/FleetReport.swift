/// The work of a run, and what the oracle found.
package struct FleetReport: Encodable, Equatable, Sendable {
    package struct Oracle: Encodable, Equatable, Sendable {
        package var devices = 0
        /// Records the collector lists.
        package var found = 0
        /// Acknowledged records that are missing.
        package var lost = 0
        package var doubled = 0
        /// Records that differ from the acknowledged ones.
        package var altered = 0
        /// Listed records that no device made.
        package var foreign = 0
        /// Streams whose balance does not close over the listed records.
        package var unbalanced = 0
        /// Devices for which a question was not answered.
        package var unanswered = 0
        /// Records that were not acknowledged although there was enough time.
        package var waiting = 0
        /// Examples of what is wrong, in words.
        package var details: [String] = []

        private static let maximumDetails = 100

        mutating func detail(_ text: String) {
            if details.count < Self.maximumDetails { details.append(text) }
        }

        mutating func add(_ other: Oracle) {
            devices += other.devices
            found += other.found
            lost += other.lost
            doubled += other.doubled
            altered += other.altered
            foreign += other.foreign
            unbalanced += other.unbalanced
            for text in other.details { detail(text) }
        }
    }

    package var devices: Int
    package var seconds: Int
    package var seed: UInt64
    package var enrolled = 0
    package var produced = 0
    package var acknowledged = 0
    package var counts = FleetCounts()
    /// The latency of batches answered with 200; `nil` if there was none.
    package var latencyMillisecondsP50: Double?
    package var latencyMillisecondsP99: Double?
    package var elapsedSeconds = 0.0
    package var oracle = Oracle()

    /// Whether the run found no fault.
    package var isRight: Bool {
        oracle.lost + oracle.doubled + oracle.altered + oracle.foreign + oracle.unbalanced + oracle.unanswered
            + oracle.waiting == 0 && enrolled == devices
    }
}

/// Counts of what happened during a run.
package struct FleetCounts: Equatable, Sendable, Encodable {
    package var requests = 0
    package var recordsSent = 0
    /// Answers by status. `none` counts missing answers.
    package var answers: [String: Int] = [:]
    /// Parts by outcome.
    package var outcomes: [String: Int] = [:]
    package var faults: [String: Int] = [:]
    package var closedEpochs = 0

    mutating func add(_ other: FleetCounts) {
        requests += other.requests
        recordsSent += other.recordsSent
        answers.merge(other.answers, uniquingKeysWith: +)
        outcomes.merge(other.outcomes, uniquingKeysWith: +)
        faults.merge(other.faults, uniquingKeysWith: +)
        closedEpochs += other.closedEpochs
    }
}
