import Synchronization

/// The threads beside the pool: how to end them, and when they have ended. May be used from any thread.
final class HelperRegistry: Sendable {
    private struct State {
        var events: [ObjectIdentifier: PollEvent] = [:]
        var isEnded = false
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private let state = Mutex(State())

    /// - Returns: false after the end; the helper must then not begin.
    func add(_ event: PollEvent) -> Bool {
        state.withLock { state in
            guard !state.isEnded else { return false }
            state.events[ObjectIdentifier(event)] = event
            return true
        }
    }

    func remove(_ event: PollEvent) {
        let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
            state.events[ObjectIdentifier(event)] = nil
            guard state.events.isEmpty else { return [] }
            defer { state.waiting = [] }
            return state.waiting
        }
        for continuation in waiting { continuation.resume() }
    }

    func endAll() {
        let events = state.withLock { state in
            state.isEnded = true
            return Array(state.events.values)
        }
        for event in events { event.set() }
    }

    var isEnded: Bool { state.withLock { $0.isEnded } }

    func waitUntilEmpty() async {
        await withCheckedContinuation { continuation in
            let isEmpty = state.withLock { state in
                if !state.events.isEmpty { state.waiting.append(continuation) }
                return state.events.isEmpty
            }
            if isEmpty { continuation.resume() }
        }
    }
}
