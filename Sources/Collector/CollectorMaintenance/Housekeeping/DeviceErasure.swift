import CollectorTunables
import LogArchive
import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Erases what deleted devices have left: their records and their logs.
///
/// It begins when every request that was admitted before the deletion has ended, so nothing comes after it. An entry in
/// the audit trail says what there was. Marks and counts stay in the store, as after retention.
package struct DeviceErasure: Sendable {
    private let store: any RecordStore
    private let archive: LogArchive
    private let metadata: MetadataService
    private let notices: NoticeService
    private let clock: any StoreClock
    private let logger: Logger

    package init(
        store: any RecordStore, archive: LogArchive, metadata: MetadataService, notices: NoticeService,
        clock: any StoreClock, logger: Logger
    ) {
        self.store = store
        self.archive = archive
        self.metadata = metadata
        self.notices = notices
        self.clock = clock
        self.logger = logger
    }

    /// Erases some devices, if there are any. A failure is logged and reported in a notice. The next pass tries again.
    /// - Returns: how many were erased.
    @discardableResult
    package func pass() async -> Int {
        do throws(StoreError) {
            let time = clock.now() - Tunables.Erasure.delaySeconds * 1_000_000
            let devices = try await metadata.devicesToErase(
                deletedBy: time, limit: Tunables.Erasure.devicesTogether)
            guard !devices.isEmpty else { return 0 }
            try await store.erase(Set(devices.map(\.id)))
            var erased: [ErasedDevice] = []
            for device in devices { erased.append(try await erasedLogs(of: device)) }
            try await metadata.recordErased(erased)
            await notices.end(.retentionFailed, subject: Self.subject)
            logger.notice("deleted devices erased", metadata: ["devices": "\(erased.count)"])
            return erased.count
        } catch {
            guard error.code != .shuttingDown else { return 0 }
            logger.error("deleted devices could not be erased", metadata: ["store.error": "\(error)"])
            await notices.raise(
                .retentionFailed, subject: Self.subject,
                detail: "Records or logs of deleted devices could not be erased: \(error.message)")
            return 0
        }
    }

    private static let subject = "deleted devices"

    /// Deletes a device's logs. Its records are erased.
    private func erasedLogs(of device: DeletedDevice) async throws(StoreError) -> ErasedDevice {
        let query = LogQuery(organization: device.organization, device: device.id, withTest: true)
        let plan = try await archive.metadata.deletion(query)
        if plan.chunks > 0 {
            let deleted = try await archive.delete(query, confirmation: plan.confirmation, by: .collector)
            guard deleted != nil else {
                throw StoreError(.conflict, "the logs of device \(device.id) have changed meanwhile.")
            }
        }
        var (epochs, records): (Int, UInt64) = (0, 0)
        var after: EpochID?
        repeat {
            let page = try await store.balance(of: device.id, after: after, limit: BalancePage.maximumEpochs)
            epochs += Set(page.epochs.map(\.epoch)).count
            for epoch in page.epochs { records.addSaturating(epoch.storedRows) }
            after = page.next
        } while after != nil
        return ErasedDevice(device: device, epochs: epochs, records: records, chunks: plan.chunks)
    }
}
