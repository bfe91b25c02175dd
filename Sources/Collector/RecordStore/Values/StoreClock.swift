import TelemetryBasics
import WireModel

/// The collector's wall clock. It determines the day's file, so tests must be able to set it.
package protocol StoreClock: Sendable {
    /// Microseconds since 1970-01-01T00:00:00Z. Cheap, and safe from any thread.
    func now() -> Int64
}

package struct SystemStoreClock: StoreClock {
    package init() {}

    package func now() -> Int64 { SystemClock.wallMicroseconds() }
}

/// The wall clock and the machine's time since boot at one moment.
package struct ClockReading: Equatable, Sendable, Codable {
    /// Microseconds since 1970.
    package var wall: Int64
    /// Microseconds since boot, including sleep.
    package var sinceBoot: Int64
    /// Identifies the boot.
    package var bootID: String

    package init(wall: Int64, sinceBoot: Int64, bootID: String) {
        self.wall = wall
        self.sinceBoot = sinceBoot
        self.bootID = bootID
    }

    /// How far the wall clock was set forward since a former reading, in microseconds; `nil` if unknown because the
    /// machine was booted in between.
    package func step(since former: ClockReading) -> Int64? {
        guard bootID == former.bootID else { return nil }
        return wall.subtractingSaturating(former.wall)
            .subtractingSaturating(sinceBoot.subtractingSaturating(former.sinceBoot))
    }
}

/// The machine's time since boot. Only this reveals that the wall clock was set forward.
package protocol BootClock: Sendable {
    /// Microseconds since boot, including sleep.
    func sinceBoot() -> Int64
    /// Different after every boot.
    var bootID: String { get }
}

package struct SystemBootClock: BootClock {
    package let bootID = SystemClock.bootID() ?? ""

    package init() {}

    package func sinceBoot() -> Int64 { SystemClock.bootMicroseconds() }
}
