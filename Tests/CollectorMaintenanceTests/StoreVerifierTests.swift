import CollectorMaintenance
import Foundation
import LogArchive
import RecordStore
import Registry
import RegistryTestKit
import SQLiteRecordStore
import SQLiteStoreTestKit
import StoreTestKit
import TestKit
import Testing
import WireModel

@Suite struct StoreVerifierTests {
    private let directory: TemporaryDirectory
    private let device: ScriptedDevice
    private let file: String

    /// Two devices; the first with gaps, rejected records and a lost range, four slices of its own.
    init() async throws {
        directory = try TemporaryDirectory()
        file = directory.recordFile("2026-03-01")
        let store = try SQLiteRecordStore.open(directory)
        var device = ScriptedDevice()
        device.produce(6)
        device.dropOldest(2)
        try await store.drain(&device, parts: 4)
        device.append(Data([0xFF]))
        device.append(Data(repeating: 0xFF, count: WireLimits.recordBytes + 1))
        device.produce(5)
        try await store.drain(&device, parts: 4)
        device.produce(4)
        device.held.removeFirst(2)
        device.mark = StreamMark(number: 15, link: device.links[15] ?? .zero)
        try await store.drain(&device)
        var other = ScriptedDevice()
        other.produce(5)
        try await store.drain(&other)
        await store.shutDown()
        self.device = device
    }

    private var chain: String {
        "(SELECT id FROM chain WHERE device = x'\(device.device.data.map { String(format: "%02x", $0) }.joined())')"
    }

    @Test func `A whole store has no findings`() async throws {
        let report = try await directory.verify()
        #expect(report.isWhole, "\(report.findings)")
        #expect(report.files == 1 && report.chains == 2 && report.rejected == 2 && report.lostAtCollector == 2)
        #expect(report.records == 4 + 5 + 2 + 5)
    }

    @Test func `What devices say they lost does not overflow`() async throws {
        let store = try SQLiteRecordStore.open(directory)
        for _ in 0..<5 {
            var liar = ScriptedDevice()
            liar.produce(1)
            let record = try #require(liar.made[1])
            let number = BatchPart.greatestNumber
            let part = BatchPart(
                epoch: liar.epoch, stream: .sample, first: number, last: number, priorLink: .zero,
                lastLink: ChainLink.zero.appending(record),
                records: [record])
            #expect(await store.append([part], from: liar.device, receivedAt: 1).first?.outcome == .stored)
        }
        await store.shutDown()
        let report = try await directory.verify()
        #expect(report.lostAtCollector == .max && report.rejected == 7 && report.isWhole, "\(report.findings)")
        let mark = StreamMark(dropped: [.diskFull: .max, .byteCap: .max])
        #expect(mark.droppedCount == .max && mark.dropped.values.saturatingSum == .max)
    }

    @Test(arguments: ["removed", "emptied"]) func `Without its database, a store is not proved`(
        _ harm: String
    ) async throws {
        let database = directory.path + "/collector.sqlite"
        for file in [database, database + "-wal", database + "-shm"] {
            try? FileManager.default.removeItem(atPath: file)
        }
        if harm == "emptied" { try Data().write(to: URL(fileURLWithPath: database)) }
        #expect(try await directory.verify().findings.contains { $0.code == .missing && $0.file == "collector.sqlite" })
    }

