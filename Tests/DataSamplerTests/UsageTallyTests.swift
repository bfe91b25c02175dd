import Testing
import WireModel

@testable import DataSampler

@Suite struct UsageTallyTests {
    private let second: UInt64 = 1_000_000
    private let session = SessionID(high: 1, low: 1)
    private let other = SessionID(high: 2, low: 2)

    private func figures(_ epoch: String = "a", sent: UInt64 = 0, dropped: UInt64 = 0, held: UInt64 = 0) -> EventFigures
    {
        EventFigures(epoch: epoch, sent: sent, dropped: dropped, held: held)
    }

    @Test func `A sample reports what was since the last one, once`() {
        var tally = UsageTally()
        tally.launched()
        for _ in 1...3 { tally.eventRecorded() }
        let first = tally.sampled(at: 10 * second)
        #expect(first.launches == 1 && first.eventsRecorded == 3 && first.sessions == 0)
        #expect(!first.hasIntervalMicroseconds)
        let next = tally.sampled(at: 25 * second)
        #expect(next.launches == 0 && next.eventsRecorded == 0)
        #expect(next.intervalMicroseconds == 15 * second)
    }

    @Test func `Time in use is the sessions' time, cut at each sample and never counted twice`() {
        var tally = UsageTally()
        #expect(tally.sessionBegan(session, at: 5 * second) == session)
        #expect(tally.sampled(at: 15 * second).useMicroseconds == 10 * second)
        tally.sessionEnded(at: 18 * second)
        tally.sessionEnded(at: 30 * second)
        _ = tally.sessionBegan(other, at: 40 * second)
        tally.sessionEnded(at: 41 * second)
        let sample = tally.sampled(at: 60 * second)
        #expect(sample.useMicroseconds == 4 * second)
        #expect(sample.sessions == 1)
        #expect(tally.sampled(at: 70 * second).useMicroseconds == 0)
    }

    @Test func `A session that is open goes on when another begins`() {
        var tally = UsageTally()
        _ = tally.sessionBegan(session, at: 0)
        #expect(tally.sessionBegan(other, at: 10 * second) == session)
        let sample = tally.sampled(at: 20 * second)
        #expect(sample.sessions == 1 && sample.useMicroseconds == 20 * second)
    }

    @Test func `A clock that goes back adds nothing and takes nothing`() {
        var tally = UsageTally()
        _ = tally.sessionBegan(session, at: 100 * second)
        let sample = tally.sampled(at: 50 * second)
        #expect(sample.useMicroseconds == 0)
        #expect(tally.sampled(at: 101 * second).useMicroseconds == second)
    }

    @Test func `Figures of events are deltas of the queue's totals, and what is held is what is held now`() {
        var tally = UsageTally()
        tally.observed(figures(sent: 100, dropped: 7, held: 1))
        let first = tally.sampled(at: 0)
        #expect(first.eventsSent == 0 && first.eventsDropped == 0 && first.eventsHeld == 1)
        tally.observed(figures(sent: 105, dropped: 8, held: 4))
        let second = tally.sampled(at: 1)
        #expect(second.eventsSent == 5 && second.eventsDropped == 1 && second.eventsHeld == 4)
    }

    @Test func `A new epoch counts from zero, and a total that went back never gives an absurd delta`() {
        var tally = UsageTally()
        tally.observed(figures(sent: 100, dropped: 7))
        _ = tally.sampled(at: 0)
        tally.observed(figures("b", sent: 3, dropped: 1))
        let moved = tally.sampled(at: 1)
        #expect(moved.eventsSent == 3 && moved.eventsDropped == 1)
        tally.observed(figures("b", sent: 2, dropped: 1))
        let back = tally.sampled(at: 2)
        #expect(back.eventsSent == 2 && back.eventsDropped == 0)
    }

    @Test func `What no sample has reported goes on after a restart, and an open session is closed`() {
        var tally = UsageTally()
        tally.launched()
        tally.eventRecorded()
        _ = tally.sessionBegan(session, at: 0)
        let snapshot = tally.snapshot(orderly: false)
        #expect(snapshot.session == "\(session)")
        var next = UsageTally(snapshot)
        #expect(next.sessionID == nil)
        let sample = next.sampled(at: 500 * second)
        #expect(sample.launches == 1 && sample.sessions == 1 && sample.eventsRecorded == 1)
        #expect(sample.useMicroseconds == 0)
    }

    @Test
    func
        `Events sent between an orderly stop and the next first sample are reported; after a crash counting restarts`()
    {
        var tally = UsageTally()
        tally.observed(figures(sent: 10))
        _ = tally.sampled(at: 0)
        tally.observed(figures(sent: 14))
        for (orderly, expected) in [(true, 6), (false, 0)] as [(Bool, UInt64)] {
            var next = UsageTally(tally.snapshot(orderly: orderly))
            next.observed(figures(sent: 16))
            #expect(next.sampled(at: 1).eventsSent == expected)
        }
    }
}
