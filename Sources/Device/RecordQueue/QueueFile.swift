import Dispatch
import SQLite
import WireModel

/// The queue on disk: its files, names, schema and settings. Nothing else knows them. Documentation/disk-formats.md
/// describes the tables, the life of a record and of an epoch, and why each promise holds.
///
/// **Files.** The open queue holds `flock` on `lock`. `queue.sqlite` and `queue.sqlite-wal` contain everything else.
/// The connection locks the file exclusively, so there is no `-shm`. `queue.epoch` repeats the current epoch and the
/// last numbers (MarkerFile.swift). Salvage keeps at most `keptCorruptFiles` folders `queue.corrupt-<n>-<time>/` with
/// damaged files; `queue.salvaging/` is a salvage under way (Salvage.swift). Files have mode 0600, new directories
/// 0700.
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
    /// `user_version`. A file with a greater one is refused.
    static let schemaVersion: Int32 = 6
    /// Up to this version records that waited for consent lay on a shelf, without a number (QueueStore+Shelf.swift).
    static let shelfVersion: Int32 = 5
    /// A greater number is no version but damage.
    static let greatestVersion: Int32 = 9999

    static let markerName = "queue.epoch"
    static let salvagingName = "queue.salvaging"
    static let corruptPrefix = "queue.corrupt-"
    /// The most corrupt files that are kept. The oldest goes first.
    static let keptCorruptFiles = 2
    /// The most ended epochs that wait to be closed. In older ones, what waits counts as unverifiable.
    static let closingEpochs = 32
    /// The most entries of settled epochs.
    static let keptSettledEpochs = 8
    /// The most points of a stream in one close request. The collector accepts 1,024.
    static let closePoints = 1000

    static let pageBytes = 4096
    /// The largest row: a record, its columns and SQLite's header.
    static let greatestPayload = 300 << 10
    /// The allocated size of the WAL: a checkpoint's pages and the largest transactions.
    static let walBytes: Int64 = 8 << 20
    /// Pages in the WAL after which it is moved into the file: 4 MiB.
    static let checkpointPages = 1000
    /// Approximate limit of record bytes that one transaction inserts or removes.
    static let transactionBytes = 1 << 20
    /// Bytes that acknowledgements may remove before they are committed by themselves.
    static let deferredBytes: UInt64 = 256 << 10
    /// How long an acknowledgement waits for another commit.
    static let settleTime = DispatchTimeInterval.seconds(60)
    static let transactionRecords = 8192
    /// Pages that inserts leave free for gaps, ledgers and quarantine.
    static let reservePages = 32

    static func options() -> Connection.Options {
        var options = Connection.Options(
            mode: .create, synchronous: .full, journalMode: .wal, exclusiveLocking: true, applicationID: applicationID)
        options.pageSize = pageBytes
        options.walAutocheckpointPages = 0
        options.journalSizeLimitBytes = -1
        options.maximumUserVersion = schemaVersion
        return options
    }

    /// Name and text of every table, as `sqlite_schema` must show them.
    /// - Parameter hasShelf: the file is of version 5 as yet.
    static func tables(ended: [Int64], hasShelf: Bool = false) -> [String: String] {
        var tables = fixedTables
        for stream in StreamName.allCases {
            tables[RecordTable.current(stream).name] = records("\(stream)", stream)
            if hasShelf { tables[shelf(stream)] = records(shelf(stream), stream) }
            // The way SQLite writes the name of a renamed table.
            for ordinal in ended {
                let name = RecordTable.ended(ordinal, stream).name
                tables[name] = records("\"\(name)\"", stream)
            }
        }
        return tables
    }

    /// The table of what waited for consent, up to version 5.
    static func shelf(_ stream: StreamName) -> String { "consent_\(stream)" }

    /// A table of records. Columns that are read without the body come before it, so walking over a prefix by time
    /// reads no overflow pages. The chain comes last because version 1 received it by ALTER TABLE, with the first
    /// epoch's chain as default.
    static func records(_ name: String, _ stream: StreamName) -> String {
        let text = """
            CREATE TABLE \(name) (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, wall_time INTEGER NOT NULL, \
            queue_time INTEGER NOT NULL, size INTEGER NOT NULL, key_id INTEGER NOT NULL DEFAULT 0, link BLOB NOT NULL, body BLOB NOT NULL
            """
        return "\(text), \(chainColumn(stream)))"
    }

    static func chainColumn(_ stream: StreamName) -> String {
        "chain INTEGER NOT NULL DEFAULT \(ChainCode(ordinal: 1, stream: stream).rawValue)"
    }

    /// Version 2 received this column by ALTER TABLE. The epoch of its rows is not known any more.
    static let fateColumn = "fate INTEGER NOT NULL DEFAULT \(QuarantineFate.uncertain.rawValue)"

    /// No table is WITHOUT ROWID, because salvage recognizes rows on leaf pages by their columns.
    private static let fixedTables: [String: String] = [
        "ledger":
            """
        CREATE TABLE ledger (chain INTEGER PRIMARY KEY, last_number INTEGER NOT NULL, last_link BLOB NOT NULL, \
        last_queue_time INTEGER NOT NULL, rows INTEGER NOT NULL, bytes INTEGER NOT NULL, mark_number INTEGER NOT NULL, \
        mark_link BLOB NOT NULL, stored INTEGER NOT NULL, lost_at_collector INTEGER NOT NULL, close_matched INTEGER, \
        close_bound INTEGER, close_unknown INTEGER NOT NULL)
        """,
        "tally":
            "CREATE TABLE tally (chain INTEGER NOT NULL, account TEXT NOT NULL, reason INTEGER NOT NULL, count INTEGER NOT NULL)",
        "gap":
            """
        CREATE TABLE gap (chain INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, reason INTEGER NOT NULL, \
        link BLOB NOT NULL)
        """,
        "quarantine":
            """
        CREATE TABLE quarantine (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, number INTEGER NOT NULL, \
        reason INTEGER NOT NULL, wall_time INTEGER NOT NULL, queue_time INTEGER NOT NULL, size INTEGER NOT NULL, \
        key_id INTEGER NOT NULL, link BLOB NOT NULL, body BLOB NOT NULL, \(fateColumn))
        """,
        "file_copy":
            "CREATE TABLE file_copy (id INTEGER PRIMARY KEY, sequence INTEGER NOT NULL, content BLOB NOT NULL)",
        "epoch":
            """
        CREATE TABLE epoch (ordinal INTEGER PRIMARY KEY, id BLOB NOT NULL, reason TEXT, phase INTEGER NOT NULL, \
        ended_wall_time INTEGER NOT NULL, cause TEXT, file TEXT, salvaged INTEGER NOT NULL, lost INTEGER NOT NULL)
        """,
        "meta":
            """
        CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), queue_time INTEGER NOT NULL, \
        wall_time INTEGER NOT NULL, boot_id BLOB, since_boot INTEGER NOT NULL, divergence TEXT, divergence_stream INTEGER, \
        divergence_wall_time INTEGER, collector BLOB, organization TEXT, device BLOB, quarantine_queue_time INTEGER, \
        restored_queue_time INTEGER)
        """,
    ]
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
