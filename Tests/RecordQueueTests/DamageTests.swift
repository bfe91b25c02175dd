import Foundation
import SQLite
import Testing
import TestKit
import WireModel

@testable import RecordQueue

@Suite("Damage")
struct DamageTests {
    /// A closed queue of 60 samples, changed by SQL.
    private func damaged(_ fixture: QueueFixture, _ sql: String) async throws -> RecordQueue {
        let queue = try fixture.open()
        for _ in 1...60 { try queue.enqueue(fixture.record(bytes: 300)) }
        await queue.close()
        let connection = try Connection(path: fixture.database)
        try connection.execute(sql)
        try connection.close()
        return try fixture.open()
    }

    @Test(
        arguments: [
            ("UPDATE sample SET body = x'00' WHERE number = 5", 5...5),
            ("UPDATE sample SET body = zeroblob(length(body)) WHERE number IN (5, 6, 7)", 5...7),
            ("DELETE FROM sample WHERE number = 5", 5...6),
            ("UPDATE sample SET link = x'01' WHERE number = 5", 5...6),
            ("DELETE FROM sample WHERE number > 50", 51...60),
            ("UPDATE sample SET body = x'00' WHERE number = 60", 60...60),
            ("UPDATE sample SET body = x'00' WHERE number = 1", 1...1),
        ] as [(String, ClosedRange<UInt64>)])
    func `A row that does not fit ends the part before it, is dropped once at the front, and the chain goes on`(
        _ sql: String, _ lost: ClosedRange<UInt64>
    ) async throws {
        let fixture = try QueueFixture()
        let queue = try await damaged(fixture, sql)
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        let count = UInt64(lost.count)
        var balance = try #require(try await queue.balance()[.sample])
        #expect(
            balance.closes && balance.dropped == ["unreadable": count] && balance.stored == 60 - count, "\(balance)")
        #expect(try await queue.enqueueDurably(fixture.record()) == 61)
        _ = try await collector.drain(queue)
        balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.stored == 61 - count)
        await queue.close()
    }

    @Test
    func `The part before a damaged row is sent whole`() async throws {
        let fixture = try QueueFixture()
        let queue = try await damaged(fixture, "UPDATE sample SET body = x'00' WHERE number = 5")
        let part = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero))
        #expect(part.last == 4 && part.gaps.isEmpty)
        #expect(
            try await queue.balance()[.sample]?.dropped.isEmpty == true, "nothing is dropped before it is at the front")
        await queue.close()
    }

    /// Opens what is there and sends it all: an error of the queue, or a history the collector accepts and a balance
    /// that closes.
    private func survives(_ fixture: QueueFixture, _ directory: String) async throws -> String {
        do {
            let queue = try fixture.open(directory)
            var result = "whole"
            do {
                var collector = ModelCollector()
                _ = try await collector.closeAll(queue)
                _ = try await collector.drain(queue)
                for balance in try await queue.balance().values { #expect(balance.closes, "\(balance)") }
                _ = try await queue.status()
                _ = try await queue.enqueueDurably(fixture.record())
            } catch let error as QueueError {
                result = error.code.rawValue
            }
            await queue.close()
            return result
        } catch let error as QueueError {
            return error.code.rawValue
        }
    }

    /// A queue in use, as a kill leaves it: some of it in the file, some in the WAL.
    private func inUse(_ fixture: QueueFixture) async throws {
        let store = try QueueStore(
            directory: fixture.directory, configuration: QueueFixture.configuration(), clock: fixture.clock,
            logger: fixture.logger)
        for stream in StreamName.allCases {
            _ = try store.append((1...60).map { _ in fixture.record(stream, bytes: 700) })
        }
        _ = try store.drop(oldest: 5, bytes: .max, of: .event, reason: .byteCap, keepAside: true)
        store.checkpoint()
        for _ in 1...5 { _ = try store.append((1...10).map { _ in fixture.record(.sample, bytes: 5000) }) }
        try fixture.copyAsKilled(from: "", to: "/image")
        try store.close()
    }

    @Test(arguments: ["queue.sqlite", "queue.sqlite-wal"])
    func `Truncated anywhere, there is a queue whose chain and balance hold`(_ name: String) async throws {
        let fixture = try QueueFixture()
        try await inUse(fixture)
        var results: Set<String> = []
        var random = SplitMix64(seed: 11)
        // Where the content is, and a few beyond.
        let lengths =
            [0, 1, 31, 32, 33, 100, 4095, 4096, 4097, 8192]
            + (1...40).map { _ in Int.random(in: 0...600_000, using: &random) }
        for (index, length) in lengths.enumerated() {
            let target = "/t\(index)"
            try fixture.copyAsKilled(from: "/image", to: target)
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: "\(fixture.directory)\(target)/\(name)"))
            try file.truncate(atOffset: UInt64(length))
            try file.close()
            results.insert(try await survives(fixture, target))
            try FileManager.default.removeItem(atPath: fixture.directory + target)
        }
        #expect(results.isSubset(of: ["whole", "io"]), "\(results)")
        #expect(results.contains("whole"))
    }

    @Test(arguments: ["queue.sqlite", "queue.sqlite-wal"])
    func `With bits flipped anywhere, the same`(_ name: String) async throws {
        let fixture = try QueueFixture()
        try await inUse(fixture)
        var random = SplitMix64(seed: 12)
        var results: [String: Int] = [:]
        for index in 0..<60 {
            let target = "/f\(index)"
            try fixture.copyAsKilled(from: "/image", to: target)
            let path = "\(fixture.directory)\(target)/\(name)"
            let file = try FileHandle(forUpdating: URL(fileURLWithPath: path))
            // Half of them in the first pages, where schema, meta and ledger are.
            let bound = index % 2 == 0 ? 60_000 : 400_000
            for _ in 1...Int.random(in: 1...3, using: &random) {
                let offset = UInt64(Int.random(in: 0..<bound, using: &random))
                try file.seek(toOffset: offset)
                guard let byte = try file.read(upToCount: 1)?.first else { continue }
                try file.seek(toOffset: offset)
                try file.write(contentsOf: Data([byte ^ (1 << UInt8.random(in: 0...7, using: &random))]))
            }
            try file.close()
            results[try await survives(fixture, target), default: 0] += 1
            try FileManager.default.removeItem(atPath: fixture.directory + target)
        }
        #expect(Set(results.keys).isSubset(of: ["whole", "io", "newer-version"]), "\(results)")
        #expect((results["whole"] ?? 0) > 4, "\(results)")
    }
}
