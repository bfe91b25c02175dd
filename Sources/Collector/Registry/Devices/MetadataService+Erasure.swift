import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

/// A device that was deleted, and whose records and logs may still be there.
package struct DeletedDevice: Equatable, Sendable {
    package var id: DeviceID
    package var organization: String

    package init(id: DeviceID, organization: String) {
        self.id = id
        self.organization = organization
    }
}

/// What a deleted device had, now that nothing of it is left. For the audit trail.
package struct ErasedDevice: Equatable, Sendable {
    package var device: DeletedDevice
    /// Epochs with records.
    package var epochs: Int
    /// All that it ever stored. Retention may have removed some of them before.
    package var records: UInt64
    /// Chunks of logs that were there.
    package var chunks: Int

    package init(device: DeletedDevice, epochs: Int, records: UInt64, chunks: Int) {
        self.device = device
        self.epochs = epochs
        self.records = records
        self.chunks = chunks
    }
}

extension MetadataService {
    /// Deleted devices that are not erased yet, those first that were deleted first.
    /// - Parameters:
    ///   - time: only devices that were deleted by then, microseconds since 1970.
    ///   - limit: 1 to 1,000.
    package nonisolated func devicesToErase(
        deletedBy time: Int64, limit: Int
    ) async throws(StoreError) -> [DeletedDevice] {
        try Self.check(limit: limit)
        return try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT id, organization FROM deleted_device WHERE erased IS NULL AND deleted <= ?1
                ORDER BY deleted LIMIT ?2
                """, time, limit
            ) { row in DeviceID(row.data(0)).map { DeletedDevice(id: $0, organization: row.string(1)) } }
        }
    }

    /// Records that nothing is left of some devices. A repetition changes nothing.
    package func recordErased(_ devices: [ErasedDevice]) throws(StoreError) {
        let now = clock.now()
        try transaction { () throws(StoreError) in
            for erased in devices {
                let id = erased.device.id
                let count = try connection.run(
                    "UPDATE deleted_device SET erased = ?1 WHERE id = ?2 AND erased IS NULL", now, id.data)
                guard count == 1 else { continue }
                try audit.append(
                    AuditEntry(
                        .deviceErase, by: .collector, organization: erased.device.organization,
                        subject: id.description,
                        detail: [
                            "epochs": "\(erased.epochs)", "records": "\(erased.records)",
                            "chunks": "\(erased.chunks)",
                        ]), at: now)
            }
        }
    }
}
