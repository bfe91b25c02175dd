import Synchronization

/// A value that tests wait for: every change is a signal, so nobody looks again and again.
package final class Watched<Value: Sendable>: Sendable {
    private struct Waiter {
        var holds: @Sendable (Value) -> Bool
        var continuation: CheckedContinuation<Bool, Never>
    }

    private struct State {
        var value: Value
        var waiters: [UInt64: Waiter] = [:]
        var lastWaiter: UInt64 = 0
        /// Waits that were cancelled before they began.
        var cancelled: Set<UInt64> = []
    }

    private let state: Mutex<State>

    package init(_ value: Value) { state = Mutex(State(value: value)) }

    package var value: Value { state.withLock { $0.value } }

    /// Changes the value, and ends the waits for what it is now.
    package func change(_ body: @Sendable (inout Value) -> Void) {
        let ended = state.withLock { state in
            body(&state.value)
            let ended = state.waiters.filter { $0.value.holds(state.value) }
            for number in ended.keys { state.waiters[number] = nil }
            return ended.values.map(\.continuation)
        }
        for continuation in ended { continuation.resume(returning: true) }
    }

    /// Returns once a condition holds. It may hold no more by then.
    /// - Throws: `CancellationError`, such as at the end of a test's time.
    package func until(_ holds: @escaping @Sendable (Value) -> Bool) async throws {
        let number = state.withLock { state in
            state.lastWaiter += 1
            return state.lastWaiter
        }
        let hasHeld = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let held: Bool? = state.withLock { state in
                    if holds(state.value) { return true }
                    if state.cancelled.remove(number) != nil { return false }
                    state.waiters[number] = Waiter(holds: holds, continuation: continuation)
                    return nil
                }
                if let held { continuation.resume(returning: held) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                let waiter = state.waiters.removeValue(forKey: number)
                if waiter == nil { state.cancelled.insert(number) }
                return waiter
            }
            waiter?.continuation.resume(returning: false)
        }
        guard hasHeld else { throw CancellationError() }
    }
}

extension Watched<Int> {
    /// Returns once a condition holds that only those change who count here, after what they did.
    package func untilCounted(_ holds: () async throws -> Bool) async throws {
        var seen = value
        while try await !holds() {
            let last = seen
            try await until { $0 > last }
            seen = value
        }
    }
}
