import SQLite
import WireModel

/// The queue on disk: its files, names and settings. Nothing else knows them. QueueSchema.swift has the tables.
/// Documentation/disk-formats.md describes the life of a record and of an epoch, and why each promise holds.
///
/// **Files.** The open queue holds `flock` on `lock`. `queue.sqlite` and `queue.sqlite-wal` contain everything else.
/// The connection locks the file exclusively, so there is no `-shm`. `queue.epoch` repeats the current epoch and the
/// last numbers (MarkerFile.swift). Salvage keeps at most `Tunables.Queue.keptCorruptFiles` folders
/// `queue.corrupt-<n>-<time>/` with damaged files; `queue.salvaging/` is a salvage under way (Salvage.swift). Files
/// have mode 0600, new directories 0700.
///
/// **Invariants after every commit.**
/// - The numbers `1...last` of a stream are, in this order: acknowledged up to the mark, then covered by gaps, then
///   rows.
/// - `ledger.rows` and `ledger.bytes` are the count and size of the rows, so opening, sending and the caps never read
///   the backlog. `balance` and `verify` count the rows and compare.
/// - Ledger, tally, gap and every record's row carry a `chain`: ordinal of the epoch x 4 + stream.
/// - A record is in one place: in its stream's table, in the table of an ended epoch, or in the quarantine.
enum QueueFile {
    static let lockName = "lock"
    static let databaseName = "queue.sqlite"

    /// "WS1Q" in `application_id`.
    static let applicationID: Int32 = 0x5753_3151
    /// A greater `user_version` is no version but damage.
    static let greatestVersion: Int32 = 9999

    static let markerName = "queue.epoch"
    static let salvagingName = "queue.salvaging"
    static let corruptPrefix = "queue.corrupt-"
    /// The most points of a stream in one close request. The collector accepts 1,024.
    static let closePoints = 1000

    static let pageBytes = 4096
    /// The largest row: a record, its columns and SQLite's header.
    static let greatestPayload = 300 << 10

    static func options(_ schema: QueueSchema = .current) -> Connection.Options {
        var options = Connection.Options(
            mode: .create, synchronous: .full, journalMode: .wal, exclusiveLocking: true, applicationID: applicationID)
        options.pageSize = pageBytes
        options.walAutocheckpointPages = 0
        options.journalSizeLimitBytes = -1
        options.maximumUserVersion = schema.version
        return options
    }
}

/// The accounts of the `tally` table.
enum TallyAccount: String, CaseIterable {
    /// Rejected by the collector, up to the mark.
    case rejected
    /// Dropped by the device, as counted by the collector up to the mark.
    case dropped
    /// Refused before they had a number.
    case unnumbered
}
