import RecordStore
import Synchronization
import TelemetryBasics
import WireModel

/// The notice of an incident.
extension DeviceIncident {
    package var code: NoticeRow.Code {
        switch kind {
        case .recordsLost: .recordsLost
        case .damagedOnDevice: .queueDamaged
        case .identityConflict: .identityConflict
        }
    }

    /// - Parameters:
    ///   - count: the number of records; for a conflict, how often it happened.
    ///   - streams: all to which it has happened since the notice was first raised.
    package func detail(_ count: UInt64, _ streams: Set<StreamName>) -> String {
        let streams = Self.text(streams.sorted())
        return switch kind {
        case .recordsLost:
            "\(CountText.of(count, "record")) of the \(streams) cannot be found that the collector had acknowledged. "
                + "This happens after a restore from backup, or if a record file was lost."
        case .damagedOnDevice:
            "\(CountText.of(count, "record")) of the \(streams) got lost on the device, because its queue was damaged. "
                + "Readable records were kept. "
                + "`ws1agent status` on the device shows the damage; its disk may be failing."
        case .identityConflict:
            "The device's history of the \(streams) has diverged from the stored one: "
                + "two machines may share one identity, or an older image was brought back. "
                + "The device solves this by itself, or enrolls again."
        }
    }

    private static func text(_ streams: [StreamName]) -> String {
        guard let last = streams.last, streams.count > 1 else { return streams.map { "\($0) stream" }.joined() }
        return "\(streams.dropLast().map(\.description).joined(separator: ", ")) and \(last) streams"
    }
}

/// Incidents until they are written, because storing records never waits for that. Limited; incidents that do not fit
/// are counted.
final class IncidentBuffer: Sendable {
    private struct State {
        var counts: [DeviceIncident: UInt64] = [:]
        var leftOut: UInt64 = 0
    }

    private static let limit = 4096
    private let state = Mutex(State())

    func record(_ incident: DeviceIncident, count: UInt64) {
        state.withLock { state in
            guard state.counts[incident] != nil || state.counts.count < Self.limit else {
                state.leftOut.addSaturating(1)
                return
            }
            state.counts[incident, default: 0].addSaturating(count)
        }
    }

    func drain() -> (counts: [DeviceIncident: UInt64], leftOut: UInt64) {
        state.withLock { state in
            defer { state = State() }
            return (state.counts, state.leftOut)
        }
    }
}
