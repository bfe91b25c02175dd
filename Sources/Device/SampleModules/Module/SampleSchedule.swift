/// When each module samples next. A value without a clock: the time since boot goes in, what is due comes out.
///
/// Slots lie at fixed distances from the schedule's start, so that late wake-ups do not add up, and modules whose
/// intervals are multiples of each other share their slots. A module is due once however many of its slots have passed
/// (suspend, a busy machine): missed slots are skipped, not replayed.
///
/// - Parameter Module: what is scheduled; its order is the order in which modules due together are sampled.
package struct SampleSchedule<Module: Hashable & Comparable & Sendable>: Sendable {
    /// Slots this close after a wake-up are served with it, so that timers that fire early do not wake the machine
    /// twice.
    package static var toleranceMicroseconds: UInt64 { 20_000 }

    /// What a step says to do.
    package struct Step: Sendable, Equatable {
        /// To be sampled now, in the modules' order.
        package var due: [Module]
        /// When to step again, in microseconds since boot; `nil` with no modules.
        package var wakeAt: UInt64?
    }

    private struct Entry: Sendable {
        var interval: SampleInterval
        var next: UInt64
    }

    private var start: UInt64
    private var last: UInt64
    private var entries: [Module: Entry]

    /// All modules are due at once at the start.
    package init(intervals: [Module: SampleInterval], now: UInt64) {
        start = now
        last = now
        entries = intervals.mapValues { Entry(interval: $0, next: now) }
    }

    /// Passes to `now`: takes what is due and plans its next slot.
    ///
    /// - Parameter now: microseconds since boot. It does not go back while the machine runs; if it does all the same (a
    ///   restored machine image), the slots start anew from here instead of waiting for the old ones.
    package mutating func step(now: UInt64) -> Step {
        if now < last {
            start = now
            entries = entries.mapValues { Entry(interval: $0.interval, next: now) }
        }
        last = now
        var due: [Module] = []
        for (name, entry) in entries where entry.next <= Self.adding(now, Self.toleranceMicroseconds) {
            due.append(name)
            let next = slot(after: max(now, entry.next), every: entry.interval)
            entries[name] = Entry(interval: entry.interval, next: next)
        }
        return Step(due: due.sorted(), wakeAt: entries.values.map(\.next).min())
    }

    /// Takes over other intervals at run time: new modules are due at once, changed ones in the first slot of their new
    /// interval, unchanged ones as before.
    package mutating func replace(intervals: [Module: SampleInterval], now: UInt64) {
        let old = entries
        entries = [:]
        for (name, interval) in intervals {
            switch old[name] {
            case nil: entries[name] = Entry(interval: interval, next: now)
            case .some(let entry) where entry.interval == interval: entries[name] = entry
            case .some: entries[name] = Entry(interval: interval, next: slot(after: max(now, start), every: interval))
            }
        }
    }

    private func slot(after time: UInt64, every interval: SampleInterval) -> UInt64 {
        let passed = time - start
        let ahead = interval.microseconds - passed % interval.microseconds
        return Self.adding(time, ahead)
    }

    private static func adding(_ time: UInt64, _ more: UInt64) -> UInt64 {
        let (sum, overflow) = time.addingReportingOverflow(more)
        return overflow ? .max : sum
    }
}

/// How far apart a module's samples are: 1 s to 366 days.
package struct SampleInterval: Sendable, Hashable {
    package static let least = 1.0
    /// Bounds the arithmetic; whoever wants fewer samples switches the module off.
    package static let greatest = 366.0 * 86_400

    package let microseconds: UInt64

    /// - Throws: `invalidInterval` for what is not finite or outside the bounds; never rounds up or down to them.
    package init(seconds: Double) throws(SampleModuleError) {
        guard seconds.isFinite, seconds >= Self.least, seconds <= Self.greatest else {
            throw SampleModuleError(
                code: .invalidInterval,
                message:
                    "A sample interval of \(seconds) s is not possible; give \(Self.least) to \(Self.greatest) seconds."
            )
        }
        microseconds = UInt64((seconds * 1_000_000).rounded())
    }
}
