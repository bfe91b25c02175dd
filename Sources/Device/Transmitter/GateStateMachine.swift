import WireModel

/// Which data may be sent now, over time: the gate's decisions, and what keeps a wrong condition from closing it for ever.
///
/// The word *offline* is believed once an attempt has confirmed it, and then looked into from time to time: a collector on this very machine,
/// or behind a route the conditions do not know, is reached all the same. A stalled machine puts samples and logs off, but not without end.
/// Times are microseconds since boot.
package struct GateStateMachine: Sendable {
    /// While offline, an attempt is made this often.
    package static let offlineLook: UInt64 = 900 * 1_000_000
    /// Longer than this a stall is how the machine is.
    package static let greatestStall: UInt64 = 60 * 1_000_000

    package struct Decision: Equatable, Sendable {
        package var open: Set<StreamName>
        package var closed: [StreamName: TransmissionGate.Reason]
    }

    /// When an attempt last confirmed that there is no way out.
    private var offlineSince: UInt64?
    private var stalledSince: UInt64?

    package init() {}

    package mutating func decide(
        rules: [WireTransmissionRule], paused: Set<StreamName>, conditions: DeviceConditions, now: UInt64
    ) -> Decision {
        let believed = believe(conditions, now: now)
        var decision = Decision(open: [], closed: [:])
        for stream in StreamName.allCases {
            if paused.contains(stream) {
                decision.closed[stream] = .paused
                continue
            }
            switch TransmissionGate.decide(data: .init(stream), rules: rules, conditions: believed) {
            case .open: decision.open.insert(stream)
            case .closed(let reason): decision.closed[stream] = reason
            }
        }
        return decision
    }

    /// Whether logs may be uploaded.
    package mutating func decideLogs(
        rules: [WireTransmissionRule], isPaused: Bool, conditions: DeviceConditions, now: UInt64
    ) -> TransmissionGate.Decision {
        isPaused
            ? .closed(.paused) : TransmissionGate.decide(data: .log, rules: rules, conditions: believe(conditions, now: now))
    }

    /// An attempt was made under these conditions, and somebody answered, or nobody did.
    package mutating func attempted(_ conditions: DeviceConditions, reached: Bool, now: UInt64) {
        guard conditions.network == .offline else { return }
        offlineSince = reached ? nil : now
    }

    private mutating func believe(_ conditions: DeviceConditions, now: UInt64) -> DeviceConditions {
        var believed = conditions
        if conditions.network != .offline {
            offlineSince = nil
        } else if offlineSince.map({ now >= $0 &+ Self.offlineLook }) ?? true {
            // Of no class that a rule could allow, but not refused for being none at all.
            believed.network = .unknown
        }
        stalledSince = conditions.stalled == true ? stalledSince ?? now : nil
        if let stalledSince, now >= stalledSince &+ Self.greatestStall { believed.stalled = nil }
        return believed
    }
}
