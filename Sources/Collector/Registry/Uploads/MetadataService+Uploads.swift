import CollectorTunables
import FoundationEssentials
import Logging
import RecordStore
import TelemetryBasics
import WireModel

/// The uploads, the fates of their chunks, and the content of these.
///
/// A row says stored only while the chunk store has the bytes: the bytes come before the row changes, and go after it.
/// Bytes whose row says otherwise are removed with the leftovers (`LogArchive+Leftovers.swift`). Bytes of an unknown
/// upload are reported and left alone, because then `collector.sqlite` is probably the wrong one.
///
/// A deleted chunk must not come back, so its row stays (`ChunkFate.deleted`). No period is long enough to forget it: a
/// device that was switched off during an upload continues after any time, because its clock for the seven days counts
/// at most one day of the time off. But an ended upload accepts no chunk, so its own row is enough. If no chunk of an
/// upload is kept:
/// - the rows of its chunks go 60 days after its end and their deletion,
/// - its own row goes with its device: a deleted device's credential is refused for good. Other devices keep the rows
///   of their newest 1,000 uploads, ten times the limit of open ones.
extension MetadataService {
    /// Ends expired uploads, and forgets those that ended long ago. Cheap if there is nothing to do.
    package func age() throws(StoreError) {
        let now = clock.now()
        let forgets = now >= nextForget
        try transaction { () throws(StoreError) in
            let due = try connection.rows(
                """
                SELECT row, id, device, organization,
                (SELECT count(*) FROM chunk WHERE upload = upload.row AND fate = \(ChunkFate.missing.rawValue))
                    AS missing,
                (SELECT count(*) FROM chunk WHERE upload = upload.row) AS chunks,
                (SELECT device.test FROM device WHERE device.id = upload.device) AS test
                FROM upload WHERE phase = \(UploadPhase.open.rawValue) AND expires <= ?
                """, now
            ) { due throws(StoreError) in
                (
                    row: try due.int64("row"), id: try UploadID(due.data("id"))?.description ?? "",
                    device: try DeviceID(due.data("device"))?.description ?? "",
                    organization: try due.string("organization"), missing: try due.int("missing"),
                    chunks: try due.int("chunks"), isTest: try due.bool("test")
                )
            }
            for upload in due {
                // Only the device's last word is missing: all of it is here.
                let phase = upload.missing == 0 ? UploadPhase.complete : .expired
                try end(upload.row, as: phase, at: now)
                guard phase == .expired, !upload.isTest else { continue }
                try notices.raise(
                    .uploadExpired, organization: upload.organization, subject: upload.device,
                    detail:
                        """
                        Upload \(upload.id) was not completed in 7 days. Missing: \(upload.missing) of \
                        \(CountText.of(upload.chunks, "chunk")).
                        """,
                    at: now)
            }
            guard forgets else { return }
            try notices.end(
                .logsArrived, lastRaisedBefore: now - Tunables.Uploads.arrivalNoticeSeconds * 1_000_000, at: now)
            try connection.run(
                """
                DELETE FROM chunk WHERE upload IN (
                SELECT row FROM upload WHERE phase <> \(UploadPhase.open.rawValue) AND ended <= ?1
                AND NOT EXISTS (
                    SELECT 1 FROM chunk WHERE upload = upload.row AND (fate = \(ChunkFate.stored.rawValue) OR deleted \
                > ?1)))
                """, now - Tunables.Uploads.rememberedSeconds * 1_000_000)
            try connection.run(
                """
                DELETE FROM upload WHERE device IN (SELECT id FROM deleted_device)
                AND NOT EXISTS (SELECT 1 FROM chunk WHERE upload = upload.row AND fate = \(ChunkFate.stored.rawValue))
                """)
        }
        if forgets { nextForget = now + Tunables.Uploads.forgetSeconds * 1_000_000 }
    }

    /// The same before a list is read. A full disk refuses it; the list is then as it was.
    package func ageBeforeReading() {
        do throws(StoreError) { try age() } catch {
            logger.warning("old uploads are not cleaned up", metadata: ["store.error": "\(error)"])
        }
    }

    /// Makes room for a device's next upload. Inside a transaction.
    package func forgetOldest(of device: DeviceID) throws(StoreError) {
        try connection.run(
            """
            DELETE FROM upload WHERE row IN (SELECT row FROM upload WHERE device = ?1 \
            AND phase <> \(UploadPhase.open.rawValue)
            AND NOT EXISTS (SELECT 1 FROM chunk WHERE upload = upload.row AND fate = \(ChunkFate.stored.rawValue))
            ORDER BY row DESC \(RegistryDialect.everyRow) OFFSET ?2)
            """, device.data, Tunables.Uploads.rememberedPerDevice)
    }

    package func end(_ row: Int64, as phase: UploadPhase, at now: Int64) throws(StoreError) {
        try connection.run("UPDATE upload SET phase = ?, ended = ? WHERE row = ?", phase.rawValue, now, row)
        if phase == .complete { try reportArrival(of: row, at: now) }
    }

    /// Reports that requested logs are here. Nobody waits for logs that a device sends by itself.
    private func reportArrival(of row: Int64, at now: Int64) throws(StoreError) {
        let arrived = try connection.first(
            """
            SELECT upload.device, upload.organization, count(*), CAST(sum(raw_bytes) AS bigint)
            FROM upload JOIN chunk ON chunk.upload = upload.row JOIN device ON device.id = upload.device
            WHERE upload.row = ? AND upload.command IS NOT NULL AND device.test = 0
            AND chunk.fate = \(ChunkFate.stored.rawValue)
            GROUP BY upload.row
            """, row
        ) {
            (device: DeviceID($0.data(0)), organization: $0.string(1), chunks: $0.int(2), bytes: $0.int64(3))
        }
        guard let arrived, let device = arrived.device else { return }
        try notices.raise(
            .logsArrived, organization: arrived.organization, subject: device.description,
            detail: "Requested logs of the device have arrived. Chunks of the newest upload: \(arrived.chunks), with "
                + "\(arrived.bytes) bytes of text.",
            at: now)
    }
}
