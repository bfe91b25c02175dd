extension DataSampler {
    /// Says the device's push token. A change goes to the collector at once and stays in every beacon until one that holds it is
    /// acknowledged, also after a restart; an unchanged token is not sent (ws1). `nil` clears the one the collector has.
    ///
    /// On synced disk when this returns; while the beacon cannot be sent it waits like every other.
    ///
    /// - Parameter token: 1 to 4,096 bytes, or `nil`.
    /// - Throws: `invalidConfiguration` for a token out of bounds, `storage`, `notRunning`, and what ``sendBeacon()`` throws; the token is then
    ///   kept and told by the next beacon.
    public func setPushToken(_ token: String?) async throws(DataSamplerError) {
        let running = try running()
        guard try running.core.beacons.pushTokens.set(token) else { return }
        try await running.parts.loop.sendChange()
    }

    /// Says who uses the device, for beacons; `nil`: nobody is told. Kept in memory only: say it after each start. A change goes at once.
    ///
    /// What is sent of each field the privacy class `user` says.
    /// - Throws: `notRunning`, and what ``sendBeacon()`` throws.
    public func setUser(_ user: DeviceUser?) async throws(DataSamplerError) {
        let running = try running()
        guard running.core.beacons.setUser(user) else { return }
        try await running.parts.loop.sendChange()
    }

    /// Looks now for signs of compromise, instead of within ten minutes; a beacon tells them at once where a verdict has changed.
    ///
    /// - Returns: the verdict of all detectors together, and what each has seen, by its name.
    /// - Throws: `notRunning`.
    public func refreshDeviceCompromisedStatus() async throws(DataSamplerError) -> DeviceCompromisedStatus {
        let running = try running()
        let former = await running.core.beacons.compromise.report()
        let report = await running.core.beacons.compromise.refresh()
        if report.differs(from: former) { await running.parts.loop.tellChange() }
        return DeviceCompromisedStatus(report)
    }
}

/// Whether the device is compromised, and why.
public struct DeviceCompromisedStatus: Equatable, Sendable {
    /// `yes` where one sign was seen; `no` only where all that there was to look at could be looked at.
    public let verdict: CompromiseFinding.Verdict
    /// What each detector has seen, by its name; one that had nothing to look at is not in it.
    public let findings: [String: CompromiseFinding]

    init(_ report: CompromiseReport) {
        verdict = report.verdict
        findings = Dictionary(report.findings.map { ($0.detector, $0.finding) }) { first, _ in first }
    }
}
