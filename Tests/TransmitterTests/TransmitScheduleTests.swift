import Testing
@testable import Transmitter
import WireModel

@Suite struct TransmitScheduleTests {
    private static let second: UInt64 = 1_000_000

    private func settings(_ modules: [String: Duration] = [:], slowdown: Double = 1) -> TransmitterSettings {
        var settings = TransmitterSettings(transmitInterval: .seconds(300))
        settings.moduleIntervals = modules
        settings.slowdown = slowdown
        return settings
    }

    @Test func `Without intervals of their own, samples go with every pass`() {
        var schedule = TransmitSchedule()
        for pass in 1...5 as ClosedRange<UInt64> {
            let now = pass * 300 * Self.second
            #expect(schedule.passBegan(settings(), isUrgent: false, now: now) == true)
            #expect(schedule.nextPass(settings(), now: now) == now + 300 * Self.second)
        }
    }

    @Test func `A module with a shorter interval is sent by that, and only if it has recorded`() {
        var schedule = TransmitSchedule()
        let settings = settings(["fast": .seconds(10)])
        let isNews = schedule.recorded(by: "slow")
        #expect(isNews)
        #expect(schedule.passBegan(settings, isUrgent: false, now: 0) == true, "whatever a former run left")
        #expect(
            schedule.nextPass(settings, now: 0) == 300 * Self.second,
            "nothing recorded: woken by the regular interval alone")
        let again = (schedule.recorded(by: "fast"), schedule.recorded(by: "fast"))
        #expect(again == (true, false))
        #expect(schedule.nextPass(settings, now: Self.second) == 10 * Self.second)
        #expect(schedule.passBegan(settings, isUrgent: false, now: 10 * Self.second) == true)
    }

    @Test func `A module with a longer interval keeps its samples from a pass made for others`() {
        var schedule = TransmitSchedule()
        let settings = settings(["slow": .seconds(3600)])
        _ = schedule.recorded(by: "slow")
        _ = schedule.passBegan(settings, isUrgent: false, now: 0)
        _ = schedule.recorded(by: "slow")
        var passes: [UInt64] = []
        var now: UInt64 = 0
        while now < 2 * 3600 * Self.second {
            now = schedule.nextPass(settings, now: now)
            if schedule.passBegan(settings, isUrgent: false, now: now) {
                passes.append(now / Self.second)
                _ = schedule.recorded(by: "slow")
            }
        }
        #expect(passes == [3600, 7200])
    }

    @Test func `An urgent pass sends everything, and one cut short is made up for`() {
        var schedule = TransmitSchedule()
        let settings = settings(["slow": .seconds(3600)])
        _ = schedule.recorded(by: "slow")
        _ = schedule.passBegan(settings, isUrgent: false, now: 0)
        #expect(schedule.passBegan(settings, isUrgent: true, now: 1) == true)
        #expect(schedule.passBegan(settings, isUrgent: false, now: 2) == false)
        schedule.passWasCut()
        #expect(schedule.passBegan(settings, isUrgent: false, now: 3) == true)
    }

    @Test func `Where nobody says what was recorded, samples go with every pass`() {
        var schedule = TransmitSchedule()
        let settings = settings(["slow": .seconds(3600)])
        #expect(schedule.passBegan(settings, isUrgent: false, now: 0) == true)
        #expect(schedule.passBegan(settings, isUrgent: false, now: 300 * Self.second) == true)
    }

    @Test(arguments: [(2.0, 600.0), (1.5, 450), (0.5, 300), (0, 300), (.infinity, 300_000), (.nan, 300)])
    func `A slowdown stretches the interval, and nothing shortens it`(slowdown: Double, seconds: Double) {
        var schedule = TransmitSchedule()
        let settings = settings(slowdown: slowdown)
        _ = schedule.passBegan(settings, isUrgent: false, now: 0)
        #expect(schedule.nextPass(settings, now: 0) == UInt64(seconds) * Self.second)
    }

    @Test func `After a suspend, an overdue pass is due at once`() {
        var schedule = TransmitSchedule()
        _ = schedule.passBegan(settings(), isUrgent: false, now: 0)
        let resumed: UInt64 = 8 * 3600 * Self.second
        #expect(schedule.nextPass(settings(), now: resumed) <= resumed)
    }
}
