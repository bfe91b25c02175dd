import Logging
import RecordQueue
import Transmitter
import WireModel

/// What commands do in a directory that no agent holds: they take the lock themselves, record durably, and let go.
/// Nothing is sent.
package struct OfflineSampler: Sendable {
    let core: SamplerCore

    /// Does not wait for the lock: whoever holds it may be asked instead, so the caller tries both in turn. The
    /// configuration's collector may be unknown.
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
    /// - Throws: `wipePending` or `unenrolled` where an agent has begun that or done it, and what an event can meet
    ///   otherwise.
    package func record(_ event: AnalyticsEvent) async throws(DataSamplerError) -> UInt64 {
        // A durable record always has a number.
        try await core.record(event, durability: .durable) ?? 0
    }

    /// - Throws: as `record`.
    package func sendBeacon() async throws(DataSamplerError) -> UInt64 {
        // A running agent's beacon tells of the wipe in the new epoch; here it would be erased with the old one.
        guard !core.gate.isWiping else {
            throw DataSamplerError(
                .wipePending, "a wipe has begun and is not finished: start the agent, which goes on with it")
        }
        return try await core.recordBeacon(.demand, nextBeaconSeconds: 0)
    }

    package func status() async throws(DataSamplerError) -> DataSamplerStatus { try await core.status(nil) }

    package func balance() async throws(DataSamplerError) -> DataSamplerBalance { try await core.balance() }

    package func close() async { await core.close() }
}

/// Looking into the queue, and saying whom it is for: for `ws1agent queue`, through a running agent or over a directory
/// that none holds.
package struct QueueTools: Sendable {
    let queue: RecordQueue

    /// What is there. Throws `queue`, `notRunning`.
    package func inspect() async throws(DataSamplerError) -> QueueInspection {
        do { return try await queue.inspect() } catch { throw DataSamplerError(error) }
    }

    /// Recomputes the chain and all counts; reads everything. Throws `queue`, `notRunning`.
    package func verify() async throws(DataSamplerError) -> QueueVerification {
        do { return try await queue.verify() } catch { throw DataSamplerError(error) }
    }

    /// A page of records as JSON lines.
    ///
    /// - Parameters:
    ///   - cursor: `next` of the page before; `nil` from the start.
    ///   - limit: lines, 1 to 10,000.
    package func export(after cursor: String?, limit: Int) async throws(DataSamplerError) -> QueueExport {
        do { return try await queue.export(after: cursor, limit: limit) } catch { throw DataSamplerError(error) }
    }

    /// Queues records anew that were quarantined. Throws `queue`, `queueFull`, `notRunning`.
    ///
    /// - Parameters:
    ///   - ids: as `inspect` gives them; empty: all.
    ///   - includingUncertain: also those that the collector may have.
    package func retry(_ ids: Set<Int64>, includingUncertain: Bool) async throws(DataSamplerError) -> QueueRetry {
        do { return try await queue.retry(ids, includingUncertain: includingUncertain) } catch {
            throw DataSamplerError(error)
        }
    }

    /// Frees the queue from whom it was bound to; the collector that is asked next binds it.
    ///
    /// - Parameter sending: whether what waits is queued anew for the next one, or dropped and counted as rebound.
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
    /// What was queued by somebody else than this sampler goes now. Throws `notRunning`.
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
