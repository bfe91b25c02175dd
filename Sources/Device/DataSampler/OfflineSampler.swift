import Logging
import WireModel

/// What commands do in a directory that no agent holds: they take the lock themselves, record durably, and let go. Nothing is sent.
package struct OfflineSampler: Sendable {
    let core: SamplerCore

    /// Does not wait for the lock: whoever holds it may be asked instead, so the caller tries both in turn. The configuration's collector may be
    /// unknown.
    package static func open(
        _ configuration: DataSamplerConfiguration, logger: Logger
    ) async throws(DataSamplerError) -> OfflineSampler {
        var environment = SamplerEnvironment()
        environment.lockWait = .zero
        let logger = configuration.traceLevel.applied(to: logger)
        let core = try await SamplerCore.open(configuration, environment: environment, logger: logger)
        core.honourWhatIsUnderWay()
        return OfflineSampler(core: core)
    }

    /// Returns the event's number, once it is on synced disk.
    ///
    /// - Throws: `wipePending` or `unenrolled` where an agent has begun that or done it, and what an event can meet otherwise.
    package func record(_ event: AnalyticsEvent) async throws(DataSamplerError) -> UInt64 {
        // A durable record always has a number.
        try await core.record(event, durability: .durable) ?? 0
    }

    /// - Throws: as `record`.
    package func sendBeacon() async throws(DataSamplerError) -> UInt64 {
        // A running agent's beacon tells of the wipe in the new epoch; here it would be erased with the old one.
        guard !core.gate.isWiping else {
            throw DataSamplerError(.wipePending, "a wipe has begun and is not finished: start the agent, which goes on with it")
        }
        return try await core.recordBeacon(.demand, nextBeaconSeconds: 0)
    }

    package func status() async throws(DataSamplerError) -> DataSamplerStatus { try await core.status(nil) }

    package func balance() async throws(DataSamplerError) -> DataSamplerBalance { try await core.balance() }

    package func close() async { await core.close() }
}
