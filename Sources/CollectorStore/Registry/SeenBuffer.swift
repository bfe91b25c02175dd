import Synchronization
import WireModel

/// What devices' newest records say of them, until it is written: one entry a device, bounded. Derived from records, so losing it costs a
/// rebuild and nothing else.
final class SeenBuffer: Sendable {
    struct Entry: Sendable {
        var at: Int64
        var beacon: WireBeacon?
        var identity: WireSystemIdentity?
    }

    private struct State {
        var entries: [DeviceID: Entry] = [:]
        var lastWrite: Int64 = .min
        var isWriting = false
    }

    private let state = Mutex(State())
    private static let intervalMicroseconds: Int64 = 3_000_000
    private static let limit = 65_536

    /// - Returns: whether the caller should see to it that it is written now.
    func note(_ device: DeviceID, _ entry: Entry) -> Bool {
        state.withLock { state in
            if var former = state.entries[device] {
                former.at = max(former.at, entry.at)
                former.beacon = entry.beacon ?? former.beacon
                former.identity = entry.identity ?? former.identity
                state.entries[device] = former
            } else if state.entries.count < Self.limit {
                state.entries[device] = entry
            }
            let (elapsed, overflow) = entry.at.subtractingReportingOverflow(state.lastWrite)
            // A clock stepped back must not hold writing for long either.
            guard !state.isWriting, overflow || elapsed < 0 || elapsed >= Self.intervalMicroseconds else { return false }
            state.isWriting = true
            return true
        }
    }

    func take(at time: Int64) -> [DeviceID: Entry] {
        state.withLock { state in
            let entries = state.entries
            state.entries = [:]
            state.lastWrite = time
            state.isWriting = false
            return entries
        }
    }
}
