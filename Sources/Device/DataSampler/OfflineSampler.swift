import Logging
import RecordQueue
import Transmitter
import WireModel

/// Access for commands to a directory that no agent holds. It acquires the lock, records durably, and releases the
/// lock. It sends nothing.
package struct OfflineSampler: Sendable {
    let core: SamplerCore

    /// Does not wait for the lock: the process that holds it may be asked instead, so the caller tries both in turn.
    /// The configuration's collector may be unknown.
    ///
    /// - Parameter noticed: called with what a person should know, such as a damaged file that was set aside.
    package static func open(
        _ configuration: DataSamplerConfiguration, logger: Logger,
        noticed: @escaping @Sendable (DataSamplerNotice) -> Void = { _ in }
    ) async throws(DataSamplerError) -> OfflineSampler {
        var environment = SamplerEnvironment()
        environment.lockWait = .zero
        let logger = configuration.traceLevel.applied(to: logger)
        let core = try await SamplerCore.open(
            configuration, environment: environment, notices: NoticeBoard(heard: noticed), logger: logger)
        core.honourWhatIsUnderWay()
        return OfflineSampler(core: core)
    }

    /// Returns the event's number once it is on synced disk.
    ///
    /// - Parameter application: bundle id of the program whose event it is, up to 200 bytes; `nil` for the agent.
    /// - Throws: `keyUnavailable` if the directory is encrypted and the keys are not at hand; `wipePending` or
    ///   `unenrolled` if an agent began or completed that, and other errors of recording.
    package func record(
        _ event: AnalyticsEvent, of application: String? = nil
    ) async throws(DataSamplerError) -> UInt64 {
        try core.requireKeys()
        // A durable record always has a number.
        return try await core.record(event, of: application, durability: .durable) ?? 0
    }

    /// - Throws: as `record`.
    package func sendBeacon() async throws(DataSamplerError) -> UInt64 {
        try core.requireKeys()
        // A running agent's beacon reports the wipe in the new epoch. Here it would be erased with the old one.
        guard !core.gate.isWiping else {
            throw DataSamplerError(
                .wipePending, "a wipe is not finished: start the agent, which completes it")
        }
        return try await core.recordBeacon(.demand, nextBeaconSeconds: 0)
    }

    package func status() async throws(DataSamplerError) -> DataSamplerStatus { try await core.status(nil) }

    package func balance() async throws(DataSamplerError) -> DataSamplerBalance { try await core.balance() }

    package func profile() -> DataSamplerProfile? {
        DataSamplerProfile(core.settings, fetched: core.storedProfile?.stored.fetched)
    }

    package func close() async { await core.close() }
}

/// Inspects and rebinds the queue for `ws1agent queue`, through a running agent or in a directory that no agent holds.
package struct QueueTools: Sendable {
    let queue: RecordQueue

    /// The present contents. Throws `queue`, `notRunning`.
    package func inspect() async throws(DataSamplerError) -> QueueInspection {
        do { return try await queue.inspect() } catch { throw DataSamplerError(error) }
    }

    /// Recomputes the chain and all counts. Reads everything. Throws `queue`, `notRunning`.
    package func verify() async throws(DataSamplerError) -> QueueVerification {
        do { return try await queue.verify() } catch { throw DataSamplerError(error) }
    }

    /// A page of records as JSON lines.
    ///
    /// - Parameters:
    ///   - cursor: `next` of the former page; `nil` for the start.
    ///   - limit: lines, 1 to 10,000.
    package func export(after cursor: String?, limit: Int) async throws(DataSamplerError) -> QueueExport {
        do { return try await queue.export(after: cursor, limit: limit) } catch { throw DataSamplerError(error) }
    }

    /// Queues quarantined records again. Throws `queue`, `queueFull`, `notRunning`.
    ///
    /// - Parameters:
    ///   - ids: as in `inspect`; empty for all.
    ///   - includingUncertain: also records that the collector may have.
    package func retry(_ ids: Set<Int64>, includingUncertain: Bool) async throws(DataSamplerError) -> QueueRetry {
        do { return try await queue.retry(ids, includingUncertain: includingUncertain) } catch {
            throw DataSamplerError(error)
        }
    }

    /// Clears the queue's binding. The next collector that is asked binds it.
    ///
    /// - Parameter sending: whether waiting records are queued again for the next collector, or dropped and counted as
    ///   rebound.
    package func rebind(sending: Bool) async throws(DataSamplerError) {
        do throws(QueueError) {
            try await queue.endEpoch(sending ? .reboundSend : .reboundDrop)
            try await queue.rebind(to: nil)
        } catch {
            throw DataSamplerError(error)
        }
    }
}

extension DataSampler {
    /// Another program queued something; sends it now. Throws `notRunning`.
    package func transmitNow() throws(DataSamplerError) { try running().parts.transmitter.transmitNow() }

    /// Throws `notRunning`.
    package func queueTools() throws(DataSamplerError) -> QueueTools { QueueTools(queue: try running().core.queue) }
}

extension OfflineSampler {
    package var queueTools: QueueTools { QueueTools(queue: core.queue) }

    /// Salvages a damaged queue now, in a directory that no agent holds.
    ///
    /// - Throws: `queueInUse` while an agent runs, `queue`, `queueFull`.
    package static func repairQueue(
        _ configuration: DataSamplerConfiguration, logger: Logger
    ) throws(DataSamplerError) -> QueueRepair {
        do throws(QueueError) {
            return try RecordQueue.repair(
                directory: configuration.directory, clock: SystemRecordClock(), logger: logger)
        } catch {
            throw DataSamplerError(error)
        }
    }
}
