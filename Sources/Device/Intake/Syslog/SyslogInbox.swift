import LogStore
import Synchronization
import WireModel

/// Messages between the threads that receive them and the one that stores them, in bounded memory.
///
/// A socket gives nothing twice, so what was handed out stays here until it is on synced disk. What finds no room is
/// counted by level, and whoever sends does not wait. Safe from any thread.
final class SyslogInbox: Sendable {
    struct Message: Equatable, Sendable {
        var text: [UInt8]
        /// Bytes behind `text` that were not kept.
        var leftOutBytes = 0
        /// Microseconds since 1970.
        var arrival: Int64
        /// What a message costs beside its bytes.
        static let overhead = 96

        var bytes: Int { text.count + Self.overhead }
    }

    /// What was lost, since it was stored last.
    struct Losses: Equatable, Sendable {
        /// Found no room here.
        var noRoom = LogLevelCounts()
        /// The kernel had no room in a socket, because nobody read it in time.
        var inKernel: UInt64 = 0
        /// Connections that were closed at once, because there were too many.
        var connections: UInt64 = 0

        static func += (left: inout Losses, right: Losses) {
            left.noRoom += right.noRoom
            left.inKernel += right.inKernel
            left.connections += right.connections
        }
    }

    private struct State {
        var messages: [Message] = []
        var bytes = 0
        /// The first messages, which were handed out and are not stored yet.
        var handed = 0
        var losses = Losses()
        var handedLosses = Losses()
    }

    private let state = Mutex(State())
    private let maximumBytes: Int
    private let fills: @Sendable () -> Void

    /// - Parameters:
    ///   - maximumBytes: of messages, with what they cost beside their text.
    ///   - fills: called when half of them are used, by the thread that receives.
    init(maximumBytes: Int, fills: @escaping @Sendable () -> Void) {
        self.maximumBytes = maximumBytes
        self.fills = fills
    }

    func add(_ message: Message) {
        let isHalf = state.withLock { state in
            guard state.bytes + message.bytes <= maximumBytes else {
                let severity = message.text.withUnsafeBytes { SyslogMessage.severity(of: $0) }
                state.losses.noRoom[SyslogPriority.level(severity)] += 1
                return false
            }
            let before = state.bytes
            state.messages.append(message)
            state.bytes += message.bytes
            return before < maximumBytes / 2 && state.bytes >= maximumBytes / 2
        }
        if isHalf { fills() }
    }

    func count(_ losses: Losses) { state.withLock { $0.losses += losses } }

    /// Bytes that are not stored yet.
    var bytes: Int { state.withLock { $0.bytes } }

    /// The next messages, up to so many bytes, one at least. They stay here until ``stored()``.
    func next(bytes: Int) -> [Message] {
        state.withLock { state in
            var end = state.handed
            var sum = 0
            while end < state.messages.count, end == state.handed || sum + state.messages[end].bytes <= bytes {
                sum += state.messages[end].bytes
                end += 1
            }
            defer { state.handed = end }
            return Array(state.messages[state.handed..<end])
        }
    }

    /// What was lost. It counts until ``stored()``.
    func nextLosses() -> Losses {
        state.withLock { state in
            defer {
                state.handedLosses += state.losses
                state.losses = Losses()
            }
            return state.losses
        }
    }

    /// All that was handed out is on synced disk.
    func stored() {
        state.withLock { state in
            for message in state.messages[..<state.handed] { state.bytes -= message.bytes }
            state.messages.removeFirst(state.handed)
            state.handed = 0
            state.handedLosses = Losses()
        }
    }

    /// What was handed out could not be stored, and is handed out again.
    func takeBack() {
        state.withLock { state in
            state.handed = 0
            state.losses += state.handedLosses
            state.handedLosses = Losses()
        }
    }
}
