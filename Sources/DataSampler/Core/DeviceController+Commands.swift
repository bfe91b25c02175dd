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

    func wipe(command: Data, reason: String) async throws(DataSamplerError) { try await erase(command: command, reason: reason) }

    /// - Parameter command: `nil`: asked for here.
    func erase(command: Data?, reason: String) async throws(DataSamplerError) {
        guard let parts else { throw DeviceLoop.stopped }
        core.changeGate { $0.isWiping = true }
        await gateChanged()
        do { try await parts.wipes.wipe(command: command, reason: reason) } catch {
            // Without a note nothing was begun; with one it is gone on with.
            if await parts.wipes.pending == nil {
                core.changeGate { $0.isWiping = false }
                await gateChanged()
            }
            throw error
        }
    }

    func wipeWasReported() async throws(DataSamplerError) {
        guard let parts else { return }
        try await parts.wipes.finish()
        await gateChanged()
        await tellChange()
    }

    nonisolated func transmitNow() { transmitter.withLock { $0 }?.transmitNow() }
}
