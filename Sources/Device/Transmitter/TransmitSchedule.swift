import WireModel

/// When the next pass is due, and whether samples go with it. Times are microseconds since boot, counting suspend, so that after a resume an
/// overdue pass is made at once.
///
/// The streams are first-in first-out, so one module's records cannot overtake another's: a module's transmit interval is the longest time its
/// records wait, not the shortest. Samples go when the interval of any module that has recorded since the last time is over; with them goes what
/// the others have. A pass that has no reason to take samples leaves them: a fleet that samples every minute and transmits every hour wakes its
/// radio once an hour, even if its events go every five minutes.
package struct TransmitSchedule: Sendable {
    private var lastPass: UInt64?
    private var lastSamples: UInt64?
    private var recorded: Set<String> = []
    /// A pass was cut short: the next one, whatever it is made for, takes samples. When that is, is not this one's to say.
    private var isOwed = false
    /// Whether anybody says what was recorded; otherwise samples may always be there.
    private var isTold = false

    package init() {}

    /// A module's record was queued.
    /// - Returns: whether that is news since samples last went.
    package mutating func recorded(by module: String) -> Bool {
        isTold = true
        return recorded.insert(module).inserted
    }

    /// A pass begins.
    /// - Returns: whether samples go with it.
    package mutating func passBegan(_ settings: TransmitterSettings, isUrgent: Bool, now: UInt64) -> Bool {
        let takesSamples = isUrgent || isOwed || samplesDue(settings).map { now >= $0 } ?? false
        lastPass = now
        if takesSamples {
            lastSamples = now
            recorded = []
            isOwed = false
        }
        return takesSamples
    }

    /// The pass that took samples was cut short, or could not send all: what is left goes with the next pass.
    package mutating func passWasCut() { isOwed = true }

    /// When the next pass is due.
    package func nextPass(_ settings: TransmitterSettings, now: UInt64) -> UInt64 {
        let regular = (lastPass ?? now) &+ settings.pause(of: nil)
        return min(regular, samplesDue(settings) ?? regular)
    }

    /// `nil`: no module has recorded anything.
    private func samplesDue(_ settings: TransmitterSettings) -> UInt64? {
        // Nothing went yet.
        guard let lastSamples else { return 0 }
        guard isTold, !settings.moduleIntervals.isEmpty else { return lastSamples &+ settings.pause(of: nil) }
        return recorded.map { lastSamples &+ settings.pause(of: $0) }.min()
    }
}

extension TransmitterSettings {
    /// Microseconds between two passes, for a module's sake or (`nil`) for anything else's.
    fileprivate func pause(of module: String?) -> UInt64 {
        let interval = module.flatMap { moduleIntervals[$0] } ?? transmitInterval
        return (interval * (slowdown >= 1 ? min(slowdown, 1000) : 1)).wholeMicroseconds
    }
}
