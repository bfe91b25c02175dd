import Synchronization
import WireModel

/// Incidents until they are written: those who store records never wait for it. Bounded; what does not fit is counted.
final class IncidentBuffer: Sendable {
    private struct State {
        var counts: [DeviceIncident: UInt64] = [:]
        var leftOut: UInt64 = 0
    }

    private static let limit = 4096
    private let state = Mutex(State())

    func note(_ incident: DeviceIncident, count: UInt64) {
        state.withLock { state in
            guard state.counts[incident] != nil || state.counts.count < Self.limit else {
                state.leftOut.addSaturating(1)
                return
            }
            state.counts[incident, default: 0].addSaturating(count)
        }
    }

    func take() -> (counts: [DeviceIncident: UInt64], leftOut: UInt64) {
        state.withLock { state in
            defer { state = State() }
            return (state.counts, state.leftOut)
        }
    }
}
