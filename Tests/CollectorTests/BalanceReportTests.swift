import CollectorAPI
import Foundation
import RecordStore
import Testing
import WireModel

@testable import Collector

@Suite("The balance of a fleet")
struct BalanceReportTests {
    private static func epoch(_ mark: StreamMark, rows: UInt64, totals: StreamTotals, waiting: UInt64 = 0)
        -> EpochBalance
    {
        EpochBalance(
            epoch: EpochID(high: 1, low: 1), stream: .event, mark: mark, storedRows: rows, totals: totals,
            closed: false,
            balance: StreamBalance(
                produced: max(mark.number, totals.produced), stored: rows, rejected: mark.rejected,
                dropped: mark.dropped,
                lostAtCollector: mark.lostAtCollector, waiting: waiting))
    }

    private static let honest = (
        device: DeviceID(high: 0, low: 1),
        epochs: [
            epoch(
                StreamMark(number: 10, stored: 8, dropped: [.byteCap: 2]), rows: 8, totals: StreamTotals(produced: 12),
                waiting: 2)
        ]
    )
    private static let liar = (
        device: DeviceID(high: 0, low: 2),
        epochs: [
            epoch(
                StreamMark(number: 3, stored: 3), rows: 3, totals: StreamTotals(produced: .max - 3, waiting: .max),
                waiting: .max)
        ]
    )
    private static let harmed = (
        device: DeviceID(high: 0, low: 3),
        epochs: [epoch(StreamMark(number: 3, stored: 3), rows: 2, totals: StreamTotals(produced: 3))]
    )

    @Test func `A device that lies fails for itself alone`() throws {
        let fleet = BalanceReport([Self.honest, Self.liar], isFleet: true)
        #expect(fleet.closes && fleet.streams.map(\.closes) == [true, false])
        #expect(fleet.findings.map(\.code) == [.deviceClaims] && fleet.findings[0].device == "\(Self.liar.device)")
        #expect(fleet.findings[0].message.contains("\(UInt64.max - 3)"))
        #expect(fleet.totals.streams == 1 && fleet.totals.leftOut == 1)
        #expect(
            fleet.totals.produced == 12 && fleet.totals.stored == 8 && fleet.totals.dropped == 2
                && fleet.totals.waiting == 2)
        #expect(!BalanceReport([Self.liar]).closes, "asked for itself, it does not close")
        let parsed = try JSONSerialization.jsonObject(with: try JSONEncoder().encode(fleet)) as? [String: Any]
        let totals = try #require(parsed?["totals"] as? [String: Any])
        #expect(totals["recordsProduced"] as? Int == 12)
        #expect(totals["produced"] == nil, "who looks for streams anywhere must not take the sums for one")
    }

    @Test func `What is stored and does not add up fails for all`() {
        let fleet = BalanceReport([Self.honest, Self.harmed], isFleet: true)
        #expect(!fleet.closes && fleet.findings.map(\.code) == [.storedRecords])
    }

    @Test func `Sums stop at the greatest number`() {
        let huge = (
            device: DeviceID.random(),
            epochs: [Self.epoch(StreamMark(number: .max, dropped: [.byteCap: .max]), rows: 0, totals: StreamTotals())]
        )
        let fleet = BalanceReport([huge, huge, Self.honest], isFleet: true)
        #expect(
            fleet.closes && fleet.totals.streams == 3 && fleet.totals.dropped == .max && fleet.totals.produced == .max)
    }
}
