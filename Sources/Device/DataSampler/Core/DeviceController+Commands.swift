import FoundationEssentials
import SampleModules
import Logging
import RecordQueue
import Synchronization
import Transmitter
import WireModel

/// What commands do.
extension DeviceController: CommandActions {
    func sendBeacon() async throws(DataSamplerError) { _ = try await parts?.loop.sendBeacon(.command) }

    func deviceInformation() async -> WireDeviceInformation {
        let settings = core.settings
        var information = WireDeviceInformation()
        if let identity = core.machineIdentity() { information.identity = identity }
        information.modules = settings.modules.map(\.rawValue) + customModules.keys.sorted()
        information.attributes = [
            "library.version": DataSampler.version, "profile.revision": "\(settings.profileRevision)", "queue.epoch": "\(core.queue.epoch)",
            "trace.level": traces.level.rawValue, "analytics.enabled": "\(settings.analyticsEnabled)",
            "sample.interval": "\(settings.sampleIntervals.values.min() ?? 0)", "transmit.interval": "\(settings.transmitInterval)",
            "event.hold": "\(settings.eventHold)", "application": core.configuration.applicationIdentifier,
            "application.version": core.configuration.applicationVersion,
        ]
        for (name, reason) in settings.unavailable { information.attributes["module.\(name)"] = reason }
        return information
    }

    func reloadProfile() async -> ProfileKeeper.Outcome {
        await parts?.profiles.refresh() ?? .failed("the data sampler has not started yet")
    }

    func changeLogLevel(_ level: WireLogLevel?) async { await changeTraceLevel(level) }

    func requestLogs(command: Data, _ request: WireRequestLogs) async throws(DataSamplerError) {
        guard let parts else { throw DeviceLoop.stopped }
        try await parts.logRequests.begin(command: command, request)
    }

    /// Of logs, for whoever asked for them.
    func uploadChanged(_ upload: LogUpload) async { await parts?.logRequests.changed(upload) }

    func cancelLogs(command: Data) async { await parts?.logRequests.cancel(command: command) }

    func wipe(command: Data, reason: String) async throws(DataSamplerError) { try await erase(command: command, reason: reason) }

    /// - Parameter command: `nil`: asked for here.
    func erase(command: Data?, reason: String) async throws(DataSamplerError) {
        guard let parts else { throw DeviceLoop.stopped }
        try await parts.wipes.begin(command: command, reason: reason)
        await gateChanged()
        try await parts.wipes.erase()
    }

    func wipeUnderWay() async -> Data? { await parts?.wipes.pending?.command }

    func wipeWasReported() async throws(DataSamplerError) {
        guard let parts else { return }
        try await parts.wipes.finish()
        guard await parts.wipes.pending == nil else { return }
        await gateChanged()
        await tellChange()
    }

    nonisolated func transmitNow() { transmitter.withLock { $0 }?.transmitNow() }
}
