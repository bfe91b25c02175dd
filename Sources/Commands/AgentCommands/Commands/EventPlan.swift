import DataSampler
import FoundationEssentials
import WireModel

/// When an event that is on disk will be sent, as far as it is known once it was recorded.
struct EventPlan: Codable, Equatable {
    /// How long an event is held before it may be sent.
    var holdSeconds: Double
    /// Whether an agent runs; without one nothing is sent.
    var running: Bool
    /// What keeps it here beyond that; `nil`: nothing that is known.
    var obstacle: String?

    init(holdSeconds: Double, running: Bool, obstacle: String? = nil) {
        self.holdSeconds = holdSeconds
        self.running = running
        self.obstacle = obstacle
    }

    init(_ status: DataSamplerStatus) {
        holdSeconds = status.eventHold
        running = status.running
        guard running else { return }
        let collector = status.collector
        if !status.enrollment.enrolled {
            obstacle = "this device is not enrolled: \(status.enrollment.reason ?? "unknown")"
        } else if let gate = collector.gates["event"] {
            obstacle = gate
        } else if collector.reachable == false {
            obstacle = "the collector is not reachable: \(collector.lastFailureReason ?? "unknown")"
        }
    }

    /// `nil` where an agent of an earlier version gave none.
    init?(_ answer: WireControlAnswer) {
        guard let plan = try? JSONDecoder().decode(EventPlan.self, from: answer.json) else { return nil }
        self = plan
    }

    /// What a person reads.
    /// - Parameter number: the event's in its stream; 0 where it has none yet.
    static func text(number: UInt64, _ plan: EventPlan?, now: Date = Date()) -> String {
        // A record has its number once it is in its stream.
        guard number > 0 else { return "event kept apart until consent is decided" }
        guard let plan else { return "event \(number)" }
        var words: String
        if plan.holdSeconds > 0 {
            let due = Date(timeIntervalSince1970: (now.timeIntervalSince1970 + plan.holdSeconds).rounded(.up))
            words = "held until \(due.ISO8601Format()) (for \(StatusText.duration(plan.holdSeconds))), then sent"
            words += plan.running ? " with the next transmit" : " by the next run of the agent"
        } else if plan.obstacle != nil {
            words = "waits"
        } else {
            words = plan.running ? "sent now" : "sent by the next run of the agent"
        }
        if let obstacle = plan.obstacle { words += ". What stands in the way now: \(obstacle)" }
        return "event \(number): on disk; \(words)"
    }
}

extension WireControlAnswer {
    static func event(_ number: UInt64, _ plan: EventPlan) throws(DataSamplerError) -> WireControlAnswer {
        var answer = try json(plan)
        answer.number = number
        return answer
    }
}
