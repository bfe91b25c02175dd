import DeviceTestKit
import Foundation
import Testing
import WireModel

@testable import RecordQueue

/// The two-hour hold at its edges. What HoldTests has already is not repeated here.
@Suite struct EventHoldTests {
    private static let hold = Duration.seconds(7200)

    private func due(_ queue: RecordQueue, hold: Duration = hold, stream: StreamName = .event) async throws -> Int {
        try await queue.nextPart(of: stream, maximumBytes: 1 << 20, maximumRecords: 100, hold: hold)?.records.count ?? 0
    }

    @Test func `Not a microsecond before recorded plus 7200 seconds, and then at the first asking`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        fixture.clock.advance(by: .microseconds(7_199_999_999))
        #expect(try await due(queue) == 0)
        fixture.clock.advance(by: .microseconds(1))
        #expect(try await due(queue) == 1)
        await queue.close()
    }

    @Test func `Due at the first start after its time, and no start before releases it`() async throws {
        let fixture = try QueueFixture()
        let first = try fixture.open()
        _ = try await first.enqueueDurably(fixture.record(.event))
        await first.close()
        for _ in 1...71 {
            fixture.clock.advance(by: .seconds(100))
            let queue = try fixture.open()
            #expect(try await due(queue) == 0)
            await queue.close()
        }
        fixture.clock.advance(by: .seconds(100))
        let queue = try fixture.open()
        #expect(try await due(queue) == 1)
        await queue.close()
    }

    /// Set so, repeatedly, in all the time the event is held.
    @Test(arguments: [-86_400 * 365 * 30, -7200, -1, 1, 7200, 86_400 * 365 * 30])
    func `Whatever somebody does to the wall clock, it is held 7200 seconds and no longer`(seconds: Int) async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        for _ in 1...8 {
            #expect(try await due(queue) == 0)
            fixture.clock.setWallClock(by: .seconds(seconds))
            #expect(try await due(queue) == 0)
            await queue.close()
            queue = try fixture.open()
            #expect(try await due(queue) == 0)
            fixture.clock.advance(by: .seconds(900))
        }
        #expect(try await due(queue) == 1)
        await queue.close()
    }

    @Test func `Without a hold an event is due at once, however the clocks stand`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        fixture.clock.setWallClock(by: .seconds(-1_000_000))
        #expect(try await due(queue, hold: .zero) == 1)
        await queue.close()
    }

    @Test func `A hold changed at run time holds for what waits: a shorter one releases, a longer one holds on`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        fixture.clock.advance(by: .seconds(600))
        _ = try await queue.enqueueDurably(fixture.record(.event))
        #expect(try await due(queue, hold: .seconds(601)) == 0)
        #expect(try await due(queue, hold: .seconds(600)) == 1)
        #expect(try await due(queue, hold: .zero) == 2)
        #expect(try await due(queue) == 0, "what was due and is not sent yet is held again")
        fixture.clock.advance(by: .seconds(6600))
        #expect(try await due(queue, hold: .seconds(259_200)) == 0)
        #expect(try await due(queue) == 1)
        await queue.close()
    }

    @Test func `Nothing overtakes: an event that came late from another thread waits behind one that is not due`()
        async throws
    {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        let early = fixture.record(.event)
        fixture.clock.advance(by: .seconds(3600))
        _ = try await queue.enqueueDurably(fixture.record(.event))
        // Made an hour before the one in front of it, it is not due before that one is.
        _ = try await queue.enqueueDurably(early)
        fixture.clock.advance(by: .seconds(3600))
        #expect(try await due(queue) == 0)
        fixture.clock.advance(by: .seconds(3600))
        #expect(try await due(queue) == 2)
        await queue.close()
    }

    @Test func `The hold is the event stream's alone`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        for stream in StreamName.allCases { _ = try await queue.enqueueDurably(fixture.record(stream)) }
        #expect(try await due(queue) == 0)
        #expect(try await due(queue, hold: .zero, stream: .sample) == 1)
        #expect(try await due(queue, hold: .zero, stream: .status) == 1)
        await queue.close()
    }

    @Test func `Suspend counts: the clock since boot goes on in it, the process does not`() async throws {
        let fixture = try QueueFixture()
        let queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        #expect(try await due(queue) == 0)
        // Nothing of ours ran in these two hours.
        fixture.clock.advance(by: Self.hold)
        #expect(try await due(queue) == 1)
        await queue.close()
    }

    /// Half an hour before the machine goes off; how long that was only the wall clock can say, and it counts 0 to 24
    /// h.
    @Test(
        arguments: [
            (0, 0), (5_399, 0), (5_400, 1), (3 * 86_400, 1), (-1, 0), (-86_400 * 365, 0),
        ])
    func `Over a reboot the time off counts by the wall clock, never below zero`(off: Int, expected: Int) async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        fixture.clock.advance(by: .seconds(1800))
        #expect(try await due(queue) == 0)
        await queue.close()
        fixture.clock.reboot(after: .seconds(off))
        queue = try fixture.open()
        #expect(try await due(queue) == expected)
        if expected == 0 {
            fixture.clock.advance(by: .seconds(5400))
            #expect(try await due(queue) == 1, "a clock that was set back over the reboot does not hold it for ever")
        }
        await queue.close()
    }

    @Test func `A month off counts as a day: a hold of three days is not over`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        await queue.close()
        fixture.clock.reboot(after: .seconds(30 * 86_400))
        queue = try fixture.open()
        #expect(try await due(queue, hold: .seconds(86_400)) == 1)
        #expect(try await due(queue, hold: .seconds(86_401)) == 0)
        await queue.close()
    }

    @Test func `Reboot after reboot without a clock that keeps time, the hours it runs add up`() async throws {
        let fixture = try QueueFixture()
        var queue = try fixture.open()
        _ = try await queue.enqueueDurably(fixture.record(.event))
        // A board without a battery for its clock: each boot begins at the same wall time.
        for hour in 1...4 {
            fixture.clock.advance(by: .seconds(1800))
            #expect(try await due(queue) == (hour == 4 ? 1 : 0))
            await queue.close()
            fixture.clock.reboot(after: .seconds(-1800))
            queue = try fixture.open()
        }
        #expect(try await due(queue) == 1)
        await queue.close()
    }
}
