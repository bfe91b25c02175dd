import TelemetryTestKit
import Testing
@testable import Transmitter

@Suite(.timeLimit(.minutes(10))) struct AsyncEventTests {
    @Test func aSignalThatCameBeforeIsKeptOnceAndNeedsNoTimer() async {
        let wake = AsyncEvent()
        let clock = ManualSleeper()
        wake.signal()
        wake.signal()
        await wake.wait(for: .seconds(1), clock: clock)
        #expect(clock.sleeps == 0)
        let waiter = Task { await wake.wait(for: .seconds(1), clock: clock) }
        await clock.waitForSleeper()
        clock.advance(by: .seconds(1))
        await waiter.value
        #expect(clock.sleeps == 1, "two signals are one")
    }

    @Test func aSignalEndsTheWaitBeforeItsTime() async {
        let wake = AsyncEvent()
        let clock = ManualSleeper()
        let waiter = Task { await wake.wait(for: .seconds(3_600), clock: clock) }
        await clock.waitForSleeper()
        wake.signal()
        await waiter.value
    }

    @Test func theTimeEndsTheWaitAndLeavesNoSignalBehind() async {
        let wake = AsyncEvent()
        let clock = ManualSleeper()
        for _ in 0..<3 {
            let waiter = Task { await wake.wait(for: .seconds(5), clock: clock) }
            await clock.waitForSleeper()
            clock.advance(by: .seconds(5))
            await waiter.value
        }
        #expect(clock.sleeps == 3)
    }

    @Test func cancellingEndsTheWait() async {
        let wake = AsyncEvent()
        let clock = ManualSleeper()
        let waiter = Task { await wake.wait(for: .seconds(5), clock: clock) }
        waiter.cancel()
        await waiter.value
    }
}
