import DeviceTunables
import Testing
@testable import Transmitter

@Suite struct CloseRoundsTests {
    @Test func `A close is looked for once a pass until there is none`() {
        var rounds = CloseRounds()
        #expect(rounds.isDue(at: 0))
        rounds.foundNothing()
        #expect(!rounds.isDue(at: 1) && rounds.next == nil)
        rounds.passBegan()
        #expect(rounds.isDue(at: 1))
    }

    @Test func `Rounds that narrow follow at once, but not without end`() {
        var rounds = CloseRounds()
        for _ in 1..<Tunables.Transmission.greatestCloseRounds {
            rounds.narrowed(now: 0, roll: 1)
            #expect(rounds.isDue(at: 0))
        }
        rounds.narrowed(now: 0, roll: 1)
        #expect(!rounds.isDue(at: 0))
        #expect(rounds.next == 1_000_000)
        #expect(rounds.isDue(at: 1_000_000))
    }

    @Test func `Failures wait longer each time and as long as the collector asks`() {
        var rounds = CloseRounds()
        for seconds in [1, 2, 4] as [UInt64] {
            rounds.failed(after: nil, now: 0, roll: 1)
            #expect(rounds.next == seconds * 1_000_000)
        }
        rounds.failed(after: .seconds(60), now: 0, roll: 0)
        #expect(rounds.next ?? 0 >= 60_000_000)
        rounds.foundNothing()
        rounds.passBegan()
        rounds.failed(after: nil, now: 0, roll: 1)
        #expect(rounds.next == 1_000_000)
    }
}
