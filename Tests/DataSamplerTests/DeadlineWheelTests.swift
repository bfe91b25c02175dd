import RecordQueue
import TestKit
import Testing
import WireModel

@testable import DataSampler

@Suite(.timeLimit(.minutes(10))) struct DeadlineWheelTests {
    private enum Job: CaseIterable { case first, second }

    private let second: UInt64 = 1_000_000

    private static func untilCancelled() async {
        let (stream, continuation) = AsyncStream<Never>.makeStream()
        defer { continuation.finish() }
        for await _ in stream {}
    }

    @Test func `All are due at first, and each again after its own pause`() {
        var deadlines = Deadlines<Job>()
        #expect(deadlines.removeDue(at: 0) == [.first, .second])
        deadlines.ended(.first, pause: .seconds(5), now: 0)
        deadlines.ended(.second, pause: .seconds(3), now: second)
        #expect(deadlines.pause(at: second) == .seconds(3))
        #expect(deadlines.removeDue(at: 4 * second) == [.second])
        #expect(deadlines.removeDue(at: 5 * second) == [.first])
    }

    @Test func `What is being done is not due, and delays no other`() {
        var deadlines = Deadlines<Job>()
        _ = deadlines.removeDue(at: 0)
        deadlines.ended(.second, pause: .seconds(1), now: 0)
        #expect(deadlines.removeDue(at: 100 * second) == [.second])
        #expect(deadlines.pause(at: 100 * second) == .seconds(86_400), "nothing to wait for but an end")
    }

    @Test func `What is woken is done at once, or once more where it is being done`() {
        var deadlines = Deadlines<Job>()
        _ = deadlines.removeDue(at: 0)
        deadlines.ended(.first, pause: .seconds(60), now: 0)
        deadlines.woken(.first)
        for _ in 1...2 { deadlines.woken(.second) }
        #expect(deadlines.removeDue(at: 0) == [.first])
        deadlines.ended(.second, pause: .seconds(60), now: 0)
        #expect(deadlines.removeDue(at: 0) == [.second], "once for both")
        deadlines.ended(.second, pause: .seconds(60), now: 0)
        #expect(deadlines.removeDue(at: 0).isEmpty)
    }

    @Test func `A job that hangs is woken without a second run beside it, and ends with the wheel`() async throws {
        let wheel = DeadlineWheel<Job>()
        let rounds = Watched<[Job: Int]>([:])
        let running = Task {
            await wheel.run(clock: SystemRecordClock(), sleeper: ContinuousClock()) { job in
                rounds.change { $0[job, default: 0] += 1 }
                if job == .first { await Self.untilCancelled() }
                return .seconds(3600)
            }
        }
        try await rounds.until { $0.count == 2 }
        wheel.wake(.first)
        wheel.wake(.second)
        try await rounds.until { $0[.second, default: 0] >= 2 }
        #expect(rounds.value[.first] == 1)
        running.cancel()
        await running.value
    }
}
