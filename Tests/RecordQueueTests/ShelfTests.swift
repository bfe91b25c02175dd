import Foundation
import SQLite
import Testing
import WireModel

@testable import RecordQueue
import DeviceTestKit

/// Files of version 5, as the program of that version left them.
@Suite("What waited for consent in a file of version 5")
struct ShelfTests {
    /// Its collector: it has what the queue knows to be acknowledged.
    private func collector(of queue: RecordQueue) async throws -> ModelCollector {
        var collector = ModelCollector()
        let epochs = try await queue.run { store in
            [(store.state.epoch, store.state.streams)] + store.state.ended.map { ($0.id, $0.streams) }
        }
        for (epoch, streams) in epochs {
            for stream in StreamName.allCases where streams[stream].mark.number > 0 {
                let mark = streams[stream].mark
                collector.histories[.init(epoch: epoch, stream: stream)] = .init(
                    mark: mark, links: [mark.number: mark.link])
            }
        }
        return collector
    }

    private func headers(_ collector: ModelCollector, _ stream: StreamName) -> [(
        number: UInt64, body: UInt8?, wallTime: Int64
    )] {
        (collector.stored[stream] ?? []).compactMap { record in
            RecordHeader(scanning: record).map { ($0.number, $0.body(of: record).first, $0.wallTime) }
        }
    }

    private func open(_ stored: StoredQueue, _ fixture: QueueFixture) throws -> RecordQueue {
        try stored.unpack(into: fixture.directory)
        return try fixture.open()
    }

