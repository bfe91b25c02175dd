import Synchronization
import TelemetryBasics

/// Requests with log records between the connections and the thread that stores them.
///
/// A request is stored as a whole, and answered then. One that waits too long is answered before and taken out, so that
/// its sender sends it again. Bodies that are being received and lines that wait share one bound of memory. Safe from
/// any thread.
final class OTLPInbox: Sendable {
    enum Outcome: Sendable {
        case stored
        /// Nothing of it is stored.
        case failed
    }

    private struct Request: Sendable {
        var lines: [OTLPLines.Line]
        var bytes: Int
        /// Milliseconds since boot.
        var arrival: Int64
        var done: @Sendable (Outcome) -> Void
    }

    private struct State {
        var requests: [Request] = []
        /// The first requests, which were handed out and are not stored yet.
        var handed = 0
        /// Of lines that wait and of bodies.
        var bytes = 0
        var waitingBytes = 0
        var isClosed = false
    }

    private let state = Mutex(State())
    private let maximumBytes: Int
    private let arrives: @Sendable () -> Void

    /// - Parameters:
    ///   - maximumBytes: of bodies and lines.
    ///   - arrives: called by another thread when a request waits.
    init(maximumBytes: Int, arrives: @escaping @Sendable () -> Void) {
        self.maximumBytes = maximumBytes
        self.arrives = arrives
    }

    /// Takes room for bytes of a body.
    /// - Returns: `false` if there is none.
    func reserve(_ bytes: Int) -> Bool {
        state.withLock { state in
            guard state.bytes + bytes <= maximumBytes else { return false }
            state.bytes += bytes
            return true
        }
    }

    func release(_ bytes: Int) { state.withLock { $0.bytes -= bytes } }

    /// Lets lines wait to be stored.
    /// - Parameters:
    ///   - now: milliseconds since boot.
    ///   - done: called once, by any thread, if they wait.
    /// - Returns: `false` if there is no room, or nothing is taken any more.
    func add(_ lines: OTLPLines, at now: Int64, done: @escaping @Sendable (Outcome) -> Void) -> Bool {
        let waits = state.withLock { state in
            guard !state.isClosed, state.bytes + lines.bytes <= maximumBytes else { return false }
            state.requests.append(Request(lines: lines.lines, bytes: lines.bytes, arrival: now, done: done))
            state.bytes += lines.bytes
            state.waitingBytes += lines.bytes
            return true
        }
        if waits { arrives() }
        return waits
    }

    /// Bytes of lines that are not stored yet.
    var waitingBytes: Int { state.withLock { $0.waitingBytes } }

    /// Bytes of bodies that are received or worked on.
    var bodyBytes: Int { state.withLock { $0.bytes - $0.waitingBytes } }

    /// The lines of the next request; `nil` if none waits.
    func next() -> [OTLPLines.Line]? {
        state.withLock { state in
            guard state.handed < state.requests.count else { return nil }
            defer { state.handed += 1 }
            return state.requests[state.handed].lines
        }
    }

    /// What was handed out is on synced disk, or not.
    func settle(_ outcome: Outcome) {
        let settled = state.withLock { state in Self.remove(state.handed, from: &state) }
        for request in settled { request.done(outcome) }
    }

    /// Gives up what has waited since then, and was not handed out.
    /// - Parameter time: milliseconds since boot.
    func expire(before time: Int64) {
        let expired = state.withLock { state in
            // They came in order.
            let count = state.requests.prefix { $0.arrival < time }.count
            return state.handed == 0 ? Self.remove(count, from: &state) : []
        }
        for request in expired { request.done(.failed) }
    }

    /// Takes nothing more.
    func close() { state.withLock { $0.isClosed = true } }

    private static func remove(_ count: Int, from state: inout State) -> [Request] {
        let removed = Array(state.requests.prefix(count))
        state.requests.removeFirst(count)
        state.handed = 0
        let bytes = removed.reduce(0) { $0 + $1.bytes }
        state.bytes -= bytes
        state.waitingBytes -= bytes
        return removed
    }
}
