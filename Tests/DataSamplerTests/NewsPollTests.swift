import Testing

@testable import DataSampler

@Suite struct NewsPollTests {
    private static let second: UInt64 = 1_000_000

    @Test(
        arguments: [
            (nil, .seconds(300), 900), (60, .seconds(1), 60), (600, .seconds(300), 600), (86_400, .seconds(300), 900),
            // Never less than a beacon schedule's least, and never more often than the device transmits.
            (1, .seconds(1), 60), (.nan, .seconds(1), 60), (60, .seconds(300), 300), (nil, .seconds(3600), 3600),
            (600, .seconds(86_400), 86_400),
        ] as [(Double?, Duration, UInt64)])
    func `The interval is the beacon's, 15 min at most, and the transmit interval at least`(
        beacon: Double?, transmit: Duration, seconds: UInt64
    ) {
        #expect(
            NewsPoll.interval(beaconInterval: beacon, transmitInterval: transmit, slowdown: 1) == seconds * Self.second)
        #expect(
            NewsPoll.interval(beaconInterval: beacon, transmitInterval: transmit, slowdown: 2.5) == seconds
                * Self.second * 5 / 2)
    }

    @Test func `It is asked once an interval after the last that was heard, and no sooner`() {
        let interval = 900 * Self.second
        var poll = NewsPoll(now: 0)
        #expect(poll.pause(interval: interval, now: 0) == interval)
        poll.heard(at: 100)
        let early = poll.reached(99 + interval, interval: interval, .init())
        #expect(!early && poll.pause(interval: interval, now: 99 + interval) == 1)
        let due = poll.reached(100 + interval, interval: interval, .init())
        let again = poll.reached(100 + interval, interval: interval, .init())
        #expect(due && !again, "one question, whether it is answered or not")
        #expect(poll.pause(interval: interval, now: 100 + interval) == interval)
        // An answer that was on its way for long does not bring the next question forward.
        poll.heard(at: 50)
        #expect(poll.pause(interval: interval, now: 100 + interval) == interval)
        // A shorter interval counts from when something was last heard.
        #expect(poll.pause(interval: 1, now: 100 + interval + 1) == 0)
    }

    @Test(
        arguments: [
            (.init(), true), (.init(isEnrolled: false), false), (.init(isLeaving: true), false),
            (.init(isTelemetryDisabled: true), false),
            (.init(isOffline: true), false),
        ] as [(NewsPoll.Circumstances, Bool)])
    func `Nobody asks who is not enrolled, leaves, is switched off or offline; the next look is an interval later`(
        circumstances: NewsPoll.Circumstances, asks: Bool
    ) {
        var poll = NewsPoll(now: 0)
        let asked = poll.reached(Self.second, interval: Self.second, circumstances)
        #expect(asked == asks)
        #expect(poll.pause(interval: Self.second, now: Self.second) == Self.second)
    }

    @Test func `After a ring it is asked at once, at most once a second, and many rings are one`() {
        let interval = 900 * Self.second
        var poll = NewsPoll(now: 0)
        func asks(_ now: UInt64) -> Bool { poll.reached(now, interval: interval, .init()) }
        poll.rang()
        #expect(poll.pause(interval: interval, now: 5) == 0)
        #expect(asks(5) && !asks(5))
        #expect(poll.pause(interval: interval, now: 5) == interval)
        poll.rang()
        poll.rang()
        // What was on its way when it rang settles nothing.
        poll.heard(at: 6)
        #expect(poll.pause(interval: interval, now: 6) == Self.second - 1)
        #expect(!asks(6) && asks(5 + Self.second) && !asks(5 + 2 * Self.second))
    }

    @Test(
        arguments: [
            (.init(isTelemetryDisabled: true), true), (.init(isOffline: true), true),
            (.init(isEnrolled: false), false), (.init(isLeaving: true), false),
        ] as [(NewsPoll.Circumstances, Bool)])
    func `A ring is heard while telemetry is switched off, and not by a device that is not enrolled`(
        circumstances: NewsPoll.Circumstances, asks: Bool
    ) {
        var poll = NewsPoll(now: 0)
        poll.rang()
        let asked = poll.reached(1, interval: Self.second, circumstances)
        #expect(asked == asks)
        #expect(poll.pause(interval: Self.second, now: 1) == Self.second, "the ring is settled")
    }
}
