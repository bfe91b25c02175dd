import TelemetryBasics

/// The collector's wall clock, injected: it names the day's file, so tests must be able to step it.
package protocol StoreClock: Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z. Cheap, and safe from any thread.
    func now() -> Int64
}

package struct SystemStoreClock: StoreClock {
    package init() {}

    package func now() -> Int64 { SystemClock.wallMicroseconds() }
}

/// The wall clock beside the machine's own count of time, at one moment.
package struct ClockReading: Equatable, Sendable, Codable {
    /// Microseconds since 1970.
    package var wall: Int64
    /// Microseconds since the machine was started, sleep included.
    package var sinceBoot: Int64
    /// Which start that was.
    package var bootID: String

    /// How far the wall clock has been set forward since a former reading, microseconds; `nil` where that cannot be
    /// told: the machine was started in between.
    package func step(since former: ClockReading) -> Int64? {
        guard bootID == former.bootID else { return nil }
        return (wall - former.wall) - (sinceBoot - former.sinceBoot)
    }
}

/// The machine's count of time since it was started, injected: a wall clock that is set forward is noticed by it alone.
package protocol BootClock: Sendable {
    /// Microseconds since the start, sleep included.
    func sinceBoot() -> Int64
    /// Other after every start of the machine.
    var bootID: String { get }
}

package struct SystemBootClock: BootClock {
    package let bootID = SystemClock.bootID() ?? ""

    package init() {}

    package func sinceBoot() -> Int64 { SystemClock.bootMicroseconds() }
}
