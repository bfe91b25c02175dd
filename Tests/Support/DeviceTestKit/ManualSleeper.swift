import Synchronization

/// A clock for waits that passes only when asked to. Its sleepers wake when their time has come, or are cancelled.
package final class ManualSleeper: Clock {
    package struct Instant: InstantProtocol {
        fileprivate var offset: Duration

        package func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        package func duration(to other: Instant) -> Duration { other.offset - offset }
        package static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct State {
        var now = Instant(offset: .zero)
        var last = 0
        var sleeping: [Int: (deadline: Instant, continuation: CheckedContinuation<Void, any Error>)] = [:]
        var lastWatcher = 0
        var watchers: [(number: Int, former: Int, continuation: CheckedContinuation<Void, Never>)] = []

        /// Those who wait for a sleep that there is now.
        mutating func satisfied() -> [CheckedContinuation<Void, Never>] {
            guard let newest = sleeping.keys.max() else { return [] }
            defer { watchers.removeAll { newest > $0.former } }
            return watchers.filter { newest > $0.former }.map(\.continuation)
        }
    }

    private let state = Mutex(State())

    package init() {}

    package var now: Instant { state.withLock { $0.now } }
    package var minimumResolution: Duration { .microseconds(1) }
    /// Sleeps that have begun so far.
    package var sleeps: Int { state.withLock { $0.last } }
    /// How long until the first sleeper wakes; `nil`: nobody sleeps.
    package var nextWake: Duration? {
        state.withLock { state in state.sleeping.values.map(\.deadline).min().map { state.now.duration(to: $0) } }
    }

    package func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let number = state.withLock { state in
            state.last += 1
            return state.last
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { continuation in
                let (result, watchers): (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) = state.withLock
                { state in
                    if Task.isCancelled { return (.failure(CancellationError()), []) }
                    if deadline <= state.now { return (.success(()), []) }
                    state.sleeping[number] = (deadline, continuation)
                    return (nil, state.satisfied())
                }
                if let result { continuation.resume(with: result) }
                for watcher in watchers { watcher.resume() }
            }
        } onCancel: {
            state.withLock { $0.sleeping.removeValue(forKey: number) }?.continuation.resume(
                throwing: CancellationError())
        }
    }

    /// Returns once somebody sleeps whose sleep began after the first `former` ones, or when the task is cancelled, so
    /// that a test whose sleeper never comes ends at its time limit.
    package func waitForSleeper(after former: Int = 0) async {
        let number = state.withLock { state in
            state.lastWatcher += 1
            return state.lastWatcher
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let satisfied: [CheckedContinuation<Void, Never>] = state.withLock { state in
                    if Task.isCancelled { return [continuation] }
                    state.watchers.append((number, former, continuation))
                    return state.satisfied()
                }
                for continuation in satisfied { continuation.resume() }
            }
        } onCancel: {
            let watcher = state.withLock { state in
                state.watchers.firstIndex { $0.number == number }.map { state.watchers.remove(at: $0).continuation }
            }
            watcher?.resume()
        }
    }

    package func advance(by duration: Duration) {
        let woken = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleeping.filter { $0.value.deadline <= state.now }
            for number in due.keys { state.sleeping[number] = nil }
            return due.values.map(\.continuation)
        }
        for continuation in woken { continuation.resume() }
    }
}
