import SQLite
import WireModel

/// The queue on disk: its files, names, schema and settings. Nothing else knows them.
///
/// **What lies in the directory.** `lock` is held with `flock` for the life of the queue and holds the owner's process id.
/// `queue.sqlite` and `queue.sqlite-wal` hold everything else. There is no `-shm`: the connection locks the file exclusively before it
/// switches to WAL, so the index of the WAL is plain memory. All files have mode 0600, a directory we make 0700.
///
/// **The story of a record.** It gets its number, its bytes and its link inside the transaction that inserts it into its stream's table.
/// Numbers only grow; rows leave only at the front: by an acknowledgement (`ledger.mark_*` moves up and takes the collector's counts),
/// or by a drop, which leaves a row in `gap` that says which numbers, why, and the link over which the chain goes on. So at any
/// commit `1...last` of a stream is tiled by: the mark, gaps from mark + 1 on without a hole, rows from there to `last`. Neighbouring gaps
/// with the same reason are one row. What was refused before it had a number is counted in `tally` ('unnumbered').
/// `ledger.bytes` is the sum of the rows' sizes, kept with every change, so that neither opening nor a cap ever reads the backlog.
///
/// **Promises, and why they hold.**
/// - *kill -9*: a commit is one WAL transaction: all of it or nothing. A durable call returns after the commit; an ordinary one is lost
///   if the process dies within the loss window. Numbers come from the ledger of the same transaction, so none is given twice.
/// - *Power cut*: `synchronous=FULL` syncs the WAL at every commit, before any caller hears of it, and the file before the WAL is begun
///   anew. What a torn write leaves at the WAL's end fails its checksum and is not there. Where the disk lies about syncs, acknowledged
///   history may come back older: the chain then differs at the collector's mark and the queue parts instead of doubling.
/// - *Full disk*: sending, acknowledging and dropping need no new space. The file grows only ahead of an insert, by whole allocated chunks,
///   and `max_page_count` is what is allocated, so a checkpoint writes only into blocks that exist; the chunk size is always the whole
///   allocation, so no checkpoint cuts it. The WAL is allocated to `walBytes` and kept, transactions are bounded, and the WAL is
///   checkpointed at `checkpointPages`. Inserts leave `reservePages` for gaps and ledger. Only inserting fails, typed and counted.
///   (A copy-on-write file system takes new blocks for old ones; there the promise ends.)
/// - *Bit rot*: every part is hashed along the chain while it is read. A row that does not fit ends the part before it, and at the front it
///   is dropped once, as `unreadable`, over the first link behind it that its successor confirms. The ledger is checked when
///   opening. What cannot be true is `.corrupt`, and the file is left as it is.
/// - *A newer file*: `user_version` above ours is refused before anything is changed.
enum QueueFile {
    static let lockName = "lock"
    static let databaseName = "queue.sqlite"

    /// "WS1Q" in `application_id`.
    static let applicationID: Int32 = 0x5753_3151
    /// `user_version`; a greater one is refused.
    static let schemaVersion: Int32 = 1

    static let pageBytes = 4096
    /// The WAL is allocated to this much: a checkpoint's worth and the largest transactions.
    static let walBytes: Int64 = 8 << 20
    /// After so many pages in the WAL it is moved into the file: 4 MiB.
    static let checkpointPages = 1000
    /// Bytes of records that one transaction inserts or removes, about.
    static let transactionBytes = 1 << 20
    static let transactionRecords = 8192
    /// Pages that inserts leave for gaps, ledger and quarantine when the file is full.
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

    static func table(_ stream: StreamName) -> String { stream.description }

    /// Name and text of every table, as `sqlite_schema` must show them.
    static let tables: [(name: String, sql: String)] =
        StreamName.allCases.map { stream in
            // The body is last so that walking a prefix by its times reads no overflow page.
            (
                table(stream),
                """
                CREATE TABLE \(table(stream)) (number INTEGER PRIMARY KEY, kind INTEGER NOT NULL, wall_time INTEGER NOT NULL, \
                queue_time INTEGER NOT NULL, size INTEGER NOT NULL, key_id INTEGER NOT NULL DEFAULT 0, link BLOB NOT NULL, body BLOB NOT NULL)
                """
            )
        } + [
            (
                "ledger",
                """
                CREATE TABLE ledger (stream INTEGER PRIMARY KEY, last_number INTEGER NOT NULL, last_link BLOB NOT NULL, \
                last_queue_time INTEGER NOT NULL, bytes INTEGER NOT NULL, mark_number INTEGER NOT NULL, mark_link BLOB NOT NULL, \
                stored INTEGER NOT NULL, lost_at_collector INTEGER NOT NULL)
                """
            ),
            (
                "tally",
                """
                CREATE TABLE tally (stream INTEGER NOT NULL, account TEXT NOT NULL, reason INTEGER NOT NULL, count INTEGER NOT NULL, \
                PRIMARY KEY (stream, account, reason)) WITHOUT ROWID
                """
            ),
            (
                "gap",
                """
                CREATE TABLE gap (stream INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, reason INTEGER NOT NULL, \
                link BLOB NOT NULL, PRIMARY KEY (stream, first)) WITHOUT ROWID
                """
            ),
            (
                "quarantine",
                """
                CREATE TABLE quarantine (id INTEGER PRIMARY KEY, stream INTEGER NOT NULL, number INTEGER NOT NULL, \
                reason INTEGER NOT NULL, wall_time INTEGER NOT NULL, queue_time INTEGER NOT NULL, size INTEGER NOT NULL, \
                key_id INTEGER NOT NULL, link BLOB NOT NULL, body BLOB NOT NULL)
                """
            ),
            (
                "meta",
                """
                CREATE TABLE meta (id INTEGER PRIMARY KEY CHECK (id = 1), epoch BLOB NOT NULL, queue_time INTEGER NOT NULL, \
                wall_time INTEGER NOT NULL, boot_id BLOB, since_boot INTEGER NOT NULL, parting TEXT, parted_stream INTEGER, \
                parted_wall_time INTEGER, collector BLOB, organization TEXT, device BLOB, quarantine_queue_time INTEGER)
                """
            ),
        ]
}

/// The accounts of the `tally` table.
enum TallyAccount: String, CaseIterable {
    /// By the collector, up to the mark.
    case rejected
    /// By the device, as the collector counted it up to the mark.
    case dropped
    /// Refused before a number was given.
    case unnumbered
}
