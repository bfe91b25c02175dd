import Collector
import CollectorMaintenance
import Forwarding
import Foundation
import LogArchive
import Logging
import RecordStore
import Registry
import SQLiteRecordStore
import ServiceLifecycle

/// A data directory that this collector holds alone.
struct ServedDirectory: ServedData {
    let metadata: MetadataService
    let notices: NoticeService
    let archive: LogArchive
    let created: FirstStart?
    let retention: LiveRetention
    private let records: SQLiteRecordStore
    private let metrics: CollectorMetrics
    private let logger: Logger

    var store: any RecordStore { records }
    var collectors: @Sendable () -> Int { { 1 } }

    init(_ settings: Settings, telemetry: CollectorTelemetry, logger: Logger) async throws {
        self.logger = logger
        metrics = telemetry.metrics
        let clock = SystemStoreClock()
        (metadata, created) = try MetadataService.open(
            directory: settings.data, clock: clock, logger: logger,
            deliver: FirstStartFiles(directory: settings.data).write)
        metadata.setRecordQuotas(settings.recordQuotas)
        let notices = NoticeService(metadata: metadata)
        self.notices = notices
        records = try SQLiteRecordStore.open(
            directory: settings.data, clock: clock, incidents: { notices.record($0, count: $1) }, logger: logger,
            observer: telemetry.metrics)
        await Self.catchUp(records, metadata, logger: logger)
        var logs = LogArchive.Configuration()
        logs.quotas = settings.logQuotas
        archive = try LogArchive.open(metadata: metadata, configuration: logs, logger: logger)
        retention = LiveRetention(settings.retention)
    }

    func services(
        _ watched: WatchedFiles, _ webhook: WebhookSender?, _ forwarding: ForwardService
    ) throws -> [any Service] {
        let (settings, clock) = (watched.settings, SystemStoreClock())
        let recordRetention = try RecordRetention(
            store: records, registry: metadata.registry, limits: retention.limits, notices: notices, clock: clock,
            deviceClocks: metadata.deviceClocks, logger: logger)
        let housekeeping = Housekeeping(
            retention: recordRetention,
            disk: DiskWatch(directory: settings.data, lowBytes: UInt64(settings.diskNoticeBytes), notices: notices),
            files: RecordFileWatch(store: records, notices: notices, logger: logger),
            certificates: CertificateWatch(notices: notices, clock: clock, certificates: watched.certificates),
            tokens: TokenWatch(metadata, notices, settings, logger: logger), notices: notices,
            silence: SilenceWatch(metadata: metadata, notices: notices, clock: clock, logger: logger) { [records] in
                await records.isTakingRecords()
            },
            otlpDevices: OTLPDeviceExpiry(store: records, metadata: metadata, clock: clock, logger: logger),
            erasure: DeviceErasure(
                store: records, archive: archive, metadata: metadata, notices: notices, clock: clock, logger: logger),
            salvage: { [records] in await records.salvageDamaged(again: $0) })
        let courier = NoticeCourier(notices, webhook, logger: logger)
        let packing = RecordPacking(store: records, clock: clock, logger: logger)
        let days = settings.packAfterDays
        if days == 0 { try records.discardPackings() }
        return [
            BackgroundService { [retention, metrics] in
                await retention.use(recordRetention)
                await metrics.duringHousekeeping { await housekeeping.run(beside: courier) }
            },
            BackgroundService { await forwarding.run() },
        ]
            + (days == 0
                ? []
                : [
                    BackgroundService { [metrics] in
                        await packing.run(afterDays: days, on: .continuous) {
                            metrics.packed(from: $0.before, to: $0.after)
                        }
                    }
                ])
    }

    /// Brings the devices' latest states up to date. An unreadable record file is no reason not to serve.
    private static func catchUp(_ store: any RecordStore, _ metadata: MetadataService, logger: Logger) async {
        do {
            let report = try await ProjectionRebuild(of: store, metadata: metadata).catchUp()
            logger.debug("device states caught up", metadata: ["records": "\(report.records)"])
            if !report.unreadableFiles.isEmpty {
                logger.warning(
                    "device states caught up, except from damaged record files",
                    metadata: ["store.files": "\(report.unreadableFiles.joined(separator: ", "))"])
            }
        } catch {
            logger.warning(
                "device states could not be caught up; they may be a minute old", metadata: ["error": "\(error)"])
        }
    }

    func close() async {
        await records.shutDown()
        // What the last requests caused.
        await notices.flush()
        archive.shutDown()
        await metadata.close()
    }
}
