import Foundation
import Testing
import WireModel

@testable import DataSampler

@Suite struct LogRequestLedgerTests {
    private func capture(_ seconds: UInt32, _ level: WireLogLevel) -> WireRequestLogs {
        var wire = WireRequestLogs()
        wire.mode = .capture
        wire.captureSeconds = seconds
        wire.level = level
        return wire
    }

    private let first = Data(repeating: 1, count: 16)
    private let second = Data(repeating: 2, count: 16)

    /// In another order the file would have another digest, and count as damaged.
    @Test func `Sent crashes are kept in order`() {
        var ledger = LogRequestLedger()
        for ordinal in [15, 11, 13] as [UInt64] { ledger.crashSent(ordinal, present: [11, 13, 15]) }
        #expect(ledger.sentCrashes == [11, 13, 15])
        ledger.crashSent(20, present: [15, 20])
        #expect(ledger.sentCrashes == [15, 20])
    }

    @Test func `A snapshot is planned at once and uploaded until it ends`() {
        var ledger = LogRequestLedger()
        ledger.began(first, WireRequestLogs(), queueTime: 5, wallTime: 1000)
        #expect(ledger.planning.map(\.command) == [first])
        #expect(ledger.captures.isEmpty)
        ledger.planned(first, uploads: [second])
        #expect(ledger.planning.isEmpty)
        #expect(ledger[first]?.phase == .uploading(uploads: [second]))
        ledger.ended(first)
        #expect(ledger == LogRequestLedger())
    }

    @Test func `A capture ends by the queue clock and reads lines since it began`() {
        var ledger = LogRequestLedger()
        ledger.began(first, capture(10, .verbose), queueTime: 5, wallTime: 1000)
        #expect(ledger.nextEnd == 10_000_005)
        var changed = ledger.capturesEnded(queueTime: 10_000_004)
        #expect(!changed)
        #expect(ledger.captures.map(\.level) == [.verbose])
        changed = ledger.capturesEnded(queueTime: 10_000_005)
        #expect(changed)
        #expect(ledger[first]?.phase == .planning(sinceWallTime: 1000))
        #expect(ledger.captures.isEmpty)
    }

    @Test func `Every capture that runs asks for its level`() {
        var ledger = LogRequestLedger()
        ledger.began(first, capture(10, .warning), queueTime: 0, wallTime: 0)
        #expect(ledger.captures == [LogLevelWish(level: .warning)])
        ledger.began(second, capture(5, .unspecified), queueTime: 0, wallTime: 0)
        #expect(ledger.captures.map(\.level) == [.warning, .verbose])
        _ = ledger.capturesEnded(queueTime: 5_000_000)
        #expect(ledger.captures.map(\.level) == [.warning])
    }

    @Test func `A request that comes again goes on as it was`() throws {
        var ledger = LogRequestLedger()
        ledger.began(first, capture(10, .verbose), queueTime: 0, wallTime: 0)
        let encoded = try JSONEncoder().encode(ledger)
        var restarted = try JSONDecoder().decode(LogRequestLedger.self, from: encoded)
        restarted.began(first, capture(10, .verbose), queueTime: 9_000_000, wallTime: 9)
        #expect(restarted == ledger)
    }
}
