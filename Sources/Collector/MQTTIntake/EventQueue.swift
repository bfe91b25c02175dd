import MQTTClient
import Synchronization

/// What a broker said and nobody has asked for yet, with a bound in bytes. Safe from any thread. One task asks.
final class EventQueue: Sendable {
    private struct State {
        var events: [BrokerEvent] = []
        /// The first of `events` that is not taken.
        var first = 0
        var bytes = 0
        var dropped = 0
        var hasEnded = false
        var reader: CheckedContinuation<BrokerEvent?, Never>?
    }

    /// For topic and properties of a message.
    private static let allowance = 1024

    private let limit: Int
    private let state = Mutex(State())

    /// - Parameter limit: the most bytes of messages that wait.
    init(limit: Int = 32 * 1024 * 1024) { self.limit = limit }

    /// Adds an event. A message that finds no room is dropped and counted.
    func put(_ event: BrokerEvent) {
        let reader = state.withLock { state -> CheckedContinuation<BrokerEvent?, Never>? in
            guard !state.hasEnded else { return nil }
            if let reader = state.reader {
                state.reader = nil
                return reader
            }
            let size = Self.size(event)
            guard size <= limit - state.bytes else {
                state.dropped += 1
                return nil
            }
            state.bytes += size
            state.events.append(event)
            return nil
        }
        reader?.resume(returning: event)
    }

    /// Ends the queue; what waits is still given.
    func end() {
        let reader = state.withLock { state in
            defer { state.reader = nil }
            state.hasEnded = true
            return state.reader
        }
        reader?.resume(returning: nil)
    }

    /// The next event; `nil` at the end.
    func next() async -> BrokerEvent? {
        await withCheckedContinuation { continuation in
            let known = state.withLock { state -> BrokerEvent?? in
                if state.first < state.events.count {
                    let event = state.events[state.first]
                    state.first += 1
                    state.bytes -= Self.size(event)
                    if state.first == state.events.count || state.first >= 1024 {
                        state.events.removeFirst(state.first)
                        state.first = 0
                    }
                    return .some(event)
                }
                if state.hasEnded { return .some(nil) }
                state.reader = continuation
                return nil
            }
            if let known { continuation.resume(returning: known) }
        }
    }

    /// The messages that were dropped since the last call.
    func takeDropped() -> Int {
        state.withLock { state in
            defer { state.dropped = 0 }
            return state.dropped
        }
    }

    /// Changes of the connection always have room: they are few, and none may get lost.
    private static func size(_ event: BrokerEvent) -> Int {
        guard case .message(let message) = event else { return 0 }
        return message.payload.count + allowance
    }
}
