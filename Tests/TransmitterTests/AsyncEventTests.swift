import DeviceTestKit
import Testing
@testable import Transmitter

@Suite(.timeLimit(.minutes(10))) struct AsyncEventTests {
    @Test func `A signal that came before is kept once and needs no timer`() async {
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

    @Test func `A signal ends the wait before its time`() async {
        let wake = AsyncEvent()
        let clock = ManualSleeper()
        let waiter = Task { await wake.wait(for: .seconds(3_600), clock: clock) }
        await clock.waitForSleeper()
        wake.signal()
        await waiter.value
    }

    @Test func `The time ends the wait and leaves no signal behind`() async {
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

    @Test func `Cancelling ends the wait`() async {
        let wake = AsyncEvent()
        let clock = ManualSleeper()
        let waiter = Task { await wake.wait(for: .seconds(5), clock: clock) }
        waiter.cancel()
        await waiter.value
    }
}
