import DeviceTestKit
import Foundation
import SQLite
import SwiftProtobuf
import Testing
import WireModel

@testable import RecordQueue

@Suite("Looking at a queue")
struct InspectionTests {
    @Test
    func `Inspect lists streams, gaps, quarantine, ended epochs and files`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for _ in 1...10 { try queue.enqueue(fixture.record(.event)) }
        try await queue.flush()
        _ = try await queue.drop(oldest: 2, of: .event, reason: .quarantined, keepAside: true)
        try await queue.endEpoch(.restored)
        _ = try await queue.enqueueDurably(fixture.record(.event))
        let report = try await queue.inspect()
        #expect(report.streams.first { $0.stream == "event" }?.waiting == 1)
        #expect(report.ended.map(\.waiting) == [8] && report.ended.map(\.end) == [.restored])
        #expect(report.quarantine.map(\.number) == [1, 2] || report.quarantine.map(\.number) == [2, 1])
        #expect(report.files.count == 4 && report.corruptFiles.isEmpty)
        #expect(try JSONDecoder().decode(QueueInspection.self, from: JSONEncoder().encode(report)) == report)
        await queue.close()
    }

    @Test
    func `Export gives every record once, page by page, bodies decoded where the kind is known`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        var event = WireEvent()
        event.name = "opened"
        for _ in 1...25 {
            try queue.enqueue(
                NewRecord(stream: .event, kind: .event, stamp: fixture.clock.now(), body: try event.serializedBytes()))
        }
        for _ in 1...25 { try queue.enqueue(fixture.record(.sample)) }
        try await queue.endEpoch(.restored)
        _ = try await queue.enqueueDurably(fixture.record(.status))
        var lines: [String] = []
        var cursor: String?
        var pages = 0
        repeat {
            let page = try await queue.export(after: cursor, limit: 7)
            lines += page.lines
            cursor = page.next
            pages += 1
        } while cursor != nil
        #expect(lines.count == 51 && Set(lines).count == 51 && pages == 8)
        let objects = try lines.map {
            try #require(try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any])
        }
        let events = objects.filter { $0["kind"] as? String == "event" }
        #expect(
            events.count == 25 && events.allSatisfy { ($0["body"] as? [String: Any])?["name"] as? String == "opened" })
        #expect(objects.filter { $0["body"] is String }.count == 26, "what cannot be decoded is base64")
        await #expect(throws: QueueError.self) { try await queue.export(after: "nowhere:1", limit: 1) }
        await queue.close()
    }

    @Test(arguments: [
        "UPDATE sample SET body = zeroblob(length(body)) WHERE number = 5", "DELETE FROM sample WHERE number = 7",
        "UPDATE ledger SET bytes = bytes + 1 WHERE chain = 7", "UPDATE sample SET size = 3 WHERE number = 2",
    ])
    func `Verify finds what does not fit, and repair salvages the rest`(_ damage: String) async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        for _ in 1...50 { try queue.enqueue(fixture.record()) }
        try await queue.flush()
        #expect(try await queue.verify() == QueueVerification(findings: [], rows: 50))
        await queue.close()
        let whole = try RecordQueue.repair(
            directory: fixture.directory, configuration: QueueFixture.configuration(), clock: fixture.clock,
            logger: fixture.logger)
        #expect(whole.findings.isEmpty && whole.file == nil)
        let connection = try Connection(path: fixture.database)
        try connection.execute(damage)
        try connection.close()
        queue = try fixture.open()
        #expect(try await queue.verify().findings.isEmpty == false)
        #expect(throws: QueueError.self) {
            _ = try RecordQueue.repair(directory: fixture.directory, clock: fixture.clock, logger: fixture.logger)
        }
        await queue.close()
        let repair = try RecordQueue.repair(
            directory: fixture.directory, configuration: QueueFixture.configuration(), clock: fixture.clock,
            logger: fixture.logger)
        let isLedger = damage.contains("ledger")
        #expect(
            !repair.findings.isEmpty && repair.salvaged == (isLedger ? 50 : 49) && repair.lost == (isLedger ? 0 : 1))
        queue = try fixture.open()
        #expect(try await queue.verify().isWhole)
        var collector = ModelCollector()
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        #expect(collector.stored[.sample]?.count == Int(repair.salvaged))
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && (balance.dropped["salvage"] ?? 0) == repair.lost)
        await queue.close()
    }
}
