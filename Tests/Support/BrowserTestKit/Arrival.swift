import Synchronization

/// A value that comes once, from another thread. One task waits for it.
final class Arrival<Value: Sendable>: Sendable {
    private enum State {
        case awaited
        case waiting(CheckedContinuation<Value, any Error>)
        case settled(Result<Value, any Error>)
    }

    private let state = Mutex(State.awaited)

    /// The first call counts; later ones do nothing.
    func settle(_ result: Result<Value, any Error>) {
        let waiter = state.withLock { state -> CheckedContinuation<Value, any Error>? in
            switch state {
            case .awaited:
                state = .settled(result)
                return nil
            case .waiting(let continuation):
                state = .settled(result)
                return continuation
            case .settled: return nil
            }
        }
        waiter?.resume(with: result)
    }

    /// - Throws: what it was settled with, `expiry` after the time limit, or `CancellationError`.
    func value(within limit: Duration, orThrow expiry: @escaping @Sendable () -> BrowserError) async throws -> Value {
        let timer = Task {
            try await Task.sleep(for: limit)
            settle(.failure(expiry()))
        }
        defer { timer.cancel() }
        return try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let settled = state.withLock { state -> Result<Value, any Error>? in
                    if case .settled(let result) = state { return result }
                    state = .waiting(continuation)
                    return nil
                }
                if let settled { continuation.resume(with: settled) }
            }
        } onCancel: {
            settle(.failure(CancellationError()))
        }
    }
}
