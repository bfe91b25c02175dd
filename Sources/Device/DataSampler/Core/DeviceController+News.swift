import Logging
import RecordQueue
import Transmitter
import WireModel

/// What the collector says, handed to whom it concerns.
extension DeviceController: TransmitterDelegate {
    func received(_ news: CollectorNews) async {
        parts?.profiles.noticed(newest: news.newestProfileRevision)
        parts?.commands.received(news.commands, enrollment: news.enrollmentID, serverTime: news.serverTime)
    }

    func stateChanged(_ change: TransmitterChange) async {
        switch change {
        case .enrolled(let enrollment):
            core.notices.post(
                DataSamplerNotice(
                    .enrolled, "enrolled as device \(enrollment.deviceID) of organization \(enrollment.organization)",
                    ["device": "\(enrollment.deviceID)"]))
            core.changeGate { $0.isUnenrolled = false }
            await gateChanged()
            await parts?.profiles.lookAgain()
        case .reached:
            if offline.reached() { keepOffline() }
            core.notices.post(DataSamplerNotice(.reachable, "the collector answers"))
            await parts?.profiles.lookAgain()
        case .unreachable(let since, let why):
            let now = core.clock.now()
            let ago = now.timeSinceBoot >= since.timeSinceBoot ? now.timeSinceBoot - since.timeSinceBoot : 0
            if offline.unreachable(since: core.queueTime - Int64(clamping: ago)) { keepOffline() }
            core.notices.post(DataSamplerNotice(.unreachable, "the collector does not answer: \(why)"))
            wake.signal()
        case .forbidden(let why): core.notices.post(DataSamplerNotice(.forbidden, "the collector refuses this device: \(why)"))
        case .diverged(let divergence):
            core.notices.post(DataSamplerNotice(.diverged, "the histories of device and collector have diverged: \(divergence.rawValue)"))
        case .cloned(let former):
            core.notices.post(
                DataSamplerNotice(.newEpoch, "the directory is a copy of device \(former)'s: this machine is enrolled as a new device"))
            await parts?.profiles.lookAgain()
        case .newEpoch(let epoch): core.notices.post(DataSamplerNotice(.newEpoch, "records go into epoch \(epoch)"))
        case .collectorRestored:
            // What it was restored to may have another profile under a lower revision.
            await parts?.profiles.demand()
        case .blocked: await tellChange()
        case .enrollmentAnswered(let succeeded, let duration):
            await core.noteUsage(.enrollmentCall(succeeded ? .succeeded : .failed, duration: duration))
        case .credentialRotated, .epochSettled, .unenrolled: break
        }
    }

    func keepOffline() {
        do { try offlineFile.save(offline) } catch {
            core.logger.warning("the offline time cannot be kept over a restart", metadata: ["reason": "\(error.message)"])
        }
    }
}
