import Synchronization
import WireModel

/// Record files that could not be read, as those who read them have found: what answers leave out, and what is to be
/// salvaged.
final class DamagedFiles: Sendable {
    private struct State {
        /// To be looked at.
        var suspects: [Partition: String] = [:]
        /// Looked at, and not to be mended now: it is no damage that a salvage mends, or there was no room for it.
        var settled: [Partition: String] = [:]
    }

    private let state = Mutex(State())

    /// Returns at once.
    func note(_ partition: Partition, _ message: String) {
        state.withLock { state in
            if state.settled[partition] == nil { state.suspects[partition] = message }
        }
    }

    /// Those to be looked at, oldest first. They stay noted until they are settled.
    var suspects: [Partition] { state.withLock { $0.suspects.keys.sorted() } }

    /// It stays as it is for now.
    func settle(_ partition: Partition, _ message: String) {
        state.withLock { state in
            state.suspects[partition] = nil
            state.settled[partition] = message
        }
    }

    /// What could not be mended is looked at once more, too.
    func lookAgain() {
        state.withLock { state in
            state.suspects.merge(state.settled) { first, _ in first }
            state.settled = [:]
        }
    }

    /// It can be read.
    func forget(_ partition: Partition) {
        state.withLock { state in
            state.suspects[partition] = nil
            state.settled[partition] = nil
        }
    }

    /// Files of a stream that are not read, or not whole.
    func names(of stream: StreamName) -> [String] {
        state.withLock { state in
            (Array(state.suspects.keys) + Array(state.settled.keys)).filter { $0.stream == stream }.sorted().map(\.name)
        }
    }
}
