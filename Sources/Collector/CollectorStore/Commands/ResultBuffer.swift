import FoundationEssentials
import Synchronization
import WireModel

/// What devices have said of commands, until it is written. Bounded; what does not fit is said again by the device, since a command whose end is
/// not known is given to it again.
final class ResultBuffer: Sendable {
    struct Entry: Sendable {
        var device: DeviceID
        var at: Int64
        /// In the order they came.
        var results: [WireCommandResult]
    }

    private struct State {
        var entries: [Entry] = []
        var count = 0
        var isWriting = false
    }

    private let state = Mutex(State())
    private static let limit = 16_384

    enum Taken {
        /// Written when a write that is coming takes it.
        case kept
        /// The same, and the caller sees to that write.
        case keptFirst
        case full
    }

    func note(_ entry: Entry) -> Taken {
        state.withLock { state in
            guard state.count + entry.results.count <= Self.limit else { return .full }
            state.entries.append(entry)
            state.count += entry.results.count
            defer { state.isWriting = true }
            return state.isWriting ? .kept : .keptFirst
        }
    }

    func take() -> [Entry] {
        state.withLock { state in
            let entries = state.entries
            state = State()
            return entries
        }
    }
}
