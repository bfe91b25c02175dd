import Transmitter
import WireModel

extension DataSampler {
    /// The known facts about this device (ws1: `DeviceInformationController`). Asks nobody.
    ///
    /// - Throws: `notRunning`.
    public func deviceInformation() async throws(DataSamplerError) -> DeviceInformation {
        let running = try running()
        return DeviceInformation(
            // Of an identity that cannot be read nothing is known here; `status` says why.
            present: await running.core.presentBeacon(withVerdicts: true),
            organization: (try? running.core.identity.load())?.organization, collector: configuration.collectorURL,
            collectorVersion: running.parts.transmitter.status.collectorVersion)
    }

    /// Asks the collector now for profile and commands, and reports the device's state with a beacon (ws1). The beacon
    /// is recorded also if the collector cannot be asked.
    ///
    /// - Returns: what is then known of this device.
    /// - Throws: what ``reloadProfile()``, ``sendBeacon()`` and ``loadCommands()`` throw.
    @discardableResult public func requery() async throws(DataSamplerError) -> DeviceInformation {
        let isReloaded: Result<Bool, DataSamplerError>
        do { isReloaded = .success(try await reloadProfile()) } catch { isReloaded = .failure(error) }
        try await sendBeacon()
        _ = try isReloaded.get()
        try await loadCommands()
        return try await deviceInformation()
    }

    /// Asks the collector now for the commands that wait for this device (ws1). They are carried out in the background.
    ///
    /// - Throws: `collector` if it could not be asked, `telemetryDisabled`, `unenrolled`, `notRunning`.
    public func loadCommands() async throws(DataSamplerError) {
        let running = try running()
        try running.core.requireAsking()
        if let why = await running.parts.transmitter.askForNews().failure {
            throw DataSamplerError(.collector, "the commands could not be fetched: \(why)")
        }
    }

    /// Asks the collector now which applications the organization has assigned to this device (ws1).
    ///
    /// - Throws: `collector` if it could not be asked, `telemetryDisabled`, `unenrolled`, `notRunning`.
    public func fetchApplicationAssignmentStatus() async throws(DataSamplerError) -> ApplicationAssignment {
        let running = try running()
        try running.core.requireAsking()
        let answer = await running.parts.transmitter.request(.get, WireNames.assignmentsPath)
        guard case .success(let body, _) = answer, let assigned = try? WireAssignmentsAnswer.decode(body) else {
            throw DataSamplerError(
                .collector, "the assignments could not be fetched: \(answer.failure ?? "the answer cannot be read")")
        }
        return ApplicationAssignment(applications: assigned.listed ? assigned.applications : nil)
    }
}

extension SamplerCore {
    /// - Throws: why the collector is not asked now: `telemetryDisabled`, `unenrolled`.
    func requireAsking() throws(DataSamplerError) {
        if case .refuse(let code, let why, _) = gate.decide(.beacon) { throw DataSamplerError(code, why) }
    }
}
