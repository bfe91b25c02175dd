import Crypto
import DeviceTestKit
import Foundation
import Logging
import SQLite
import Testing
import TestKit
import WireModel

@testable import Encryption
@testable import RecordQueue

/// Rows and links are sealed; a key that is not at hand costs time and nothing else.
@Suite("Sealed queue")
struct SealedQueueTests {
    private let fixture: QueueFixture
    private let keys: QueueKeys

    init() throws {
        fixture = try QueueFixture()
        keys = try QueueKeys(fixture)
    }

    private func rows(_ store: QueueStore, of stream: StreamName) throws -> [StoredRow] {
        let statement = try store.connection.cached("SELECT \(StoredRow.columns) FROM \(stream) ORDER BY number")
        var rows: [StoredRow] = []
        while try statement.step() { rows.append(try StoredRow(statement, of: stream)) }
        return rows
    }

    /// Flips a bit of a row's body.
    private func flip(_ stream: StreamName, _ number: UInt64, in store: QueueStore) throws {
        var row = try #require(try rows(store, of: stream).first { $0.number == number })
        row.body[40] ^= 4
        let update = try store.connection.cached("UPDATE \(stream) SET body = ? WHERE number = ?")
        try update.bind(row.body, number)
        try update.run()
        update.reset()
    }

    private func part(_ queue: RecordQueue, of stream: StreamName = .event) async throws -> BatchPart? {
        try await queue.nextPart(of: stream, maximumBytes: 1 << 20, maximumRecords: 1000, hold: .zero)
    }

    // MARK: Forms

    @Test func `A row is what the format says, byte by byte`() throws {
        let ring = keys.ring()
        let store = try fixture.store(QueueFixture.sealed(ring))
        let record = fixture.record(.event, bytes: 50)
        _ = try store.append([record])
        let row = try #require(try rows(store, of: .event).first)
        let plain = record.serialized(number: 1)
        #expect(row.link.isEmpty && row.size == plain.count && row.body.count == plain.count + 44)
        // Nonce, ciphertext of link and bytes, tag; the associated data by hand.
        var head = Data("WS1R".utf8) + [1]
        withUnsafeBytes(of: UInt32(row.keyID).bigEndian) { head.append(contentsOf: $0) }
        head.append(UInt8(StreamName.event.rawValue))
        withUnsafeBytes(of: row.number.bigEndian) { head.append(contentsOf: $0) }
        withUnsafeBytes(of: row.queueTime.bigEndian) { head.append(contentsOf: $0) }
        withUnsafeBytes(of: UInt32(plain.count).bigEndian) { head.append(contentsOf: $0) }
        let key = try ring.key(UInt32(row.keyID), for: .queue)
        let opened = try AES.GCM.open(
            AES.GCM.SealedBox(combined: row.body), using: key.secret, authenticating: head)
        #expect(opened == ChainLink.zero.appending(plain).data + plain)
        let columns = try store.connection.cached("SELECT kind, wall_time FROM event")
        #expect(try columns.step())
        #expect(columns.int(0) == 0 && columns.int64(1) == 0, "they are in the record")
        columns.reset()
        let ledger = try store.connection.cached("SELECT length(last_link), length(mark_link) FROM ledger")
        var lengths: [[Int]] = []
        while try ledger.step() { lengths.append([ledger.int(0), ledger.int(1)]) }
        ledger.reset()
        #expect(lengths.filter { $0[0] == 48 }.count == 1, "one stream has a link to seal")
        #expect(lengths.allSatisfy { $0[1] == 16 }, "a link of zeros discloses nothing")
        try store.close()
    }

    @Test func `Without keys a row is as it always was`() throws {
        let store = try fixture.store()
        _ = try store.append([fixture.record(.event, bytes: 50)])
        let row = try #require(try rows(store, of: .event).first)
        #expect(row.keyID == 0 && row.link.count == 16 && row.body.count == row.size)
        let copies = try store.connection.cached("SELECT count(*) FROM file_copy")
        #expect(try copies.step())
        #expect(copies.int(0) == 0)
        copies.reset()
        try store.close()
    }

