import ClusterRegistry
import ClusterStore
import Collector
import CollectorMaintenance
import CollectorTunables
import Forwarding
import Foundation
import LogArchive
import Logging
import RecordStore
import Registry
import ServiceLifecycle
import Synchronization
import WireModel

/// The servers of a cluster, which this collector shares with others.
///
/// Beside the server runs what each collector does for itself: it learns what others change (`RegistryFollower`), and
/// writes what its own devices caused. The rest is done by one collector at a time: housekeeping in turns
/// (`HousekeepingTurn`), and the tables for people under a lock (`PeopleTables`).
struct ServedCluster: ServedData {
    let metadata: MetadataService
    let notices: NoticeService
    let archive: LogArchive
    let created: FirstStart?
    let retention: LiveRetention
    private let data: ClusterData
    private let records: ClusterRecordStore
    private let follower: RegistryFollower
    private let presence: CollectorPresence
    private let metrics: CollectorMetrics
    private let logger: Logger

    var store: any RecordStore { records }
    var collectors: @Sendable () -> Int { { [presence] in presence.count } }

    /// How often what devices caused becomes notices.
    private static let flushInterval = Tunables.Housekeeping.interval
    /// How often logs that nobody refers to are looked for in the bucket.
    private static let cleanUpInterval = Duration.seconds(86_400)

    /// - Throws: `.unavailable` if a server does not answer; `.notFound` before `cluster init`.
    init(_ settings: Settings, telemetry: CollectorTelemetry, logger: Logger) async throws {
        self.logger = logger
        metrics = telemetry.metrics
        data = try ClusterData(settings, logger: logger)
        do {
            // The tokens of the first start are written there.
            try DataDirectory(path: settings.data).make()
            try await data.requireUsable()
            let incidents = IncidentNotes()
            records = try await data.open(incidents: incidents.note, observer: telemetry.metrics)
            (metadata, created) = try data.metadata(deliver: FirstStartFiles(directory: settings.data).write)
            metadata.setRecordQuotas(settings.recordQuotas)
            let notices = NoticeService(metadata: metadata)
            self.notices = notices
            incidents.notices.withLock { $0 = notices }
            var logs = LogArchive.Configuration()
            logs.quotas = settings.logQuotas
            archive = try LogArchive.open(
                metadata: metadata, chunks: try data.chunks(), configuration: logs, logger: logger)
            presence = CollectorPresence(data.postgresRegistry, name: Self.name(settings), logger: logger)
            follower = try RegistryFollower(data.postgresRegistry, of: metadata, logger: logger)
        } catch {
            await data.close()
            throw error
        }
        retention = LiveRetention(settings.retention)
    }

    /// The name of this collector, for people.
    private static func name(_ settings: Settings) -> String {
        "\(ProcessInfo.processInfo.hostName) \(settings.listen)"
    }

    func services(
        _ watched: WatchedFiles, _ webhook: WebhookSender?, _ forwarding: ForwardService
    ) throws -> [any Service] {
        let turn = try HousekeepingTurn(
            data.postgresRegistry, name: Self.name(watched.settings), logger: logger)
        let tables = records.peopleTables { [metadata, logger] devices in
            do throws(StoreError) { return try await metadata.owners(of: devices) } catch {
                logger.debug("organizations of devices are not known now", metadata: ["store.error": "\(error)"])
                return [:]
            }
        }
        return [
            FollowerService(follower: follower),
            BackgroundService { [notices, metadata] in
                while !Task.isCancelled {
                    await notices.flush()
                    await metadata.flush()
                    try? await Task.sleep(for: Self.flushInterval)
                }
            },
            BackgroundService { await tables.run() },
            BackgroundService { [presence] in await presence.run() },
            BackgroundService {
                await turn.run { await metrics.duringHousekeeping { await keepHouse(watched, webhook, forwarding) } }
            },
        ]
    }

    /// One turn. Whatever it remembers begins with it, because another collector had the last one.
    private func keepHouse(_ watched: WatchedFiles, _ webhook: WebhookSender?, _ forwarding: ForwardService) async {
        let clock = SystemStoreClock()
        // Its own, so that a turn that is over loses no notice of this collector's devices.
        let notices = NoticeService(metadata: metadata)
        let recordRetention: RecordRetention
        do throws(StoreError) {
            recordRetention = try RecordRetention(
                store: records, registry: metadata.registry, limits: retention.limits, notices: notices, clock: clock,
                deviceClocks: metadata.deviceClocks, logger: logger)
        } catch { return logger.error("housekeeping could not begin", metadata: ["store.error": "\(error)"]) }
        await retention.use(recordRetention)
        let housekeeping = Housekeeping(
            retention: recordRetention, files: RecordFileWatch(store: records, notices: notices, logger: logger),
            certificates: CertificateWatch(notices: notices, clock: clock, certificates: watched.certificates),
            tokens: TokenWatch(metadata, notices, watched.settings, logger: logger), notices: notices,
            silence: SilenceWatch(metadata: metadata, notices: notices, clock: clock, logger: logger) { [records] in
                await records.readiness() == .ready
            },
            otlpDevices: OTLPDeviceExpiry(store: records, metadata: metadata, clock: clock, logger: logger),
            erasure: DeviceErasure(
                store: records, archive: archive, metadata: metadata, notices: notices, clock: clock, logger: logger))
        let courier = NoticeCourier(notices, webhook, logger: logger)
        await withTaskGroup { group in
            group.addTask { await housekeeping.run(beside: courier) }
            group.addTask { await cleanUpBucket() }
            group.addTask { await forwarding.run() }
        }
    }

    private func cleanUpBucket() async {
        while !Task.isCancelled {
            do throws(StoreError) { try await archive.cleanUp(logger: logger) } catch {
                logger.warning("leftovers in the bucket were not looked for", metadata: ["store.error": "\(error)"])
            }
            do { try await Task.sleep(for: Self.cleanUpInterval) } catch { return }
        }
    }

    func close() async {
        await records.shutDown()
        // What the last requests caused.
        await notices.flush()
        archive.shutDown()
        await metadata.close()
        await data.close()
    }
}

/// Ends the collector once the cluster has begun a new incarnation.
private struct FollowerService: Service {
    let follower: RegistryFollower

    func run() async throws {
        try await cancelWhenGracefulShutdown { try await follower.run() }
    }
}

/// Incidents of the record store, which opens before the service that records them.
private final class IncidentNotes: Sendable {
    let notices = Mutex<NoticeService?>(nil)

    var note: @Sendable (DeviceIncident, UInt64) -> Void {
        { incident, count in self.notices.withLock { $0 }?.record(incident, count: count) }
    }
}
