import Testing

@testable import SampleModules

@Suite("Sample schedule")
struct SampleScheduleTests {
    private static let second: UInt64 = 1_000_000

    private static func schedule(_ intervals: [SampleModuleName: Double], at now: UInt64) throws -> SampleSchedule<
        SampleModuleName
    > {
        SampleSchedule(intervals: try intervals.mapValues { try SampleInterval(seconds: $0) }, now: now)
    }

    @Test(
        arguments: [
            0, -1, 0.999, .nan, .infinity, -.infinity, 1e12,
        ] as [Double])
    func `an interval that is not finite, not positive or under a second is refused`(seconds: Double) {
        #expect(
            #expect(throws: SampleModuleError.self) { try SampleInterval(seconds: seconds) }?.code == .invalidInterval)
    }

    @Test
    func `late wake-ups do not add up`() throws {
        var schedule = try Self.schedule([.system: 1], at: 500)
        var wake = 500 as UInt64
        for count in 0..<1_000 {
            let step = schedule.step(now: wake + 3_000)
            #expect(step.due == [.system])
            wake = try #require(step.wakeAt)
            #expect(wake == 500 + UInt64(count + 1) * Self.second)
        }
    }

    @Test
    func `modules due together wake the machine once`() throws {
        var schedule = try Self.schedule([.system: 2, .gps: 3, .wlan2: 6], at: 0)
        #expect(schedule.step(now: 0) == .init(due: [.system, .gps, .wlan2], wakeAt: 2 * Self.second))
        #expect(schedule.step(now: 2 * Self.second) == .init(due: [.system], wakeAt: 3 * Self.second))
        #expect(schedule.step(now: 3 * Self.second) == .init(due: [.gps], wakeAt: 4 * Self.second))
        #expect(schedule.step(now: 4 * Self.second) == .init(due: [.system], wakeAt: 6 * Self.second))
        #expect(schedule.step(now: 6 * Self.second) == .init(due: [.system, .gps, .wlan2], wakeAt: 8 * Self.second))
    }

    @Test
    func `a wake-up a little early serves its slot, and a spurious one does nothing`() throws {
        var schedule = try Self.schedule([.system: 1], at: 0)
        _ = schedule.step(now: 0)
        #expect(schedule.step(now: 990_000) == .init(due: [.system], wakeAt: 2 * Self.second))
        #expect(schedule.step(now: 1_500_000) == .init(due: [], wakeAt: 2 * Self.second))
    }

    @Test
    func `slots missed in suspend are skipped, not replayed`() throws {
        var schedule = try Self.schedule([.system: 10], at: 0)
        _ = schedule.step(now: 0)
        #expect(schedule.step(now: 3_604 * Self.second) == .init(due: [.system], wakeAt: 3_610 * Self.second))
        #expect(schedule.step(now: 3_605 * Self.second).due.isEmpty)
    }

    @Test
    func `a clock that went back starts the slots anew instead of waiting for the old ones`() throws {
        var schedule = try Self.schedule([.system: 10], at: 1_000 * Self.second)
        _ = schedule.step(now: 1_000 * Self.second)
        #expect(schedule.step(now: 5 * Self.second) == .init(due: [.system], wakeAt: 15 * Self.second))
    }

    @Test
    func `other intervals at run time: new at once, changed in their first slot, unchanged as before, gone never`()
        throws
    {
        var schedule = try Self.schedule([.system: 10, .gps: 4, .wlan2: 7], at: 0)
        _ = schedule.step(now: 0)
        let intervals = try [SampleModuleName.system: 10, .gps: 3, .analytics: 60].mapValues {
            try SampleInterval(seconds: $0)
        }
        schedule.replace(intervals: intervals, now: Self.second)
        #expect(schedule.step(now: Self.second) == .init(due: [.analytics], wakeAt: 3 * Self.second))
        #expect(schedule.step(now: 3 * Self.second).due == [.gps])
        #expect(schedule.step(now: 10 * Self.second).due == [.system, .gps])
    }

    @Test
    func `without modules there is nothing to wake for`() throws {
        var schedule = try Self.schedule([:], at: 0)
        #expect(schedule.step(now: 5) == .init(due: [], wakeAt: nil))
    }
}
