import Testing
import WireModel

@testable import RecordQueue

@Suite("The search for the last common number")
struct ClosePlanTests {
    @Test(arguments: [1, 2, 7, 999, 1000, 1001, 5000, 1_000_000])
    func `Places are spread evenly, the first and the last among them, and never more than asked`(_ count: UInt64) {
        let targets = ClosePlan.targets(10..<10 + count, points: 1000)
        #expect(targets.first == 10 && targets.last == 9 + count && targets.count <= 1001)
        #expect(zip(targets, targets.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 <= max(1, (count + 999) / 1000) })
        #expect(ClosePlan.targets(5..<5, points: 10).isEmpty)
    }

    @Test(arguments: [1, 2, 999, 1000, 1001, 499_999, 999_999, 1_000_000] as [UInt64])
    func `A million numbers take three rounds at most, wherever histories part`(_ common: UInt64) {
        var ledger = StreamLedger()
        ledger.last = 1_000_000
        for mark in [common, common + 1, 1_000_000, 2_000_000] {
            ledger.closing = CloseSearch()
            var rounds = 0
            while !ClosePlan.open(ledger).filter({ $0 > 0 }).isEmpty, rounds < 10 {
                let open = ClosePlan.open(ledger)
                let offered = ClosePlan.targets(max(1, open.lowerBound)..<open.upperBound, points: 999)
                let answer = ClosePlan.Answer(
                    mark: StreamMark(number: mark, stored: mark), matched: offered.last { $0 <= common },
                    isUnknown: false)
                ledger.closing = ClosePlan.next(ledger.closing, offered: offered, answer: answer)
                rounds += 1
            }
            #expect(
                rounds <= 3 && ledger.closing.matched == common, "mark \(mark): \(rounds) rounds, \(ledger.closing)")
        }
    }
}
