import FoundationEssentials
import LogArchive
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Checks that every stored chunk has the received bytes in its store, and that the quotas' counts match the stored
/// chunks.
struct ChunkVerification {
    let chunks: any ChunkStore
    let session: any RegistrySession

    private struct Entry {
        var row: Int64
        var path: String
        var bytes: Int64
        var digest: Data
        var device: String
    }

    private static let stored = "fate = \(ChunkFate.stored.rawValue)"

    func check(_ report: inout VerifyReport) throws(StoreError) {
        try checkUsage(&report)
        var last: Int64 = 0
        while true {
            let entries = try entries(after: last)
            guard let newest = entries.last else { return }
            for entry in entries { try check(entry, &report) }
            last = newest.row
        }
    }

    private func entries(after row: Int64) throws(StoreError) -> [Entry] {
        try session.rows(
            """
            SELECT row, path, stored_bytes, stored_digest, device FROM chunk
            WHERE \(Self.stored) AND row > ? ORDER BY row LIMIT 256
            """, row
        ) { chunk throws(StoreError) in
            Entry(
                row: try chunk.int64("row"), path: try chunk.string("path"), bytes: try chunk.int64("stored_bytes"),
                digest: try chunk.data("stored_digest"),
                device: try DeviceID(chunk.data("device"))?.description ?? "")
        }
    }

    private func check(_ entry: Entry, _ report: inout VerifyReport) throws(StoreError) {
        func finding(_ code: VerifyReport.Finding.Code, _ message: String) {
            report.add(.init(code: code, file: "chunks/\(entry.path)", device: entry.device, message: message))
        }
        let digest: FileDigest?
        do throws(StoreError) { digest = try chunks.digest(entry.path) } catch {
            return finding(.unreadable, error.message)
        }
        guard let found = digest else {
            // People may have deleted it beside us.
            if try isKept(entry.row) {
                finding(.missing, "the file of a stored chunk is missing.")
            }
            return
        }
        report.chunks += 1
        report.chunkBytes += UInt64(found.bytes)
        guard found.bytes != entry.bytes || found.sha256 != entry.digest else { return }
        finding(
            .altered, "the file has \(found.bytes) bytes and another SHA-256 than the \(entry.bytes) bytes received.")
    }

    private func isKept(_ row: Int64) throws(StoreError) -> Bool {
        try session.hasRow("SELECT 1 FROM chunk WHERE row = ? AND \(Self.stored)", row)
    }

    private func checkUsage(_ report: inout VerifyReport) throws(StoreError) {
        let wrong = try session.rows(
            """
            SELECT u.organization, u.application, u.chunks, u.raw_bytes, count(c.row) AS stored_chunks,
                CAST(coalesce(sum(c.raw_bytes), 0) AS bigint) AS stored_raw_bytes
            FROM log_usage AS u
            LEFT JOIN chunk AS c ON c.\(Self.stored)
                AND c.organization = u.organization AND c.application = u.application AND c.test = u.test
            GROUP BY u.organization, u.application, u.test, u.chunks, u.raw_bytes
            HAVING u.chunks <> count(c.row) OR u.raw_bytes <> coalesce(sum(c.raw_bytes), 0)
            """
        ) { usage throws(StoreError) in
            let (organization, application) = (try usage.string("organization"), try usage.string("application"))
            let (chunks, bytes) = (try usage.int("chunks"), try usage.int("raw_bytes"))
            let (storedChunks, storedBytes) = (try usage.int("stored_chunks"), try usage.int("stored_raw_bytes"))
            return "logs of \(application) in \(organization): \(CountText.of(chunks, "chunk")) and "
                + "\(CountText.of(bytes, "byte")) counted, \(storedChunks) and \(storedBytes) stored."
        }
        for message in try wrong + wrongOfDevices() {
            report.add(.init(code: .miscounted, file: "collector.sqlite", message: message))
        }
    }

    private func wrongOfDevices() throws(StoreError) -> [String] {
        try session.rows(
            """
            SELECT device, CAST(sum(counted) AS bigint), CAST(sum(stored) AS bigint) FROM (
                SELECT device, raw_bytes AS counted, 0 AS stored FROM device_log_usage
                UNION ALL SELECT device, 0, raw_bytes FROM chunk WHERE \(Self.stored)) AS usage
            GROUP BY device HAVING sum(counted) <> sum(stored)
            """
        ) { usage in
            """
            logs of device \(DeviceID(usage.data(0))?.description ?? "?"): \(CountText.of(usage.int(1), "byte")) \
            counted, \(usage.int(2)) stored.
            """
        }
    }
}
