import Testing
import WireModel

@testable import RecordQueue

@Suite("The search for the last common number")
struct ClosePlanTests {
    @Test(
        "Places are spread evenly, the first and the last among them, and never more than asked",
        arguments: [1, 2, 7, 999, 1000, 1001, 5000, 1_000_000])
    func targets(_ count: UInt64) {
        let targets = ClosePlan.targets(10..<10 + count, points: 1000)
        #expect(targets.first == 10 && targets.last == 9 + count && targets.count <= 1001)
        #expect(zip(targets, targets.dropFirst()).allSatisfy { $0 < $1 && $1 - $0 <= max(1, (count + 999) / 1000) })
        #expect(ClosePlan.targets(5..<5, points: 10).isEmpty)
    }

    @Test(
        "A million numbers take three rounds at most, wherever histories part",
        arguments: [1, 2, 999, 1000, 1001, 499_999, 999_999, 1_000_000] as [UInt64])
    func rounds(_ common: UInt64) {
        var ledger = StreamLedger()
        ledger.last = 1_000_000
        for mark in [common, common + 1, 1_000_000, 2_000_000] {
            ledger.closing = CloseSearch()
            var rounds = 0
            while !ClosePlan.open(ledger).filter({ $0 > 0 }).isEmpty, rounds < 10 {
                let open = ClosePlan.open(ledger)
                let offered = ClosePlan.targets(max(1, open.lowerBound)..<open.upperBound, points: 999)
                let answer = ClosePlan.Answer(
                    mark: StreamMark(number: mark, stored: mark), matched: offered.last { $0 <= common }, isUnknown: false)
                ledger.closing = ClosePlan.next(ledger.closing, offered: offered, answer: answer)
                rounds += 1
            }
            #expect(rounds <= 3 && ledger.closing.matched == common, "mark \(mark): \(rounds) rounds, \(ledger.closing)")
        }
    }

    @Test("What a closed epoch comes to: every number above the common one is carried over once")
    func settlement() {
        var ledger = StreamLedger()
        ledger.last = 100
        ledger.mark = StreamMark(number: 20, stored: 20)
        ledger.gaps = [Gap(first: 21, last: 40, reason: .byteCap, link: .zero)]
        // Rows 41...60 and 71...100: 61...70 are lost.
        ledger.rowCount = 50
        func rows(_ above: UInt64) -> UInt64 { UInt64(((41...60).map(UInt64.init) + (71...100).map(UInt64.init)).count { $0 > above }) }
        func settle(_ mark: UInt64, _ matched: UInt64?, _ end: EpochEnd) -> CloseSettlement {
            CloseSettlement(
                ledger, end: end, mark: StreamMark(number: mark, stored: mark), matched: matched, isUnknown: false, rowsAbove: rows)
        }
        var result = settle(20, 20, .salvaged)
        #expect(result.keptAbove == 20 && result.carried == [.byteCap: 20, .salvage: 10] && result.final.dropped == [.moved: 80])
        result = settle(30, 20, .salvaged)
        #expect(result.carried == [.byteCap: 10, .salvage: 10], "what arrived before it was dropped is stored")
        result = settle(30, 20, .restored)
        #expect(result.carried == [.byteCap: 20, .unreadable: 10], "unless histories have parted")
        result = settle(50, 50, .restored)
        #expect(result.keptAbove == 50 && result.carried == [.unreadable: 10] && result.final.dropped == [.moved: 50])
        result = settle(10, nil, .restored)
        #expect(
            result.carried == [.byteCap: 20, .unreadable: 10, .unverifiable: 10], "an older collector has lost what it had acknowledged")
        result = settle(500, 20, .restored)
        #expect(result.final.number == 500 && result.final.dropped.isEmpty)
        result = settle(30, nil, .wiped)
        #expect(result.keptAbove == 100 && result.carried.isEmpty && result.final.dropped == [.wiped: 70])
    }
}