    @Test func `A directory of something else is not proved`() async throws {
        let empty = try TemporaryDirectory()
        await #expect { try await empty.verify() } throws: { ($0 as? StoreError)?.code == .notFound }
        await #expect { try await SQLiteRecordStore.openReading(directory: empty.path).balances().devices } throws: {
            ($0 as? StoreError)?.code == .notFound
        }
    }

    @Test func `A file that is missing or cannot be opened is reported until it is back`() async throws {
        let service = try NoticeService(directory: directory.path, clock: ManualStoreClock(), logger: quietLogger)
        let watch = RecordFileWatch(
            store: try SQLiteRecordStore.openReading(directory: directory.path), notices: service, logger: quietLogger)
        func lasting() async throws -> [String] {
            let archive = try LogArchive.open(
                directory: directory.path, clock: ManualStoreClock(), logger: quietLogger)
            let page = try await NoticeService(metadata: archive.metadata).page(
                organization: nil, below: nil, limit: 100)
            await archive.close()
            return page.rows.filter { $0.code == .recordFile && $0.ended == nil }.map(\.detail)
        }
        await watch.look()
        #expect(try await lasting().isEmpty)
        let whole = try Data(contentsOf: URL(fileURLWithPath: file))
        try Data("no database at all, but as long as one would have to be".utf8).write(to: URL(fileURLWithPath: file))
        await watch.look()
        let unreadable = try await lasting()
        #expect(
            unreadable.count == 1
                && unreadable.allSatisfy { $0.contains("records/2026-03-01/sample.sqlite cannot be read") })
        try FileManager.default.removeItem(atPath: file)
        await watch.look()
        let missing = try await lasting()
        #expect(missing.count == 1 && missing.allSatisfy { $0.contains("is missing") })
        try whole.write(to: URL(fileURLWithPath: file))
        await watch.look()
        #expect(try await lasting().isEmpty)
    }

    @Test func `A flipped byte is found with its place`() async throws {
        // In the body of a record of the slice that holds number 9.
        try directory.execute(
            """
            UPDATE slice SET records = substr(records, 1, length(records) - 1) || x'00' WHERE chain = \(chain) \
            AND first = 7
            """, on: file)
        let report = try await directory.verify()
        let finding = try #require(report.findings.first)
        #expect(report.findings.count == 1)
        #expect(finding.code == .altered && finding.file == "records/2026-03-01/sample.sqlite")
        #expect(
            finding.device == "\(device.device)" && finding.epoch == "\(device.epoch)" && finding.stream == "sample")
        #expect(finding.first == 7 && finding.last == 10)
    }

    @Test func `Any alteration is found`() async throws {
        let alterations: [(String, VerifyReport.Finding.Code)] = [
            ("DELETE FROM slice WHERE chain = \(chain) AND first = 7", .missing),
            ("DELETE FROM slice WHERE chain = \(chain) AND first = 16", .missing),
            ("DELETE FROM rejected WHERE number = 7", .altered),
            ("UPDATE rejected SET link = x'00000000000000000000000000000000' WHERE number = 8", .altered),
            ("UPDATE slice SET lost_before = 0 WHERE first = 16", .missing),
            (
                """
                UPDATE slice SET prior_link = x'00000000000000000000000000000001' WHERE chain = \(chain) AND first = 7
                """,
                .altered
            ),
            (
                "UPDATE slice SET last_link = x'00000000000000000000000000000001' WHERE chain = \(chain) AND first = 7",
                .altered
            ),
            ("UPDATE slice SET gaps = x'' WHERE chain = \(chain) AND first = 1", .altered),
            ("UPDATE slice SET record_count = 9 WHERE chain = \(chain) AND first = 7", .altered),
            ("UPDATE slice SET records = x'01' WHERE chain = \(chain) AND first = 7", .altered),
            (
                """
                INSERT INTO slice SELECT NULL, chain, first + 1, last, lost_before, prior_link, last_link, \
                received_at, earliest, latest, record_count, kinds, gaps, records FROM slice WHERE chain = \(chain) \
                AND first = 7
                """, .doubled
            ),
            (
                """
                INSERT INTO slice SELECT NULL, 99, first, last, lost_before, prior_link, last_link, received_at, \
                earliest, latest, record_count, kinds, gaps, records FROM slice WHERE chain = \(chain) AND first = 7
                """, .miscounted
            ),
            (
                """
                UPDATE chain SET mark = (SELECT mark FROM chain AS o WHERE o.device != chain.device) WHERE id = \(chain)
                """,
                .doubled
            ),
            ("UPDATE chain SET mark = x'FFFF' WHERE id = \(chain)", .unreadable),
            ("UPDATE chain SET entry_number = 3 WHERE id = \(chain)", .missing),
            ("DELETE FROM chain WHERE id = \(chain)", .miscounted),
        ]
        for (sql, code) in alterations {
            let copy = try directory.copy()
            try copy.execute(sql, on: copy.recordFile("2026-03-01"))
            let report = try await copy.verify()
            #expect(report.findings.contains { $0.code == code }, "\(sql): \(report.findings)")
        }
    }

    @Test func `A file that is gone is missed`() async throws {
        let clock = ManualStoreClock()
        clock.advance(days: 1)
        let store = try SQLiteRecordStore.open(directory, clock: clock)
        var next = device
        next.produce(3)
        try await store.drain(&next)
        await store.shutDown()
        #expect(try await directory.verify().isWhole)
        try FileManager.default.removeItem(atPath: file)
        let findings = try await directory.verify().findings
        #expect(findings.first?.code == .missing && findings.first?.file == "records/2026-03-01/sample.sqlite")
        let finding = try #require(findings.last)
        #expect(finding.code == .missing && finding.file == "records/2026-03-02/sample.sqlite")
        #expect(finding.first == 1 && finding.last == device.last)
    }

    @Test func `It works beside a running collector`() async throws {
        let store = try SQLiteRecordStore.open(directory)
        let path = directory.path
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<4 {
                group.addTask {
                    var device = ScriptedDevice()
                    for _ in 0..<25 {
                        device.produce(4)
                        try await store.drain(&device)
                    }
                }
            }
            for _ in 0..<10 {
                group.addTask {
                    let report = try await StoreVerifier(directory: path).verify()
                    #expect(report.isWhole, "\(report.findings)")
                    for device in try await SQLiteRecordStore.openReading(directory: path).balances().devices {
                        #expect(device.epochs.allSatisfy { $0.balance.closes && $0.storedRows == $0.mark.stored })
                    }
                }
            }
            try await group.waitForAll()
        }
        await store.shutDown()
    }

    @Test func `A directory that is not there is a typed error`() async {
        await #expect { try await StoreVerifier(directory: directory.path + "/none").verify() } throws: {
            ($0 as? StoreError)?.code == .notFound
        }
    }
}