    @Test func `Every flipped bit of a sealed row is noticed`() throws {
        let store = try fixture.store(QueueFixture.sealed(keys.ring()))
        _ = try store.append([fixture.record(.event, bytes: 20)])
        let row = try #require(try rows(store, of: .event).first)
        let whole = try #require(try store.seal.open(row))
        for bit in 0..<row.body.count * 8 {
            var flipped = row
            flipped.body[bit / 8] ^= 1 << UInt8(bit % 8)
            #expect(try store.seal.open(flipped) == nil, "bit \(bit) of the body")
        }
        for bit in 0..<63 {
            var flipped = row
            flipped.number ^= 1 << UInt64(bit)
            #expect(try store.seal.open(flipped) == nil, "bit \(bit) of the number")
            flipped = row
            flipped.queueTime ^= 1 << Int64(bit)
            #expect(try store.seal.open(flipped) == nil, "bit \(bit) of the queue time")
            flipped = row
            flipped.size ^= 1 << Int64(bit)
            #expect(try store.seal.open(flipped) == nil, "bit \(bit) of the size")
        }
        var other = row
        other.stream = .sample
        #expect(try store.seal.open(other) == nil)
        // The id names a key that never was. The row is whole, and a key that is there shows it.
        other = row
        other.keyID ^= 1 << 20
        #expect(try store.seal.open(other) == whole)
        try store.close()
    }

