import Foundation
import TelemetryTestKit
import Testing
import WireModel

@testable import RecordQueue

@Suite("Records apart")
struct ApartTests {
    private func fill(_ queue: RecordQueue, _ fixture: QueueFixture) async throws {
        for byte in 1...20 {
            try await queue.enqueueApart(fixture.record(.event, byte: UInt8(byte)), account: .consent)
            try await queue.enqueueApart(fixture.record(.sample, byte: UInt8(byte)), account: .consent)
        }
    }

    @Test("What waits for consent is not sent, counts as waiting, and goes out in its order once consent is given")
    func release() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        try await fill(queue, fixture)
        _ = try await queue.enqueueDurably(fixture.record(.event, byte: 99))
        await queue.close()
        queue = try fixture.open()
        let part = try #require(
            try await queue.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero))
        #expect(
            part.records.count == 1 && part.totals.apart == 20 && part.totals.waiting == 21
                && part.totals.produced == 21)
        #expect(try await queue.status().streams[.event]?.consentPending == 20)
        var balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.waiting == 21 && balance.produced == 21)

        #expect(try await queue.releaseApart(.consent) == 40)
        #expect(try await queue.releaseApart(.consent) == 0)
        var collector = ModelCollector()
        _ = try await collector.drain(queue)
        let bodies = (collector.stored[.event] ?? []).map { record in
            RecordHeader(scanning: record)?.body(of: record).first
        }
        #expect(bodies == [99] + (1...20).map { UInt8($0) })
        balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.stored == 21 && balance.waiting == 0)
        await queue.close()
    }

    @Test("Denied, it is dropped and counted, and the collector hears of it")
    func denied() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        try await fill(queue, fixture)
        #expect(try await queue.dropApart(.consent, reason: .consent) == 40)
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.dropped == ["consent": 20] && balance.waiting == 0)
        _ = try await queue.enqueueDurably(fixture.record(.sample))
        let part = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero))
        #expect(part.totals.droppedUnnumbered == [.consent: 20] && part.totals.apart == 0)
        await queue.close()
    }

    @Test("Killed while they are released, each record is in one place")
    func killedWhileReleasing() async throws {
        let fixture = try QueueFixture()
        let store = try QueueStore(
            directory: fixture.directory, configuration: QueueFixture.configuration(), clock: fixture.clock,
            logger: fixture.logger)
        _ = try store.append(
            (0..<100).map { fixture.record(.event, bytes: 9000, byte: UInt8($0)) }, apart: Set(0..<100))
        var image = 0
        repeat {
            image += 1
            try fixture.copyAsKilled(from: "", to: "/\(image)")
        } while try store.state[.consent(.event)].rowCount > 0 && store.moveSome(from: .consent(.event)) > 0
        #expect(image > 2)
        try store.close()
        for number in 1...image {
            let queue = try fixture.open("/\(number)")
            _ = try await queue.releaseApart(.consent)
            var collector = ModelCollector()
            _ = try await collector.drain(queue)
            let bodies = (collector.stored[.event] ?? []).map { record in
                RecordHeader(scanning: record)?.body(of: record).first
            }
            #expect(bodies == (0..<100).map { UInt8($0) })
            #expect(try await queue.balance()[.event]?.closes == true)
            await queue.close()
        }
    }

    @Test("The caps hold for records apart: age, rows and bytes, and an epoch that is wiped takes them along")
    func caps() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open(
            "",
            QueueFixture.configuration {
                $0.maximumRecords = 30
                $0.maximumAge = .seconds(3600)
            })
        try await fill(queue, fixture)
        for _ in 1...15 { _ = try await queue.enqueueDurably(fixture.record(.event)) }
        var balance = try #require(try await queue.balance()[.event])
        #expect(balance.closes && balance.dropped == ["row-cap": 5] && balance.waiting == 30)
        fixture.clock.advance(by: .seconds(4000))
        _ = try await queue.nextPart(of: .event, maximumBytes: 1, maximumRecords: 1, hold: .zero)
        balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.dropped == ["age-cap": 20])
        try await fill(queue, fixture)
        try await queue.endEpoch(.wiped)
        balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.dropped == ["age-cap": 20, "wiped": 20] && balance.waiting == 0)
        await queue.close()
    }

    @Test("Counts of what was refused elsewhere are written with the next commit")
    func countDropped() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        queue.countDropped(.consent, of: .sample)
        queue.countDropped(.disabled, of: .sample, 4)
        try await queue.flush()
        await queue.close()
        queue = try fixture.open()
        let balance = try #require(try await queue.balance()[.sample])
        #expect(balance.closes && balance.dropped == ["consent": 1, "disabled": 4] && balance.produced == 5)
        await queue.close()
    }
}
