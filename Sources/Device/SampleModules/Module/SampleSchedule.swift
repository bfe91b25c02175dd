/// Decides when each module samples next. A value without a clock: the time since boot goes in, the due modules come
/// out.
///
/// Slots lie at fixed distances from the schedule's start. Late wake-ups therefore do not add up, and modules whose
/// intervals are multiples of each other share slots. If several slots of a module passed (suspend, a busy machine), it
/// is due once: missed slots are skipped, not replayed.
///
/// - Parameter Module: what is scheduled. Modules due together are sampled in the order of this type.
package struct SampleSchedule<Module: Hashable & Comparable & Sendable>: Sendable {
    /// A slot this soon after a wake-up is served with it, so a timer that fires early does not wake the machine twice.
    package static var toleranceMicroseconds: UInt64 { 20_000 }

    /// The result of a step.
    package struct Step: Sendable, Equatable {
        /// The modules to sample now, in order.
        package var due: [Module]
        /// When to step again, in microseconds since boot; `nil` if there are no modules.
        package var wakeAt: UInt64?
    }

    private struct Entry: Sendable {
        var interval: SampleInterval
        var next: UInt64
    }

    private var start: UInt64
    private var last: UInt64
    private var entries: [Module: Entry]

    /// Creates a schedule in which all modules are due at the start.
    package init(intervals: [Module: SampleInterval], now: UInt64) {
        start = now
        last = now
        entries = intervals.mapValues { Entry(interval: $0, next: now) }
    }

    /// Advances to `now`: returns what is due and plans the next slots.
    ///
    /// - Parameter now: microseconds since boot. If it goes back nevertheless (a restored machine image), the slots
    ///   start again from here.
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

    /// Replaces the intervals at run time. New modules are due at once, changed ones in the first slot of their new
    /// interval, and unchanged ones as before.
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

/// The time between a module's samples: 1 s to 366 days.
package struct SampleInterval: Sendable, Hashable {
    package static let least = 1.0
    /// Bounds the arithmetic. To sample less often, switch the module off.
    package static let greatest = 366.0 * 86_400

    package let microseconds: UInt64

    /// - Throws: `invalidInterval` if it is not finite or out of range. Nothing is rounded to the range.
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
