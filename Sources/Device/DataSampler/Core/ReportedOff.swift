import Logging
import RecordQueue
import Transmitter
import WireModel

/// `<data>/switched-off.json`: the collector was informed that telemetry is switched off. Missing if telemetry is on,
/// or if no beacon reports it yet.
struct ReportedOff: KeptState, Equatable {
    static let fileName = "switched-off.json"

    /// The queue's epoch when the beacon was made. A wipe ends the epoch and may erase the beacon, so another one is
    /// made.
    var epoch: String
}

extension DeviceSupervisor {
    /// Informs the collector once that telemetry is switched off. Without it the collector would miss the beacons that
    /// stay away. A failure is tried again with the next change or start.
    func reportOff(_ isOff: Bool) async {
        let file = ReportedOff.file(in: core.configuration.directory)
        let epoch = "\(core.queue.epoch)"
        let gate = core.gate
        do throws(DataSamplerError) {
            if !isOff {
                guard reportedOff != nil else { return }
                try file.file.remove()
                reportedOff = nil
            } else if reportedOff?.epoch != epoch, !gate.isWiping, !gate.isLeaving, !gate.isUnenrolled {
                _ = try await core.recordBeacon(.change, nextBeaconSeconds: 0, reportsOff: true)
                reportedOff = ReportedOff(epoch: epoch)
                parts.transmitter.transmitNow()
                try file.save(ReportedOff(epoch: epoch))
            }
        } catch {
            core.logger.warning(
                "that telemetry is switched off was not told, or not noted", metadata: ["reason": "\(error.message)"])
        }
    }
}
