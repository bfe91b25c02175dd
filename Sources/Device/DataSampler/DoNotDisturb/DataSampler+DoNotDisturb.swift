import FoundationEssentials
import Transmitter
import WireModel

extension DataSampler {
    /// Switches do-not-disturb on or off. While it is on, samples, events and logs pause, and beacons contain only
    /// device, enrollment and this state. Events recorded meanwhile wait on disk.
    ///
    /// It takes effect at once and is kept over restarts. The collector is informed now, or at the next contact with
    /// it. A person may decide otherwise at the collector; the newest decision holds, in the order in which the
    /// collector hears of them. A decision has no effect while the profile does not allow do-not-disturb.
    ///
    /// - Throws: `notAllowed` if the profile does not allow it, `notRunning`.
    public func setDoNotDisturb(_ isOn: Bool) async throws(DataSamplerError) {
        let running = try running()
        guard running.core.settings.doNotDisturbAllowed || !isOn else {
            throw DataSamplerError(
                .notAllowed, "the profile does not allow do-not-disturb (doNotDisturbAllowed is off)")
        }
        let former = await running.supervisor.doNotDisturb
        await running.events.report(.doNotDisturbSwitched(isOn, request: RequestID.random().data))
        if isOn != former.isOn { await running.reportChange() }
    }

    /// Like ``setDoNotDisturb(_:)``, and returns once the collector has the decision (ws1).
    ///
    /// - Returns: the newest decision at the collector. It is another one if a person decided meanwhile.
    /// - Throws: `notAllowed` if the profile does not allow it; `collector` if the collector could not be informed. The
    ///   decision then holds here, and the collector is informed at the next contact. `telemetryDisabled`,
    ///   `unenrolled`, `notRunning`.
    @discardableResult public func setDeviceDNDStatus(_ isOn: Bool) async throws(DataSamplerError) -> DeviceDNDStatus {
        try await setDoNotDisturb(isOn)
        return try await fetchDeviceDNDStatus()
    }

    /// Asks the collector for the newest decision on do-not-disturb, and follows it (ws1). A decision of this device
    /// that the collector does not have yet is reported first.
    ///
    /// - Throws: `collector` if the collector could not be asked, `notAllowed` if its profile does not allow what was
    ///   reported to it; that decision is then forgotten. `telemetryDisabled`, `unenrolled`, `notRunning`.
    public func fetchDeviceDNDStatus() async throws(DataSamplerError) -> DeviceDNDStatus {
        let running = try running()
        if case .refuse(let code, let why, _) = running.core.gate.decide(.beacon) {
            throw DataSamplerError(code, why)
        }
        let answer = await running.supervisor.exchangeDoNotDisturb()
        if case .conflict(let why, _) = answer { throw DataSamplerError(.notAllowed, why) }
        if let why = answer.failure {
            throw DataSamplerError(.collector, "do-not-disturb at the collector is not known: \(why)")
        }
        return await running.supervisor.doNotDisturbStatus
    }
}

/// The newest decision on the device's do-not-disturb, and who made it.
public struct DeviceDNDStatus: Codable, Equatable, Sendable {
    /// Who decides on do-not-disturb.
    public enum Decider: String, Codable, Sendable {
        /// The program or a person on this device.
        case device
        /// A person at the collector.
        case person
    }

    /// Whether do-not-disturb was switched on; `false` if nobody has decided.
    public let isOn: Bool
    /// Whether the profile allows it. Otherwise the decision has no effect.
    public let isAllowed: Bool
    /// Who decided; `nil` if nobody has.
    public let setBy: Decider?
    /// The name of the person's token; `nil` if the device decided.
    public let person: String?
    /// When, in microseconds since 1970 by the collector's clock. By this device's clock as long as the collector does
    /// not have it. `nil` if nobody has decided.
    public let setAt: Int64?
    /// `false` while a decision of this device waits until the collector can be informed.
    public let isReported: Bool

    init(_ state: DoNotDisturbState, isAllowed: Bool) {
        isOn = state.isOn
        self.isAllowed = isAllowed
        setBy = state.decision.map { $0.person == nil ? .device : .person }
        person = state.decision?.person
        setAt = state.decision?.at
        isReported = state.isReported
    }
}
