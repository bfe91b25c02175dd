/// What a run did and what the oracle found.
package struct FleetReport: Encodable, Equatable, Sendable {
    package struct Oracle: Encodable, Equatable, Sendable {
        package var devices = 0
        /// Records that the collector lists.
        package var found = 0
        /// Acknowledged, but not there.
        package var lost = 0
        package var doubled = 0
        /// There, but another record than the one acknowledged.
        package var altered = 0
        /// There, but never made.
        package var foreign = 0
        /// Streams whose balance does not close over what is listed.
        package var unbalanced = 0
        /// Devices of which not everything could be asked.
        package var unanswered = 0
        /// Records that never were acknowledged although there was time enough.
        package var waiting = 0
        /// Some of what is wrong, in words.
        package var details: [String] = []
    }

    package static let maximumDetails = 100

    package var devices: Int
    package var seconds: Int
    package var seed: UInt64
    package var enrolled = 0
    package var produced = 0
    package var acknowledged = 0
    package var counts = FleetCounts()
    /// Of batches answered with 200; `nil` of none.
    package var latencyMillisecondsP50: Double?
    package var latencyMillisecondsP99: Double?
    package var elapsedSeconds = 0.0
    package var oracle = Oracle()

    /// Whether everything is as it must be.
    package var isRight: Bool {
        oracle.lost + oracle.doubled + oracle.altered + oracle.foreign + oracle.unbalanced + oracle.unanswered
            + oracle.waiting == 0
            && enrolled == devices
    }

    mutating func add(_ findings: FleetOracle.Findings) {
        oracle.devices += 1
        oracle.found += findings.found
        oracle.lost += findings.lost
        oracle.doubled += findings.doubled
        oracle.altered += findings.altered
        oracle.foreign += findings.foreign
        oracle.unbalanced += findings.unbalanced
        oracle.details = Array((oracle.details + findings.details).prefix(Self.maximumDetails))
    }
}

/// What happened during a run, counted.
package struct FleetCounts: Equatable, Sendable, Encodable {
    package var requests = 0
    package var recordsSent = 0
    /// Answers by status; `none` for those that did not come.
    package var answers: [String: Int] = [:]
    /// Outcomes of parts.
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
