import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue

@Suite("The last numbers beside the file")
struct MarkerFileTests {
    enum WALDamage: String, CaseIterable, CustomTestStringConvertible {
        case deleted, zeroed, truncatedToNothing, truncatedInTheMiddle, flippedInTheMiddle, flippedHeader

        var testDescription: String { rawValue }

        func inflict(on wal: String) throws {
            let url = URL(fileURLWithPath: wal)
            let bytes = try Data(contentsOf: url)
            // Frames begin behind 32 bytes and need 4,120 each; those that were written are far from the end of what is
            // allocated.
            let middle = 32 + 4120 * 12 + 2000
            var damaged = bytes
            switch self {
            case .deleted: return try FileManager.default.removeItem(at: url)
            case .zeroed: damaged = Data(count: bytes.count)
            case .truncatedToNothing: damaged = Data()
            case .truncatedInTheMiddle: damaged = bytes.prefix(middle)
            case .flippedInTheMiddle: damaged[middle] ^= 0x10
            case .flippedHeader: damaged[1] ^= 0x10
            }
            try damaged.write(to: url)
        }
    }

    /// The files as they lie while the queue is open: what a kill leaves.
    private func image(of fixture: QueueFixture, as name: String) throws -> String {
        let target = "\(fixture.directory)/\(name)"
        try FileManager.default.createDirectory(atPath: target, withIntermediateDirectories: true)
        for file in ["queue.sqlite", "queue.sqlite-wal", "queue.epoch"]
        where FileManager.default.fileExists(
            atPath: "\(fixture.directory)/\(file)")
        {
            try FileManager.default.copyItem(atPath: "\(fixture.directory)/\(file)", toPath: "\(target)/\(file)")
        }
        return target
    }

