import Synchronization

/// Wakes one waiting task. A signal while nobody waits is kept, at most once.
package final class AsyncEvent: Sendable {
    private struct State {
        var pending = false
        /// The timer ended before the waiter was registered.
        var expired = false
        var waiter: CheckedContinuation<Void, Never>?
    }

    private let state = Mutex(State())

    package init() {}

    /// Safe from any thread.
    package func signal() {
        let waiter = state.withLock { state in
            state.pending = state.waiter == nil
            return state.waiter.take()
        }
        waiter?.resume()
    }

    /// Returns at a signal, after the duration, or when the task is cancelled. Only one task may wait at a time.
    package func wait(for duration: Duration, clock: any Clock<Duration>) async {
        let isPending = state.withLock { state in
            defer { (state.pending, state.expired) = (false, false) }
            return state.pending
        }
        // A signal came before, so no timer is needed.
        if isPending { return }
        await withTaskGroup { group in
            group.addTask {
                try? await clock.sleep(for: duration)
                self.expire()
            }
            await self.wait()
            group.cancelAll()
        }
    }

    private func wait() async {
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let resumeNow = state.withLock { state in
                    if state.pending || state.expired || Task.isCancelled {
                        state.pending = false
                        return true
                    }
                    state.waiter = continuation
                    return false
                }
                if resumeNow { continuation.resume() }
            }
        } onCancel: {
            expire()
        }
    }

    /// Ends the present wait without leaving a signal.
    private func expire() {
        let waiter = state.withLock { state in
            state.expired = true
            return state.waiter.take()
        }
        waiter?.resume()
    }
}
