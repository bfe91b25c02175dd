import WireModel

/// How much the sampler slows down now, and which budget asks for it.
struct BudgetVerdict: Equatable, Sendable {
    /// Sample and transmit intervals are so many times longer; 1 or more. Beacons and command results are never slowed.
    var factor = 1.0
    /// `nil`: none.
    var reason: BudgetKind?
    /// In the budget's unit: bytes today, or ten-thousandths of one core.
    var used: UInt64 = 0
    var allowed: UInt64 = 0

    /// For beacon and sample; `nil`: no slowdown.
    var wire: WireSlowdown? {
        guard let reason else { return nil }
        var slowdown = WireSlowdown()
        slowdown.budget = reason.rawValue
        slowdown.factor = UInt32((factor * 100).rounded())
        slowdown.used = used
        slowdown.allowed = allowed
        return slowdown
    }

    /// For people; no data of a person.
    var description: String {
        switch reason {
        case nil: "no budget asks for a slowdown"
        case .sentBytes: "slowed down \(text) times: \(used) of \(allowed) bytes a day are sent"
        case .writtenBytes: "slowed down \(text) times: \(used) of \(allowed) bytes a day are written"
        case .cpu: "slowed down \(text) times: \(used) of \(allowed) ten-thousandths of a core are used"
        }
    }

    private var text: String {
        let hundredths = Int((factor * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 / 10)"
    }
}