    @Test
    func `Is numbered behind what was there, in its order and with its times, and the balance stays as it was`()
        async throws
    {
        let fixture = try QueueFixture()
        var queue = try open(.pending, fixture)
        let version = try await queue.run { try $0.connection.userVersion }
        #expect(version == QueueFile.schemaVersion)
        #expect(try await queue.status().replacements == 0)
        #expect(try await queue.verify().isWhole)
        for (stream, produced, waiting) in [(.status, 8, 5), (.event, 24, 16), (.sample, 18, 18)]
            as [(StreamName, UInt64, UInt64)]
        {
            let balance = try #require(try await queue.balance()[stream])
            #expect(
                balance.closes && balance.produced == produced && balance.waiting == waiting, "\(stream) \(balance)")
        }
        #expect(try await queue.status().streams[.event]?.apart == 0)
        #expect(try await queue.enqueueDurably(fixture.record(.event, byte: 99)) == 23)
        await queue.close()
        queue = try fixture.open()
        #expect(try await queue.verify().isWhole)
        var collector = try await collector(of: queue)
        _ = try await collector.drain(queue)
        let events = headers(collector, .event)
        let day: [UInt8] = [21, 22, 23, 24]
        #expect(events.map(\.number) == Array(7...23))
        #expect(events.map(\.body) == [7, 8, 9, 10] + day + day + day + [99])
        let times = events.map(\.wallTime)[4..<16]
        #expect(times.sorted() == Array(times) && Set(times).count == 3, "three days")
        let samples: [UInt8] = [41, 42, 43, 44, 45, 46]
        #expect(headers(collector, .sample).map(\.body) == samples + samples + samples)
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.stored == 23 && balance.dropped == ["consent": 2] && balance.waiting == 0)
        await queue.close()
    }

    @Test
    func `Goes on after a kill, with ended epochs that are not closed yet, and every record arrives once`() async throws
    {
        let fixture = try QueueFixture()
        let queue = try open(.epochs, fixture)
        #expect(try await queue.status().replacements == 0)
        #expect(try await queue.verify().isWhole)
        #expect(try await queue.status().ended.map(\.waiting) == [3, 4])
        var collector = try await collector(of: queue)
        #expect(try await collector.closeAll(queue) >= 2)
        _ = try await collector.drain(queue)
        let day: [UInt8] = [21, 22, 23, 24]
        let events = headers(collector, .event).map(\.body)
        #expect(events.sorted { $0 ?? 0 < $1 ?? 0 } == ([7, 8, 9, 10] + day + day + day + [104, 105]).sorted())
        #expect(headers(collector, .sample).count == 23)
        for (stream, balance) in try await queue.balance() {
            #expect(balance.closes && balance.waiting == 0, "\(stream) \(balance)")
        }
        await queue.close()
    }

    @Test
    func `Denied, it is dropped and counted like all that waits`() async throws {
        let fixture = try QueueFixture()
        let queue = try open(.denied, fixture)
        #expect(try await queue.dropWaiting(of: [.event, .sample], reason: .consent) == 34)
        var collector = try await collector(of: queue)
        _ = try await collector.drain(queue)
        #expect(headers(collector, .event).isEmpty && headers(collector, .sample).isEmpty)
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.produced == 24 && balance.dropped == ["consent": 18] && balance.stored == 6)
        await queue.close()
    }

    @Test
    func `What had left the shelf before is not taken again`() async throws {
        let fixture = try QueueFixture()
        let queue = try open(.releasing, fixture)
        var collector = try await collector(of: queue)
        _ = try await collector.drain(queue)
        #expect(headers(collector, .event).map(\.body) == [200] + (0..<60).map { UInt8($0) })
        #expect(try await queue.balance()[.event]?.closes == true)
        await queue.close()
    }

    @Test
    func `What a wipe had given up stays given up, and nothing of it is left in the file`() async throws {
        let fixture = try QueueFixture()
        let queue = try open(.wiped, fixture)
        try await queue.finishWipe()
        var collector = try await collector(of: queue)
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        #expect(headers(collector, .event).map(\.body) == [77])
        for (stream, balance) in try await queue.balance() {
            #expect(balance.closes && balance.waiting == 0)
            #expect(balance.dropped == (stream == .event ? ["wiped": 20] : stream == .sample ? ["wiped": 5] : [:]))
        }
        await queue.close()
        let bytes = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        #expect(bytes.range(of: Data(repeating: 19, count: 60)) == nil)
    }

    @Test
    func `Of a corrupt file it is salvaged: in its order behind nothing else, and what is missing is counted`()
        async throws
    {
        for losesOne in [false, true] {
            let fixture = try QueueFixture()
            try StoredQueue.pending.unpack(into: fixture.directory)
            let connection = try Connection(path: fixture.database)
            if losesOne {
                try connection.execute("PRAGMA secure_delete = 1; DELETE FROM consent_sample WHERE number = 7")
            }
            try connection.execute("DROP TABLE quarantine")
            try connection.close()
            let queue = try fixture.open()
            let status = try await queue.status()
            #expect(status.replacements == 1)
            #expect(status.ended.first?.salvage?.salvaged == 5 + 4 + 12 + (losesOne ? 17 : 18))
            #expect(status.ended.first?.salvage?.lost == (losesOne ? 1 : 0))
            var collector = try await collector(of: queue)
            _ = try await collector.closeAll(queue)
            _ = try await collector.drain(queue)
            let samples: [UInt8] = [41, 42, 43, 44, 45, 46]
            let all = samples + samples + samples
            #expect(headers(collector, .sample).map(\.body) == (losesOne ? Array(all[..<6] + all[7...]) : all))
            for (stream, balance) in try await queue.balance() {
                #expect(balance.closes && balance.waiting == 0, "\(stream) \(balance)")
            }
            await queue.close()
        }
    }

    @Test
    func `A file that lacks what its marker knows of is salvaged as it was found: nothing is migrated before`()
        async throws
    {
        let fixture = try QueueFixture()
        try StoredQueue.pending.unpack(into: fixture.directory)
        var marker = try #require(EpochMarker(in: fixture.directory))
        marker.streams?[.event]?.last += 3
        try MarkerFile(directory: fixture.directory).write(marker, syncing: true)
        let found = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        let queue = try fixture.open()
        let salvage = try #require(try await queue.status().ended.compactMap(\.salvage).first)
        #expect(salvage.cause.contains("queue.epoch"), "\(salvage.cause)")
        let kept = try Data(contentsOf: URL(fileURLWithPath: "\(fixture.directory)/\(salvage.file)/queue.sqlite"))
        #expect(kept == found, "the file set aside is the one of version 5")
        for (stream, balance) in try await queue.balance() { #expect(balance.closes, "\(stream) \(balance)") }
        await queue.close()
    }

    @Test
    func `The marker of that version is read`() throws {
        let fixture = try QueueFixture()
        try StoredQueue.pending.unpack(into: fixture.directory)
        let event = try #require(EpochMarker(in: fixture.directory)?.streams?[.event])
        #expect(event.last == 10 && event.shelf == EpochMarker.Shelf(front: 0, last: 12, waiting: 12))
    }
}
