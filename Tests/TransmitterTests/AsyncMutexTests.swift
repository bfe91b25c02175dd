import Synchronization
import Testing
@testable import Transmitter

@Suite(.timeLimit(.minutes(10))) struct AsyncMutexTests {
    @Test func `One is inside at a time, and all get in`() async {
        let mutex = AsyncMutex()
        let inside = Count()
        await withTaskGroup { group in
            for _ in 0..<50 {
                group.addTask {
                    guard await mutex.enter() else { return }
                    inside.value.withLock {
                        $0.now += 1
                        $0.total += 1
                        $0.greatest = max($0.greatest, $0.now)
                    }
                    await Task.yield()
                    inside.value.withLock { $0.now -= 1 }
                    mutex.leave()
                }
            }
        }
        let result = inside.value.withLock { $0 }
        #expect(result.greatest == 1 && result.total == 50 && result.now == 0)
    }

    @Test func `A task that is cancelled while waiting gives its place up`() async {
        let mutex = AsyncMutex()
        #expect(await mutex.enter())
        let waiter = Task { await mutex.enter() }
        waiter.cancel()
        #expect(await waiter.value == false)
        mutex.leave()
        #expect(await mutex.enter(), "the turn is not lost with the one that gave up")
    }
}

private final class Count: Sendable {
    let value = Mutex((now: 0, greatest: 0, total: 0))
}