    @Test func `A damaged row in the middle costs itself and the next, and both are counted`() async throws {
        let ring = keys.ring()
        let store = try fixture.store(QueueFixture.sealed(ring))
        _ = try store.append((0..<20).map { _ in fixture.record(.event) })
        try flip(.event, 10, in: store)
        try store.close()
        let queue = try fixture.open("", QueueFixture.sealed(ring))
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        // Its link is in the damaged body, and the chain goes on from the next link that is known.
        #expect(collector.stored[.event]?.count == 18)
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.waiting == 0 && balance.dropped == ["unreadable": 2])
        #expect(try await queue.status().replacements == 0)
        await queue.close()
    }

    // MARK: Keys that are not at hand

    @Test func `With the key missing at the start the queue opens, waits, and goes on`() async throws {
        let first = try fixture.open("", QueueFixture.sealed(keys.ring()))
        for _ in 1...5 { _ = try await first.enqueueDurably(fixture.record(.event)) }
        await first.close()

        let held = HeldKey(nil)
        let queue = try fixture.open("", QueueFixture.sealed(keys.ring(held)))
        #expect(try await queue.status().streams[.event]?.waiting == 5)
        #expect(try await queue.status().replacements == 0, "nothing is damaged")
        #expect(try await part(queue) == nil, "nothing is sent from what is sealed")
        for _ in 1...3 { try queue.enqueue(fixture.record(.event)) }
        let failure = await #expect(throws: QueueError.self) { try await queue.flush() }
        #expect(failure?.code == .keyUnavailable)
        let durable = await #expect(throws: QueueError.self) {
            try await queue.enqueueDurably(fixture.record(.event))
        }
        #expect(durable?.code == .keyUnavailable)
        #expect(try await queue.status().buffered == 3)
        #expect(try await queue.nextClose() == nil)
        #expect(try await queue.balance()[.event]?.closes == true)
        #expect(try await queue.verify().isWhole)
        #expect(try await queue.export().lines.allSatisfy { $0.contains("\"isSealed\":true") })

        held.give(keys.deviceKey)
        queue.keysAvailable()
        try await queue.flush()
        #expect(try await part(queue)?.records.count == 8)
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        #expect(collector.stored[.event]?.count == 8)
        #expect(try await queue.balance()[.event]?.dropped == [:])
        await queue.close()
    }

    @Test func `A record that failed and was given back to its caller fails no later call`() async throws {
        let first = try fixture.open("", QueueFixture.sealed(keys.ring()))
        _ = try await first.enqueueDurably(fixture.record(.event))
        await first.close()
        let held = HeldKey(nil)
        let queue = try fixture.open("", QueueFixture.sealed(keys.ring(held)))
        await #expect(throws: QueueError.self) { try await queue.enqueueDurably(fixture.record(.event)) }
        held.give(keys.deviceKey)
        try await queue.flush()
        #expect(try await queue.giveUpSealed() == 0)
        #expect(try await part(queue)?.records.count == 1)
        await queue.close()
    }

    @Test func `Another device key is an error that somebody can mend, and changes nothing`() async throws {
        let first = try fixture.open("", QueueFixture.sealed(keys.ring()))
        _ = try await first.enqueueDurably(fixture.record(.event))
        await first.close()
        let before = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        let queue = try fixture.open("", QueueFixture.sealed(keys.ring(HeldKey(SymmetricKey(size: .bits256)))))
        let failure = await #expect(throws: QueueError.self) {
            try await queue.enqueueDurably(fixture.record(.event))
        }
        #expect(failure?.code == .keyUnavailable)
        #expect(try await part(queue) == nil)
        await #expect(throws: QueueError.self) { try await queue.giveUpSealed() }
        #expect(try await queue.status().replacements == 0)
        await queue.close()
        let after = try Data(contentsOf: URL(fileURLWithPath: fixture.database))
        #expect(before.count == after.count)
        let again = try fixture.open("", QueueFixture.sealed(keys.ring()))
        #expect(try await part(again)?.records.count == 1)
        await again.close()
    }

    @Test func `Without any keys sealed rows wait`() async throws {
        let first = try fixture.open("", QueueFixture.sealed(keys.ring()))
        _ = try await first.enqueueDurably(fixture.record(.event))
        await first.close()
        let queue = try fixture.open()
        #expect(try await part(queue) == nil)
        let failure = await #expect(throws: QueueError.self) {
            try await queue.enqueueDurably(fixture.record(.event))
        }
        #expect(failure?.code == .keyUnavailable)
        await queue.close()
    }

    @Test func `What no longer fits into memory while the key is missing is counted`() async throws {
        let held = HeldKey(nil)
        let queue = try fixture.open(
            "", QueueFixture.sealed(keys.ring(held)) { $0.bufferBytes = WireLimits.recordBytes })
        var taken = 0
        while (try? queue.enqueue(fixture.record(.sample, bytes: 40_000))) != nil { taken += 1 }
        #expect(taken > 0 && taken < 10)
        held.give(keys.deviceKey)
        queue.keysAvailable()
        try await queue.flush()
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.waiting == UInt64(taken))
        #expect(balance.dropped == ["buffer-full": 1])
        await queue.close()
    }

    // MARK: Giving up

    @Test func `What is sealed by lost keys is given up by one call, counted as unreadable on both sides`() async throws
    {
        var collector = ModelCollector()
        let first = try fixture.open("", QueueFixture.sealed(keys.ring()))
        for _ in 1...10 { _ = try await first.enqueueDurably(fixture.record(.event)) }
        // Three have arrived, and their answer was lost.
        let sent = try #require(
            try await first.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 3, hold: .zero))
        _ = collector.post(sent)
        for _ in 1...4 { _ = try await first.enqueueDurably(fixture.record(.sample)) }
        let epoch = first.epoch
        await first.close()

        try keys.lose()
        let ring = keys.ring()
        _ = try ring.sealingKey(for: .queue)
        let queue = try fixture.open("", QueueFixture.sealed(ring))
        #expect(try await part(queue) == nil, "nothing is given up without a call")
        #expect(queue.epoch == epoch)
        try queue.enqueue(fixture.record(.event))
        #expect(try await queue.giveUpSealed() == 14)
        #expect(queue.epoch != epoch)
        #expect(try await queue.giveUpSealed() == 0, "a second call finds nothing")
        for (stream, balance) in try await queue.balance() { #expect(balance.closes, "\(stream): \(balance)") }
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        let events = try #require(try await queue.balance()[.event])
        #expect(events.closes && events.waiting == 0)
        #expect(events.stored == 4, "three of the former epoch, and one that waited in memory")
        #expect(events.dropped["unreadable"] == 7)
        let samples = try #require(try await queue.balance()[.sample])
        #expect(samples.closes && samples.dropped["unreadable"] == 4)
        #expect(collector.stored[.event]?.count == 4)
        await queue.close()
    }

    @Test func `A wipe goes on after its keys are destroyed`() async throws {
        let ring = keys.ring()
        let queue = try fixture.open("", QueueFixture.sealed(ring))
        for _ in 1...10 { _ = try await queue.enqueueDurably(fixture.record(.event)) }
        var collector = ModelCollector()
        _ = collector.post(try #require(try await part(queue)))
        try ring.destroy()
        try await queue.endEpoch(.wiped)
        ring.renew()
        #expect(try await queue.balance()[.event]?.closes == true)
        _ = try await collector.closeAll(queue)
        let balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.stored == 10, "the collector had them before: \(balance)")
        _ = try await queue.enqueueDurably(fixture.record(.event))
        await queue.close()
    }

    // MARK: Other operations

    @Test func `Quarantined records stay sealed and are queued again`() async throws {
        let queue = try fixture.open("", QueueFixture.sealed(keys.ring()))
        for _ in 1...3 { _ = try await queue.enqueueDurably(fixture.record(.event)) }
        _ = try await queue.drop(oldest: 1, of: .event, reason: .quarantined, keepAside: true)
        let shown = try #require(try await queue.inspect().quarantine.first)
        #expect(shown.wallTime == fixture.clock.now().wallTime && shown.bytes > 100)
        let retried = try await queue.retry(includingUncertain: true)
        #expect(retried.records.map(\.outcome) == [.open])
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        let again = try await queue.retry(includingUncertain: true)
        #expect(again.records.map(\.newNumber) == [4])
        _ = try await collector.drain(queue)
        #expect(collector.stored[.event]?.count == 3)
        #expect(try await queue.verify().findings == [])
        await queue.close()
    }

    @Test func `A key that no row names any more is removed`() async throws {
        let queue = try fixture.open("", QueueFixture.sealed(keys.ring()))
        _ = try await queue.enqueueDurably(fixture.record(.event))
        await queue.close()
        let ring = keys.ring(now: 1_000_000 + 91 * 86_400)
        let later = try fixture.open("", QueueFixture.sealed(ring))
        _ = try await later.enqueueDurably(fixture.record(.event))
        #expect(ring.status.keys.count == 2)
        try await later.run { try $0.removeUnusedKeys() }
        #expect(ring.status.keys.count == 2, "a row names it")
        var collector = ModelCollector()
        _ = try await collector.drain(later)
        #expect(collector.stored[.event]?.count == 2)
        try await later.run { try $0.removeUnusedKeys() }
        #expect(ring.status.keys.count == 1)
        await later.close()
    }

    // MARK: Salvage

    @Test(arguments: [true, false])
    func `A damaged file of sealed rows is salvaged, with its keys or without them`(_ isLocked: Bool) async throws {
        let store = try fixture.store(QueueFixture.sealed(keys.ring()))
        for _ in 1...10 { _ = try store.append((0..<100).map { _ in fixture.record(.sample, bytes: 300) }) }
        for number: UInt64 in [50, 500] { try flip(.sample, number, in: store) }
        store.checkpoint()
        let epoch = store.state.epoch
        try store.close()
        // The page of the schema; the WAL would have it once more.
        try FileManager.default.removeItem(atPath: fixture.database + "-wal")
        let file = try FileHandle(forUpdating: URL(fileURLWithPath: fixture.database))
        try file.seek(toOffset: 100)
        try file.write(contentsOf: Data(repeating: 0xEE, count: 2000))
        try file.close()

        let held = HeldKey(isLocked ? nil : keys.deviceKey)
        let queue = try fixture.open("", QueueFixture.sealed(keys.ring(held)))
        #expect(queue.epoch != epoch)
        #expect(try await queue.status().replacements == 1)
        let waiting = try #require(try await queue.balance()[.sample]?.waiting)
        #expect(waiting == (isLocked ? 1000 : 998), "a row is lost only if its tag does not fit")
        held.give(keys.deviceKey)
        queue.keysAvailable()
        var collector = ModelCollector()
        _ = try await collector.closeAll(queue)
        _ = try await collector.drain(queue)
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.waiting == 0, "\(balance)")
        #expect(collector.stored[.sample]?.count == 998)
        let (salvaged, unreadable) = (balance.dropped["salvage"] ?? 0, balance.dropped["unreadable"] ?? 0)
        #expect(salvaged + unreadable == 2, "\(balance)")
        await queue.close()
    }
}
