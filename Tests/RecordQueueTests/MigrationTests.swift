import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("Files of earlier versions")
struct MigrationTests {
    /// The schema as version 1 made it.
    private static func schema() -> [String] {
        StreamName.allCases.map {
            """
            CREATE TABLE \($0) (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, wall_time INTEGER NOT NULL, \
            queue_time INTEGER NOT NULL, size INTEGER NOT NULL, key_id INTEGER NOT NULL DEFAULT 0, link BLOB NOT NULL, body BLOB NOT NULL)
            """
        } + [
            """
            CREATE TABLE ledger (stream INTEGER PRIMARY KEY, last_number INTEGER NOT NULL, last_link BLOB NOT NULL, \
            last_queue_time INTEGER NOT NULL, bytes INTEGER NOT NULL, mark_number INTEGER NOT NULL, mark_link BLOB NOT NULL, \
            stored INTEGER NOT NULL, lost_at_collector INTEGER NOT NULL)
            """,
            """
            CREATE TABLE tally (stream INTEGER NOT NULL, account TEXT NOT NULL, reason INTEGER NOT NULL, count INTEGER NOT NULL, \
            PRIMARY KEY (stream, account, reason)) WITHOUT ROWID
            """,
            """
            CREATE TABLE gap (stream INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, reason INTEGER NOT NULL, \
            link BLOB NOT NULL, PRIMARY KEY (stream, first)) WITHOUT ROWID
            """,
            """
            CREATE TABLE quarantine (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, number INTEGER NOT NULL, \
            reason INTEGER NOT NULL, wall_time INTEGER NOT NULL, queue_time INTEGER NOT NULL, size INTEGER NOT NULL, \
            key_id INTEGER NOT NULL, link BLOB NOT NULL, body BLOB NOT NULL)
            """,
            """
            CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), epoch BLOB NOT NULL, queue_time INTEGER NOT NULL, \
            wall_time INTEGER NOT NULL, boot_id BLOB, since_boot INTEGER NOT NULL, parting TEXT, parted_stream INTEGER, \
            parted_wall_time INTEGER, collector BLOB, organization TEXT, device BLOB, quarantine_queue_time INTEGER)
            """,
        ]
    }

    /// 40 events: 1...5 acknowledged, 6...8 dropped, the rest waiting.
    private func make(_ fixture: QueueFixture) throws -> (EpochID, StreamMark, [Data]) {
        var options = QueueFile.options()
        options.maximumUserVersion = nil
        let connection = try Connection(path: fixture.database, options: options)
        for sql in Self.schema() { try connection.execute(sql) }
        let epoch = EpochID.random()
        let zero = ChainLink.zero.data
        try connection.prepare("INSERT INTO meta (id, epoch, queue_time, wall_time, since_boot) VALUES (1, ?, 5, 0, 0)")
            .bound(epoch.data)
        var link = ChainLink.zero
        var links = [link]
        var records: [Data] = []
        var size = 0
        for number in 1...40 {
            let record = fixture.record(.event, byte: UInt8(number)).serialized(number: UInt64(number))
            link = link.appending(record)
            links.append(link)
            guard number > 8 else { continue }
            records.append(record)
            size += record.count
            try connection.prepare(
                "INSERT INTO event (number, kind, wall_time, queue_time, size, link, body) VALUES (?, 10, 1700000000000000, 1, ?, ?, ?)"
            ).bound(number, record.count, link.data, record)
        }
        for stream in [1, 3] {
            try connection.prepare("INSERT INTO ledger VALUES (?, 0, ?, 0, 0, 0, ?, 0, 0)").bound(stream, zero, zero)
        }
        try connection.prepare("INSERT INTO ledger VALUES (2, 40, ?, 1, ?, 5, ?, 5, 0)").bound(
            link.data, size, links[5].data)
        try connection.prepare("INSERT INTO gap VALUES (2, 6, 8, 1, ?)").bound(links[8].data)
        try connection.execute("INSERT INTO tally VALUES (2, 'unnumbered', 6, 4)")
        try connection.setUserVersion(1)
        try connection.close()
        return (epoch, StreamMark(number: 5, link: links[5], stored: 5), records)
    }

    @Test
    func `Are taken over as they are: epoch, numbers, gaps, counts and rows, and go on`() async throws {
        let fixture = try QueueFixture()
        let (epoch, mark, records) = try make(fixture)
        var queue = try fixture.open()
        #expect(queue.epoch == epoch)
        #expect(try await queue.status().ended.isEmpty)
        #expect(try await queue.verify().isWhole)
        let part = try #require(
            try await queue.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero))
        #expect(part.first == 6 && part.last == 40 && part.records == records && part.gaps.map(\.count) == [3])
        #expect(try await queue.enqueueDurably(fixture.record(.event)) == 41)
        await queue.close()
        queue = try fixture.open()
        var collector = ModelCollector()
        collector.histories[.init(epoch: epoch, stream: .event)] = .init(mark: mark, links: [5: mark.link])
        _ = try await collector.drain(queue)
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.stored == 38 && balance.dropped == ["byte-cap": 3, "buffer-full": 4])
        try await queue.endEpoch(.restored)
        #expect(try await collector.closeAll(queue) >= 1)
        await queue.close()
    }

    @Test
    func `Of version 2 what is quarantined is kept; whether the collector has it is not known any more`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        for _ in 1...3 { try queue.enqueue(fixture.record(.event)) }
        try await queue.flush()
        _ = try await queue.drop(oldest: 1, of: .event, reason: .quarantined, keepAside: true)
        await queue.close()
        try fixture.withVersion5 { connection in
            let columns = "id, stream, number, reason, wall_time, queue_time, size, key_id, link, body"
            for sql in [
                "ALTER TABLE quarantine RENAME TO newer", Self.schema()[6],
                "INSERT INTO quarantine SELECT \(columns) FROM newer",
                "DROP TABLE newer", "DROP TABLE file_copy",
            ] { try connection.execute(sql) }
            try connection.setUserVersion(2)
        }
        queue = try fixture.open()
        #expect(try await queue.status().ended.isEmpty, "nothing was salvaged")
        #expect(try await queue.verify().isWhole)
        #expect(try await queue.inspect().quarantine.map(\.fate) == ["uncertain"])
        #expect(try await queue.retry().records.map(\.outcome) == [.uncertain])
        #expect(try await queue.retry(includingUncertain: true).records.map(\.newNumber) == [4])
        await queue.close()
    }

    @Test
    func `A corrupt one is salvaged, too`() async throws {
        let fixture = try QueueFixture()
        let (epoch, _, records) = try make(fixture)
        let connection = try Connection(path: fixture.database)
        try connection.execute("DROP TABLE quarantine")
        try connection.close()
        let queue = try fixture.open()
        let status = try await queue.status()
        #expect(status.ended.first?.epoch == epoch && status.ended.first?.salvage?.salvaged == UInt64(records.count))
        await queue.close()
    }
}

extension Statement {
    fileprivate func bound(_ values: any BindableValue...) throws {
        for (index, value) in values.enumerated() { try value.bind(to: self, at: Int32(index + 1)) }
        try run()
    }
}
