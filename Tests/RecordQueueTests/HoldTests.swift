import DeviceTestKit
import Foundation
import Testing
import WireModel

@testable import RecordQueue

@Suite("Hold and age")
struct HoldTests {
    static let hold = Duration.seconds(7200)

    private func due(_ queue: RecordQueue) async throws -> Int {
        try await queue.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 100, hold: Self.hold)?.records.count
            ?? 0
    }

    @Test
    func `Only the prefix that is due is sent, whatever the wall clock and restarts do`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        fixture.clock.advance(by: .seconds(3600))
        _ = try await queue.enqueueDurably(fixture.record(.event))
        #expect(try await due(queue) == 0)
        fixture.clock.setWallClock(by: .seconds(1_000_000))
        #expect(try await due(queue) == 0, "a clock set forward releases nothing")
        await queue.close()
        queue = try fixture.open()
        #expect(try await due(queue) == 0, "nor does a restart")
        fixture.clock.setWallClock(by: .seconds(-5_000_000))
        fixture.clock.advance(by: .seconds(3600))
        #expect(try await due(queue) == 1, "nothing is held for ever by a clock set back, and nothing overtakes")
        let status = try await queue.status(holds: [.event: Self.hold])
        #expect(status.streams[.event]?.due == 1 && status.streams[.event]?.waiting == 2)
        #expect(status.streams[.event]?.oldestAgeSeconds == 7200)
        await queue.close()
        fixture.clock.reboot(after: .seconds(3600))
        queue = try fixture.open()
        #expect(try await due(queue) == 2, "the hour the machine was off counts")
        await queue.close()
    }

    @Test
    func `A record that waited in memory before it was queued is held from when it was made`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        let record = fixture.record(.event)
        fixture.clock.advance(by: Self.hold)
        _ = try await queue.enqueueDurably(record)
        #expect(try await due(queue) == 1)
        await queue.close()
    }

    @Test
    func `A gap in front goes out although nothing behind it is due`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for _ in 1...3 { try queue.enqueue(fixture.record(.event)) }
        try await queue.flush()
        _ = try await queue.drop(oldest: 1, of: .event, reason: .consent, keepAside: false)
        let part = try #require(
            try await queue.nextPart(of: .event, maximumBytes: 1 << 20, maximumRecords: 100, hold: Self.hold))
        #expect(part.records.isEmpty && part.gaps.count == 1)
        await queue.close()
    }

    @Test
    func `Records past the age cap are dropped, counted, and a clock that jumps ahead drops none`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open("", QueueFixture.configuration { $0.maximumAge = .seconds(86400) })
        for _ in 1...20 { try queue.enqueue(fixture.record()) }
        try await queue.flush()
        fixture.clock.advance(by: .seconds(80000))
        for _ in 1...5 { try queue.enqueue(fixture.record()) }
        fixture.clock.setWallClock(by: .seconds(10_000_000))
        #expect(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero)?.records
                .count == 25)
        fixture.clock.advance(by: .seconds(7000))
        let part = try #require(
            try await queue.nextPart(of: .sample, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero))
        #expect(part.records.count == 5 && part.gaps.map(\.count) == [20] && part.gaps.map(\.reason) == [.ageCap])
        #expect(try await queue.balance()[.sample]?.closes == true)
        await queue.close()
    }
}
