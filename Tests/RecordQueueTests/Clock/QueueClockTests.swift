import Testing
import WireModel

@testable import RecordQueue

@Suite("Queue clock")
struct QueueClockTests {
    static let boot = BootID(high: 1, low: 1)
    static let other = BootID(high: 2, low: 2)
    static let hour: Int64 = 3600 * 1_000_000

    struct Case: Sendable, CustomTestStringConvertible {
        var testDescription: String
        var wall: Int64
        var boot: BootID?
        var sinceBoot: UInt64
        var advanced: Int64
        var resumed: Int64
        var anchorBoot: BootID? = QueueClockTests.boot
    }

    /// The anchor: wall 100 h, 10 h since boot, queue time 50 h.
    static let cases = [
        Case(
            testDescription: "an hour passes", wall: 101 * hour, boot: boot, sinceBoot: UInt64(11 * hour),
            advanced: hour, resumed: hour),
        Case(
            testDescription: "the wall clock jumps a year ahead", wall: 9000 * hour, boot: boot,
            sinceBoot: UInt64(11 * hour),
            advanced: hour, resumed: hour),
        Case(
            testDescription: "the wall clock is set back", wall: 0, boot: boot, sinceBoot: UInt64(11 * hour),
            advanced: hour, resumed: hour),
        Case(
            testDescription: "a reboot within two hours", wall: 102 * hour, boot: other, sinceBoot: 5,
            advanced: 2 * hour, resumed: 2 * hour
        ),
        Case(
            testDescription: "a reboot after a week", wall: 268 * hour, boot: other, sinceBoot: 5, advanced: 24 * hour,
            resumed: 24 * hour),
        Case(
            testDescription: "a reboot with the clock set back", wall: 1 * hour, boot: other, sinceBoot: 5, advanced: 0,
            resumed: 0),
        Case(
            testDescription: "no boot id: a running process is in one boot, a new one need not be", wall: 103 * hour,
            boot: nil,
            sinceBoot: UInt64(11 * hour), advanced: hour, resumed: 3 * hour, anchorBoot: nil),
        Case(
            testDescription: "the boot id is gone", wall: 103 * hour, boot: nil, sinceBoot: UInt64(11 * hour),
            advanced: 3 * hour,
            resumed: 3 * hour),
        Case(
            testDescription: "the same boot with less time: a snapshot was restored", wall: 100 * hour, boot: boot,
            sinceBoot: 5,
            advanced: 0, resumed: 0),
        Case(
            testDescription: "absurd clocks", wall: .min, boot: other, sinceBoot: .max, advanced: 0, resumed: 0),
        Case(
            testDescription: "an absurd time since boot stays summable", wall: 0, boot: boot, sinceBoot: .max,
            advanced: QueueClock.greatestTime - 50 * hour, resumed: QueueClock.greatestTime - 50 * hour),
    ]

    @Test(arguments: cases)
    func `Time passes as the boot says, and across boots as the wall says, within a day`(_ row: Case) {
        let anchor = QueueClock(
            time: 50 * Self.hour,
            stamp: RecordStamp(wallTime: 100 * Self.hour, bootID: row.anchorBoot, timeSinceBoot: UInt64(10 * Self.hour))
        )
        let now = RecordStamp(wallTime: row.wall, bootID: row.boot, timeSinceBoot: row.sinceBoot)
        #expect(anchor.advanced(to: now).time - anchor.time == row.advanced)
        #expect(anchor.resumed(at: now).time - anchor.time == row.resumed)
        #expect(
            anchor.advanced(to: now).advanced(to: now).time == anchor.advanced(to: now).time, "no time passes twice")
    }

    @Test
    func `A record is as old as the time since boot says, and one of another boot is new`() {
        let clock = QueueClock(
            time: 50 * Self.hour,
            stamp: RecordStamp(wallTime: 0, bootID: Self.boot, timeSinceBoot: UInt64(10 * Self.hour)))
        func made(_ boot: BootID?, _ hours: UInt64) -> Int64 {
            clock.time(of: RecordStamp(wallTime: 77, bootID: boot, timeSinceBoot: hours * UInt64(Self.hour)))
        }
        #expect(made(Self.boot, 8) == 48 * Self.hour)
        #expect(made(Self.other, 8) == 50 * Self.hour)
        #expect(made(Self.boot, 12) == 50 * Self.hour)
    }
}
