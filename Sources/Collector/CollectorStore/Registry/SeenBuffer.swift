import Synchronization
import WireModel

/// What devices' newest records say of them, until it is written: one entry a device, bounded. Derived from records, so losing it costs a
/// rebuild and nothing else.
final class SeenBuffer: Sendable {
    private struct State {
        var entries: [DeviceID: DeviceObservation] = [:]
        var lastWrite: Int64 = .min
        var isWriting = false
    }

    private let state = Mutex(State())
    private static let intervalMicroseconds: Int64 = 3_000_000
    private static let limit = 65_536

    /// - Returns: whether the caller should see to it that it is written now.
    func note(_ device: DeviceID, _ sight: DeviceObservation) -> Bool {
        state.withLock { state in
            if state.entries[device]?.merge(sight) == nil, state.entries.count < Self.limit { state.entries[device] = sight }
            let (elapsed, overflow) = sight.at.subtractingReportingOverflow(state.lastWrite)
            // A clock stepped back must not hold writing for long either.
            guard !state.isWriting, overflow || elapsed < 0 || elapsed >= Self.intervalMicroseconds else { return false }
            state.isWriting = true
            return true
        }
    }

    func take(at time: Int64) -> [DeviceID: DeviceObservation] {
        state.withLock { state in
            let entries = state.entries
            state.entries = [:]
            state.lastWrite = time
            state.isWriting = false
            return entries
        }
    }
}
