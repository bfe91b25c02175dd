import FoundationEssentials
import RecordQueue
import SampleModules
import Transmitter
import WireModel

/// The actions of commands on a running device, part by part.
struct DeviceActions: CommandActions {
    let core: SamplerCore
    let events: DeviceEvents
    let loop: DeviceLoop
    let transmitter: Transmitter
    let profiles: ProfileKeeper
    let wipes: WipeKeeper
    let logRequests: LogRequests
    let messages: MessageDelivery
    let traces: TraceSwitch

    func sendBeacon() async throws(DataSamplerError) {
        await core.beacons.compromise.examine(telling: events)
        _ = try await core.asked(.beaconForced) { () async throws(DataSamplerError) in
            try await loop.sendBeacon(.command)
        }
    }

    func deviceInformation() async -> WireDeviceInformation {
        let settings = core.settings
        var information = WireDeviceInformation()
        if let identity = core.machineIdentity() { information.identity = identity }
        information.modules = settings.modules.map(\.rawValue) + (await loop.customModules).keys.sorted()
        information.attributes = [
            "library.version": DataSampler.version, "profile.revision": "\(settings.profileRevision)",
            "queue.epoch": "\(core.queue.epoch)",
            "trace.level": traces.level.rawValue, "analytics.enabled": "\(settings.analyticsEnabled)",
            "sample.interval": "\(settings.sampleIntervals.values.min() ?? 0)",
            "transmit.interval": Self.seconds(settings.transmitInterval),
            "event.hold": Self.seconds(settings.eventHold), "application": core.configuration.applicationIdentifier,
            "application.version": core.configuration.applicationVersion,
        ]
        for (name, reason) in settings.unavailable { information.attributes["module.\(name)"] = reason }
        return information
    }

    private static func seconds(_ duration: Duration) -> String {
        "\(Double(duration.wholeMicroseconds) / 1_000_000)"
    }

    func reloadProfile() async -> ProfileKeeper.Outcome {
        await core.asked(.profileReloaded, didSucceed: \.isSuccess, profiles.refresh)
    }

    func changeLogLevel(_ level: LogLevelWish?) async { await events.report(.logLevelChanged(level)) }

    func requestLogs(command: Data, _ request: WireRequestLogs) async throws(DataSamplerError) {
        try await logRequests.begin(command: command, request)
    }

    func deliver(command: Data, _ message: WireDeliverMessage) -> Bool { messages.begin(command: command, message) }

    func claimErasedMessages() -> Bool { messages.claimErasure() }

    func cancel(command: Data) async {
        messages.cancel(command: command)
        await logRequests.cancel(command: command)
    }

    func wipe(command: Data, reason: String, endsEnrollment: Bool) async throws(DataSamplerError) {
        try await wipes.wipe(command: command, reason: reason, endsEnrollment: endsEnrollment)
    }

    func wipeEvidence(command: Data) async -> WipeEvidence? { await wipes.evidence(of: command) }

    func wipeUnderWay() async -> Data? { await wipes.pending?.command }

    func wipeWasReported() async throws(DataSamplerError) { try await wipes.wasReported() }

    func askForNews() async { await transmitter.askForNews() }

    func transmitNow() { transmitter.transmitNow() }
}