    @Test(arguments: WALDamage.allCases, [true, false])
    func `Synced events that a damaged WAL takes along are counted and told, and their numbers are not given again`(
        _ damage: WALDamage, checkpointed: Bool
    ) async throws {
        let fixture = try QueueFixture()
        var former = try fixture.open()
        if checkpointed {
            // Everything up to here is in the file; what follows is in the WAL alone.
            _ = try await former.enqueueDurably(fixture.record(.event))
            await former.close()
            former = try fixture.open()
        }
        let first: UInt64 = checkpointed ? 2 : 1
        for number in first..<first + 30 {
            #expect(try await former.enqueueDurably(fixture.record(.event, bytes: 300)) == number)
        }
        let image = try image(of: fixture, as: "image")
        let epoch = former.epoch
        // Ten of them have arrived, and their acknowledgement is in the WAL that is lost.
        var collector = ModelCollector()
        let part = try #require(
            try await former.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 10, hold: .zero))
        _ = collector.post(part)
        await former.close()
        try damage.inflict(on: image + "/queue.sqlite-wal")

        let queue = try fixture.open("/image")
        #expect(queue.epoch != epoch, "no number of the former epoch is given again")
        let status = try await queue.status()
        #expect(status.replacements == 1)
        let salvage = try #require(status.ended.first { $0.epoch == epoch }?.salvage)
        #expect(salvage.lost + salvage.salvaged == 29 + first, "\(salvage)")
        switch damage {
        case .flippedInTheMiddle: break
        // The frames behind it are found all the same.
        case .flippedHeader: #expect(salvage.lost == 0, "\(salvage)")
        default: #expect(salvage.lost > 0, "\(salvage)")
        }
        var balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.produced == 29 + first, "\(balance)")

        _ = try await collector.closeAll(queue)
        _ = try await queue.enqueueDurably(fixture.record(.event))
        _ = try await collector.drain(queue)
        balance = try #require(try await queue.balance()[.event])
        let moved = balance.dropped["moved"] ?? 0
        #expect(balance.closes && balance.waiting == 0, "\(balance)")
        #expect(
            balance.produced - moved == 30 + first, "every record that was promised is stored, or counted: \(balance)")
        #expect(balance.stored + (balance.dropped["salvage"] ?? 0) == 30 + first, "\(balance)")
        let stored = (collector.stored[.event] ?? []).count
        #expect(UInt64(stored) == balance.stored, "nothing twice")
        await queue.close()
    }

    @Test
    func `A record behind a flipped bit in the middle of the WAL is still found`() async throws {
        let fixture = try QueueFixture()
        let former = try fixture.open()
        for _ in 1...30 { _ = try await former.enqueueDurably(fixture.record(.event, bytes: 300)) }
        let image = try image(of: fixture, as: "image")
        await former.close()
        try WALDamage.flippedInTheMiddle.inflict(on: image + "/queue.sqlite-wal")
        let queue = try fixture.open("/image")
        let salvage = try #require(try await queue.status().ended.first?.salvage)
        #expect(salvage.salvaged >= 25 && salvage.salvaged + salvage.lost == 30, "\(salvage)")
        await queue.close()
    }

    @Test
    func `An epoch that has ended does not come back with a WAL that is lost`() async throws {
        let fixture = try QueueFixture()
        let former = try fixture.open()
        _ = try await former.enqueueDurably(fixture.record(.event))
        let ended = former.epoch
        try await former.endEpoch(.restored)
        let current = former.epoch
        let image = try image(of: fixture, as: "image")
        await former.close()
        try WALDamage.deleted.inflict(on: image + "/queue.sqlite-wal")
        let queue = try fixture.open("/image")
        let status = try await queue.status()
        #expect(status.epoch == current && status.ended.map(\.epoch) == [ended] && status.replacements == 0)
        await queue.close()
    }

    @Test
    func
        `The marker is never ahead: cut off after any commit, with any file older, a whole file opens as it is`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        let older = try Data(contentsOf: URL(fileURLWithPath: "\(fixture.directory)/queue.epoch"))
        for _ in 1...5 { _ = try await queue.enqueueDurably(fixture.record(.event)) }
        let epoch = queue.epoch
        let image = try image(of: fixture, as: "image")
        await queue.close()
        try older.write(to: URL(fileURLWithPath: image + "/queue.epoch"))
        let again = try fixture.open("/image")
        #expect(again.epoch == epoch)
        #expect(try await again.status().replacements == 0)
        #expect(try await again.enqueueDurably(fixture.record(.event)) == 7)
        await again.close()
    }

    @Test
    func `What ordinary records wait for in memory is no loss: only what was committed is in the marker`() async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        for _ in 1...10 { try queue.enqueue(fixture.record(.event)) }
        _ = try image(of: fixture, as: "image")
        await queue.close()
        let again = try fixture.open("/image")
        #expect(try await again.status().replacements == 0)
        #expect(try await again.status().streams[.event]?.lastNumber == 1)
        await again.close()
    }

    private func marker(_ last: UInt64) -> EpochMarker {
        var streams = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, EpochMarker.Stream()) })
        streams[.event] = EpochMarker.Stream(last: last, link: ChainLink(high: last, low: ~last))
        return EpochMarker(epoch: .random(), ordinal: ChainCode.foundOrdinals.upperBound - 1, streams: streams)
    }

    @Test
    func `An ordinal that no queue reaches is no marker`() throws {
        let fixture = try QueueFixture()
        for ordinal in [0, ChainCode.foundOrdinals.upperBound, Int64.max] {
            try Data("\(EpochID.random()) \(ordinal)\n".utf8).write(
                to: URL(fileURLWithPath: "\(fixture.directory)/queue.epoch"))
            #expect(EpochMarker(in: fixture.directory) == nil)
        }
    }

    @Test
    func `Damaged anywhere, the marker is one of the two that were written last, or says nothing`() throws {
        let fixture = try QueueFixture()
        let path = "\(fixture.directory)/queue.epoch"
        let file = MarkerFile(directory: fixture.directory)
        let markers = (1...3).map { marker(BatchPart.greatestNumber - $0) }
        for marker in markers { try file.write(marker, syncing: false) }
        #expect(EpochMarker(in: fixture.directory) == markers[2])
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        #expect(whole.count == 2 * MarkerFile.slotBytes)
        for offset in whole.indices {
            for bit in [0x01, 0x20, 0x80] as [UInt8] {
                var damaged = whole
                damaged[offset] ^= bit
                try damaged.write(to: URL(fileURLWithPath: path))
                let found = try #require(EpochMarker(in: fixture.directory), "one slot is whole")
                #expect(found == markers[1] || found == markers[2], "byte \(offset)")
            }
        }
        for length in 0..<whole.count {
            try whole.prefix(length).write(to: URL(fileURLWithPath: path))
            let found = EpochMarker(in: fixture.directory)
            #expect(found == nil || found == markers[1] || found == markers[2], "\(length) bytes")
        }
        // Whatever was there, the next one is written and read.
        for content in [Data(), Data(repeating: 0xFF, count: 5000), whole.prefix(700)] {
            try content.write(to: URL(fileURLWithPath: path))
            let another = marker(7)
            try MarkerFile(directory: fixture.directory).write(another, syncing: true)
            #expect(EpochMarker(in: fixture.directory) == another)
        }
    }

    @Test
    func `A marker of another version says nothing, and the next one replaces it`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        let epoch = queue.epoch
        await queue.close()
        let path = URL(fileURLWithPath: "\(fixture.directory)/queue.epoch")
        let text = try String(contentsOf: path, encoding: .utf8)
        #expect(text.contains("ws1-queue 1 "))
        try Data(text.replacingOccurrences(of: "ws1-queue 1 ", with: "ws1-queue 2 ").utf8).write(to: path)
        #expect(EpochMarker(in: fixture.directory) == nil)
        queue = try fixture.open()
        #expect(queue.epoch == epoch)
        #expect(EpochMarker(in: fixture.directory)?.streams[.event]?.last == 1)
        await queue.close()
    }
}
