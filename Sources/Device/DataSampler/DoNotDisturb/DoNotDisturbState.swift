import FoundationEssentials
import WireModel

/// `<data>/do-not-disturb.json`: the newest decision on do-not-disturb that this device knows, and whether the
/// collector has it. Pure.
///
/// The device and people decide, and the newest decision holds. The collector puts decisions in order, as they come to
/// it: a decision of this device counts when the collector hears of it, however long ago it was made. So clocks play
/// no part.
///
///     decided here ──► waits ──► the collector answers ──► known
///                        └──────► the collector refuses ──► forgotten
///     known ──► the collector says another decision ──► that one
///           └─► the collector has lost it ──► waits, if it was decided here
///
/// While a decision waits, what the collector says is not applied: it is older. A decision is reported under the id of
/// its request, so that a repeat after a lost answer does not override what a person decided meanwhile. The state is
/// kept on disk, where a restart finds it. A collector that does not know do-not-disturb says nothing of it; then this
/// device alone decides.
struct DoNotDisturbState: KeptState, Equatable {
    static let fileName = "do-not-disturb.json"

    struct Decision: Codable, Equatable, Sendable {
        var isOn: Bool
        /// The name of the person's token; `nil`: decided on this device.
        var person: String?
        /// Microseconds since 1970, by the collector's clock; by this device's as long as the decision waits.
        var at: Int64
    }

    /// `nil`: nobody has decided.
    private(set) var decision: Decision?
    /// The collector's number of the decision; 0 if it has none.
    private(set) var revision: UInt64 = 0
    /// The id under which a decision of this device is reported.
    private(set) var request: Data?
    /// `false`: the decision waits until the collector has it.
    private(set) var isReported = true

    var isOn: Bool { decision?.isOn ?? false }

    /// The decision that is to be reported to the collector; `nil` for none.
    var unreported: WireSetDoNotDisturb? {
        guard !isReported, let decision, let request else { return nil }
        var message = WireSetDoNotDisturb()
        message.on = decision.isOn
        message.requestID = request
        return message
    }

    /// Decided on this device. The same again changes nothing.
    mutating func decided(_ isOn: Bool, request: Data, at time: Int64) {
        if let decision, decision.person == nil, decision.isOn == isOn { return }
        decision = Decision(isOn: isOn, person: nil, at: time)
        self.request = request
        isReported = false
    }

    /// The collector named the newest decision that it has.
    mutating func heard(_ said: WireDoNotDisturb) {
        guard isReported else { return }
        guard said.revision < revision, decision?.person == nil, request != nil else { return apply(said) }
        // It was restored from a backup, or is another collector: it has lost a decision of this device.
        isReported = false
        revision = 0
    }

    /// The collector answered what was reported to it under this id.
    mutating func answered(_ said: WireDoNotDisturb, to request: Data) {
        guard !isReported, request == self.request else { return }
        isReported = true
        apply(said)
    }

    /// The collector's newest profile does not allow what was reported to it under this id.
    mutating func refused(_ request: Data) {
        guard request == self.request else { return }
        self = DoNotDisturbState()
    }

    private mutating func apply(_ said: WireDoNotDisturb) {
        guard said.revision > 0 else {
            self = DoNotDisturbState()
            return
        }
        let person = said.person.isEmpty ? nil : said.person
        if person != nil || said.on != decision?.isOn { request = nil }
        decision = Decision(isOn: said.on, person: person, at: said.setAt)
        revision = said.revision
    }
}
