import Testing
import WireModel

@testable import RecordQueue

@Suite("What a closed epoch comes to")
struct CloseSettlementTests {
    /// Numbers 1...100: acknowledged to 20, dropped to 40, rows 41...60 and 71...100; 61...70 are lost.
    private static func ledger(_ change: (inout StreamLedger) -> Void = { _ in }) -> StreamLedger {
        var ledger = StreamLedger()
        ledger.last = 100
        ledger.mark = StreamMark(number: 20, stored: 20)
        ledger.gaps = [Gap(first: 21, last: 40, reason: .byteCap, link: .zero)]
        ledger.rowCount = 50
        change(&ledger)
        return ledger
    }

    private static func rows(above number: UInt64) -> UInt64 {
        UInt64(((41...60).map(UInt64.init) + (71...100).map(UInt64.init)).count { $0 > number })
    }

    private static func settle(
        _ ledger: StreamLedger, mark: UInt64, matched: UInt64?, _ end: EpochEnd, bound: UInt64? = nil,
        isUnknown: Bool = false
    ) throws -> CloseSettlement {
        var ledger = ledger
        ledger.closing = CloseSearch(matched: matched, bound: bound, isUnknown: isUnknown)
        let comparison = try CloseComparison(ledger, mark: StreamMark(number: mark, stored: mark), rowsAbove: rows)
        return try CloseSettlement(
            comparison, end: end, hasDiverged: CloseComparison.haveDiverged([comparison], end: end))
    }

    @Test
    func `Kept: every number above the common one is carried over once`() throws {
        func settle(_ mark: UInt64, _ matched: UInt64?, _ end: EpochEnd) throws -> CloseSettlement {
            try Self.settle(Self.ledger(), mark: mark, matched: matched, end)
        }
        var result = try settle(20, 20, .salvaged)
        #expect(
            result.keptAbove == 20 && result.carried == [.byteCap: 20, .salvage: 10]
                && result.final.dropped == [.moved: 80])
        result = try settle(30, 20, .salvaged)
        #expect(result.carried == [.byteCap: 10, .salvage: 10], "what arrived before it was dropped is stored")
        result = try settle(30, 20, .restored)
        #expect(result.carried == [.byteCap: 20, .unreadable: 10], "unless histories have diverged")
        result = try settle(50, 50, .restored)
        #expect(result.keptAbove == 50 && result.carried == [.unreadable: 10] && result.final.dropped == [.moved: 50])
        result = try settle(10, nil, .restored)
        #expect(
            result.carried == [.byteCap: 20, .unreadable: 10, .unverifiable: 10],
            "an older collector has lost what it had acknowledged")
        result = try settle(500, 20, .restored)
        #expect(result.final.number == 500 && result.final.dropped.isEmpty)
    }

    @Test(
        arguments: [
            // Nothing diverged: all that lies above the mark, under the reason.
            (20, 20, [:] as [DropReason: UInt64], 80),
            (50, 50, [:], 50),
            (100, 100, [:], 0),
            // The collector's mark is inside what was dropped before: it had arrived.
            (30, 20, [:], 70),
            // Another branch had sent up to 55: of ours 41...55 are dropped, and the gap was before the branches
            // diverged.
            (55, 40, [.wiped: 15], 45),
            // ... or before that: the gap is ours alone.
            (55, 20, [.byteCap: 20, .wiped: 15], 45),
            // ... or sent more than was ever made here.
            (500, 45, [.wiped: 55], 0),
            // An older collector than the one that acknowledged.
            (10, nil, [:], 90),
        ] as [(UInt64, UInt64?, [DropReason: UInt64], UInt64)])
    func
        `Given up: the close counts records above the mark, the device those that the collector has of another branch`(
            _ mark: UInt64, _ matched: UInt64?, _ carried: [DropReason: UInt64], _ closed: UInt64
        ) throws
    {
        for ledger in [Self.ledger(), Self.ledger { $0.abandon(.wiped) }] {
            let result = try Self.settle(ledger, mark: mark, matched: matched, .wiped)
            #expect(result.carried == carried)
            #expect(result.keptAbove == 100 && result.final.dropped == (closed > 0 ? [.wiped: closed] : [:]))
        }
    }

    @Test
    func
        `Wiped after its close was sent as moved: the close still says moved, and what was not stored is counted once`()
        throws
    {
        func settle(_ mark: UInt64, _ matched: UInt64?) throws -> CloseSettlement {
            try Self.settle(Self.ledger { $0.abandon(.wiped) }, mark: mark, matched: matched, .restored)
        }
        var result = try settle(50, 50)
        #expect(result.keptAbove == 100 && result.final.dropped == [.moved: 50] && result.carried == [.wiped: 50])
        result = try settle(55, 20)
        #expect(result.final.dropped == [.moved: 45] && result.carried == [.byteCap: 20, .wiped: 60])
        result = try settle(10, nil)
        #expect(
            result.final.dropped == [.moved: 90] && result.carried == [.byteCap: 20, .wiped: 60, .unverifiable: 10])
    }

    @Test
    func `Where retention removed what could tell, what the collector may have is unverifiable, and no more than that`()
        throws
    {
        let wiped = Self.ledger { $0.abandon(.wiped) }
        var result = try Self.settle(wiped, mark: 55, matched: nil, .wiped, bound: 56, isUnknown: true)
        #expect(result.carried == [.byteCap: 20, .unverifiable: 15] && result.final.dropped == [.wiped: 45])
        result = try Self.settle(wiped, mark: 55, matched: nil, .restored, bound: 56, isUnknown: true)
        #expect(
            result.carried == [.byteCap: 20, .unverifiable: 15, .wiped: 45] && result.final.dropped == [.moved: 45])
        result = try Self.settle(Self.ledger(), mark: 55, matched: nil, .restored, bound: 56, isUnknown: true)
        #expect(result.keptAbove == 55 && result.carried == [.byteCap: 20, .unverifiable: 15, .unreadable: 10])
    }

    @Test
    func `A stream that shows that histories have diverged shows it for the others, but for a corrupt file's`() throws {
        func comparison(_ mark: UInt64, _ matched: UInt64?) throws -> CloseComparison {
            let ledger = Self.ledger { $0.closing.matched = matched }
            return try CloseComparison(ledger, mark: StreamMark(number: mark, stored: mark), rowsAbove: Self.rows)
        }
        let hidden = try comparison(30, 20)
        for end in EpochEnd.allCases {
            #expect(CloseComparison.haveDiverged([hidden, try comparison(50, 50)], end: end) == (end == .restored))
            #expect(CloseComparison.haveDiverged([hidden, try comparison(50, 45)], end: end) == (end != .salvaged))
        }
        #expect(try CloseSettlement(hidden, end: .wiped, hasDiverged: true).carried == [.byteCap: 10])
    }
}
