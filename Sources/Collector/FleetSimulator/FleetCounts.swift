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
