import Dispatch
import SQLite
import WireModel

/// The queue on disk: its files, names, schema and settings. Nothing else knows them. Documentation/disk-formats.md
/// shows the tables; this comment tells how they are used.
///
/// **Files.** `lock` is held with `flock` while the queue is open. `queue.sqlite` and `queue.sqlite-wal` hold
/// everything else; the connection locks the file exclusively, so there is no `-shm`. `queue.epoch` repeats the current
/// epoch and the last numbers (MarkerFile.swift). `queue.corrupt-<n>-<time>/` are files that were given up, at most
/// `keptCorruptFiles`; `queue.salvaging/` is one on its way there (Salvage.swift). Files have mode 0600, a directory we
/// make 0700.
///
/// **A record** gets its number, its bytes and its link in the transaction that inserts it into its stream's table.
/// Numbers only grow. Rows leave only at the front: by an acknowledgement, which moves `ledger.mark_*` up and takes the
/// collector's counts over, or by a drop. A drop leaves a row in `gap`: which numbers, why, and the link over which the
/// chain goes on. Neighbouring gaps with one reason are one row. So at any commit `1...last` of a stream is tiled by
/// the mark, gaps from mark + 1 on without a hole, and rows up to `last`. Records that were refused before they had a
/// number are counted in `tally` as `unnumbered`. Every change keeps `ledger.rows` and `ledger.bytes`, so that opening,
/// sending and the caps never read the backlog; `balance` and `verify` count the rows and compare. A record that may
/// not be sent yet is a row like any other: the transmitter does not ask for its stream.
///
/// **An epoch.** The file's epochs are numbered 1, 2, 3 ... (`epoch.ordinal`). Ledger, tally, gap and every record's
/// row carry a `chain`: ordinal x 4 + stream. When an epoch ends, its three tables are renamed to
/// `ended_<ordinal>_<stream>`, empty ones take their place, and its rows count as waiting. If it was wiped, cloned,
/// unenrolled or bound elsewhere, its rows are *given up*: dropped by one more gap behind the others, and emptied at
/// once. Their numbers and links stay, because only they can tell which records the collector has. The same happens to
/// the rows of an earlier epoch that is not settled by then.
/// 1. *Closing*: the collector is asked (`streams/close`) until the greatest common number is found; `ledger.close_*`
///    holds how far that search has come. The close says the epoch's last totals, and under which reason the collector
///    counts what lies between its mark and `last`. That never changes, because an answer may have been lost.
/// 2. *Moving*: one transaction adds the final balance to the ledger of ordinal 0 (`past`). What the device had dropped
///    or lost above the common number, and the close does not count, counts in the current epoch as never numbered
///    (`CloseSettlement`). Rows above the common number then move into the current epoch, in bounded transactions that
///    delete and insert; at every commit a record is in one place. Rows at or below that number are erased.
/// 3. *Settled*: the tables are dropped. A note stays for `status`, for the last `keptSettledEpochs` epochs.
///
/// **A quarantined record** was refused alone while others passed. Its number is in a gap with the reason `quarantined`
/// and counts so for good; the record moves to `quarantine` in the same transaction. Whoever refused it may have passed
/// it on, so it is `open` until the collector's mark passes its number. The mark's counts then say whether the
/// collector dropped the number (`not-stored`), had the record (it leaves the quarantine), or neither for certain
/// (`uncertain`, also after an image was brought back). `retry` deletes what is `not-stored` here and inserts it at the
/// end of its stream, in one transaction. That is a new production: `produced` counts numbers, not records, and the old
/// number stays dropped, because marks only grow.
///
/// **`file_copy`** holds copies of small files beside the queue, one row each (`CopiedFile`). They are opaque here. A
/// row's `sequence` grows with each replacement, so that salvage takes the newest of several. Up to version 4 the table
/// was `identity`, whose row had the id that the identity has here.
///
/// **Promises, and why they hold.**
/// - *kill -9*: a commit is one WAL transaction, all of it or nothing. A durable call returns after the commit; an
///   ordinary one is lost if the process dies within the loss window. Numbers come from the ledger of the same
///   transaction, so none is given twice. An acknowledgement lies in an open, bounded transaction until the next
///   commit, or for `settleTime`. If it is lost, its records are sent once more and the collector passes over them.
///   With a loss window of zero it is committed at once.
/// - *Power cut*: `synchronous=FULL` syncs the WAL at every commit, before any caller hears of it, and the file before
///   the WAL is begun anew. A torn write at the WAL's end fails its checksum. If the disk lies about syncs,
///   acknowledged history may come back older: the chain then differs at the collector's mark, and the epoch ends as
///   diverged.
/// - *Full disk*: sending, acknowledging, dropping, ending an epoch and moving rows need no new space. Only an insert
///   grows the file, by whole allocated chunks. `max_page_count` is what is allocated, so a checkpoint writes only into
///   blocks that exist; the chunk size is the whole allocation, so no checkpoint cuts it. The WAL is allocated to
///   `walBytes`, transactions are bounded, and `checkpointPages` bounds what waits in it. Inserts leave `reservePages`
///   for gaps, ledgers and new tables. A copy-on-write file system takes new blocks for old ones; there the promise
///   ends.
/// - *A damaged, cut or removed WAL*: SQLite takes the part before the damage for all there was. `queue.epoch` knows
///   the last numbers: a file that ends before them counts as corrupt, and no number is given twice.
/// - *Bit rot*: every part is hashed along the chain while it is read. A row that does not fit ends the part before it.
///   At the front it is dropped once, as `unreadable`, up to the first link that its successor confirms. A ledger that
///   cannot be true makes the file corrupt when it is opened.
/// - *A wipe*: when it returns, the file holds nothing but accounts, numbers, links and the copies of files. Free
///   pages, ends of pages and the WAL are scrubbed.
/// - *A newer file*: a greater `user_version` is refused before anything is changed. An older file is taken over in one
///   transaction (the `migrate` functions of `QueueStore`).
///
/// **What an image of the disk that is brought back may still count wrongly**, because neither side can tell:
/// - *A quarantined record* that was sent again on the branch that is gone is sent again here as well, if a person asks
///   for it before the histories are found to have diverged. Afterwards it is uncertain, and `retry` leaves it.
/// - *An image taken while a close is outstanding* may move records that the other branch has moved and sent in an
///   epoch this one knows nothing of. They are stored twice.
/// - *A gap* hides the links of the records it replaced. If the collector's mark falls inside a gap, links cannot be
///   compared there. The queue then assumes that the histories agree and counts those records as stored, unless another
///   link proves that they diverged; then it counts them as dropped. The same holds for links that gave way to new
///   records because the file had no page left.
/// - *Records without a number that a lost branch had reported* stay in the collector's balance and not in the
///   device's. Both balances close.
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
    /// The most notes of settled epochs.
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
        wall_time INTEGER NOT NULL, boot_id BLOB, since_boot INTEGER NOT NULL, parting TEXT, parted_stream INTEGER, \
        parted_wall_time INTEGER, collector BLOB, organization TEXT, device BLOB, quarantine_queue_time INTEGER, \
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
