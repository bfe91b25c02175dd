import Dispatch
import SQLite
import WireModel

/// The queue on disk: its files, names, schema and settings. Nothing else knows them.
///
/// **What lies in the directory.** `lock` is held with `flock` for the life of the queue and holds the owner's process id.
/// `queue.sqlite` and `queue.sqlite-wal` hold everything else. There is no `-shm`: the connection locks the file exclusively before it
/// switches to WAL, so the index of the WAL is plain memory. `queue.epoch` names the current epoch and the last numbers
/// once more, for the day on which the file cannot be read, is gone, or has lost its newest commits
/// (Epochs/MarkerFile.swift). `queue.corrupt-<n>-<time>/` are files that were given up, at most `keptCorruptFiles` of
/// them; `queue.salvaging/` is one on its way there. All files have mode 0600, a directory we make 0700.
///
/// **The story of a record.** It gets its number, its bytes and its link inside the transaction that inserts it into its stream's table.
/// Numbers only grow; rows leave only at the front: by an acknowledgement (`ledger.mark_*` moves up and takes the collector's counts),
/// or by a drop, which leaves a row in `gap` that says which numbers, why, and the link over which the chain goes on. So at any
/// commit `1...last` of a stream is tiled by: the mark, gaps from mark + 1 on without a hole, rows from there to `last`. Neighbouring gaps
/// with the same reason are one row. What was refused before it had a number is counted in `tally` ('unnumbered').
/// `ledger.rows` and `ledger.bytes` are kept with every change, so that neither opening, nor a part, nor a cap ever reads the backlog;
/// `balance` and `verify` count the rows and compare.
///
/// **The story of an epoch.** The file's epochs are numbered 1, 2, 3 ... (`epoch.ordinal`). Ledger, tally, gap and every record's row carry
/// a `chain`: ordinal x 4 + stream. When an epoch ends, its three tables are renamed to `ended_<ordinal>_<stream>` and empty ones take their
/// place: one small transaction, however much waits. Its ledger stays as it was, and its rows are counted as waiting. Where it was wiped,
/// cloned, unenrolled or bound elsewhere, they are *given up*: dropped, by one more gap behind the others, and emptied at once, in bounded
/// transactions; number and link stay, because only they can tell which records the collector has, and which numbers it has from another branch
/// of the history. So are the rows of a kept epoch that is not settled when the next one ends that way.
///
/// The epoch is *closing* until the collector has answered `streams/close` and the greatest common number is found; how far that search has
/// come lies in `ledger.close_*`. The close says the epoch's last totals, and by its end how the collector counts what it has between its mark
/// and `last`; that never changes, whatever becomes of the rows: an answer may have been lost. Then, in one transaction, the epoch's final
/// balance - the collector's mark, and what lies between that and `last` under the reason - is added to the ledger of ordinal 0 (`past`), what
/// the device had dropped, given up or lost above the common number, and the close does not count, is counted in the current epoch as never
/// numbered (CloseSettlement.swift), and the epoch is *moving*: the rows above the common number, unless they were given up, are from now on
/// records apart of the current epoch. Each bounded transaction deletes some of them and inserts them anew, numbered and chained, in the
/// current epoch: a record is in one place or the other at every commit. The rows at or below the common number are erased. In the end the
/// tables are dropped and the epoch is *settled*: a note for `status`, the last `keptSettledEpochs` of them. Records that wait for consent lie in
/// `consent_<stream>` as envelopes without a number (ordinal -1).
///
/// *Against renaming:* the schema grows by three tables an epoch, and every cached statement is prepared again. One table with the epoch in its
/// key would need neither; but then a cap that drops the oldest, and every walk over a stream, would carry the epoch along, ended epochs
/// would lie before the current one in the same tree, and erasing a wiped one would go through the tree that is in use. Epochs end
/// rarely, and a renamed table is O(1). *Against the chain in every row:* one or two bytes. It makes a row found on any page of a damaged
/// file say where it belongs, also a stale one of an epoch that was settled long ago, which otherwise could be queued anew and doubled.
///
/// **The story of a record that is quarantined.** One that alone was refused while others passed leaves its stream as any
/// dropped record does: its number is in a gap with the reason `quarantined`, and counts so in both sides' balance for
/// good. The record itself moves to `quarantine`, in the same transaction. It may be at the collector all the same:
/// whoever refused it may have passed it on. So it is `open` until the collector's mark passes its number. The mark's
/// counts then say whether the collector dropped that number (`not-stored`), or had the record (it leaves the
/// quarantine), or something in between that does not say which (`uncertain`: also after an image was brought back).
///
/// `retry` queues what is `not-stored` anew. One transaction deletes it here and inserts it at the end of its stream,
/// so that a kill leaves it in one place. It is a new production under a new number, as with records that are moved to
/// another epoch: `produced` counts numbers, not records. The old number stays `dropped: quarantined`, because marks
/// only grow: the collector has told the device that count, the device has taken it over, and neither could take it
/// back without the other. So the balance closes at any commit, and says what happened: a number was passed over, and
/// later one more record was stored. *Against counting it as waiting until it is sent again:* the record would have to
/// be part of `produced` without a number, and of the collector's totals, for as long as nobody acts; and letting the
/// oldest go, where there are too many, would be another drop of what was dropped already.
///
/// `file_copy` holds copies of small files beside the queue, one row each (`CopiedFile`): who this device is, and what
/// was said to being sampled. They are opaque here, for the day on which a file is damaged or gone. A row's `sequence`
/// grows with each replacement, so that salvage takes the newest of several. *Against a table for each file:* salvage
/// tells rows apart by their columns, so two tables of one shape would need the id all the same. *Against a column of
/// `meta`:* that row is rewritten by every commit, and its newest copy is told only by the queue's clock. Up to version
/// 4 the table was `identity`, whose row had the id that the identity has here.
///
/// **Promises, and why they hold.**
/// - *kill -9*: a commit is one WAL transaction: all of it or nothing. A durable call returns after the commit; an ordinary one is lost
///   if the process dies within the loss window. Numbers come from the ledger of the same transaction, so none is given twice.
///   An acknowledgement is written by the next commit, or alone after `settleTime`: until then it lies in an open transaction, of bounded size.
///   Lost, its records are sent once more, and the collector's mark passes over them. With a loss window of zero it is committed at once.
/// - *Power cut*: `synchronous=FULL` syncs the WAL at every commit, before any caller hears of it, and the file before the WAL is begun
///   anew. What a torn write leaves at the WAL's end fails its checksum and is not there. Where the disk lies about syncs, acknowledged
///   history may come back older: the chain then differs at the collector's mark and the queue parts instead of doubling.
/// - *Full disk*: sending, acknowledging, dropping, ending an epoch and moving its rows need no new space. The file grows only ahead of an
///   insert, by whole allocated chunks, and `max_page_count` is what is allocated, so a checkpoint writes only into blocks that exist; the
///   chunk size is always the whole allocation, so no checkpoint cuts it. The WAL is allocated to `walBytes` and kept, transactions are
///   bounded, and the WAL is checkpointed at `checkpointPages`. Inserts leave `reservePages` for gaps, ledger and new tables; moving deletes
///   before it inserts. Only inserting fails, typed and counted. (A copy-on-write file system takes new blocks for old ones; there the
///   promise ends.)
/// - *A damaged, cut or removed WAL*: SQLite takes the part before the damage for all there was. `queue.epoch` knows
///   the last numbers: where the file ends before them it counts as corrupt, and no number is given twice.
/// - *Bit rot*: every part is hashed along the chain while it is read. A row that does not fit ends the part before it, and at the front it
///   is dropped once, as `unreadable`, over the first link behind it that its successor confirms. The ledger is checked when
///   opening. What cannot be true is corrupt: the file is moved aside and salvaged (Salvage/Salvage.swift has that story).
/// - *A wipe*: when it returns, nothing is left in the file but accounts, numbers, links and the copies of files;
///   free pages, ends of pages and the WAL are scrubbed.
/// - *A newer file*: `user_version` above ours is refused before anything is changed. *An older one* is taken over in one transaction
///   (QueueStore+Migration.swift).
///
/// **What an image of the disk that is brought back may still count wrongly**, because nothing on either side could tell:
/// - *Records that waited for consent* in the image, and were released on both branches of the history: without a number in the image, they are
///   other records to the collector, and stored twice.
/// - *A record quarantined* in the image, and sent again on the branch that is gone, is sent again here as well if a
///   person asks for it before the histories are found to part. Afterwards it is uncertain, and `retry` leaves it.
/// - *An image taken while a close is outstanding* (an earlier restore, wipe or hand-over is not settled yet): what it is to move, the other
///   branch may have moved and sent in an epoch that this one knows nothing of. It is stored twice.
/// - *A gap* hides the links of what was dropped in it. Where the collector's mark lies in one, and no other link shows that histories have
///   diverged, what lies before the mark is taken for stored; where they have diverged, for dropped. Each may be wrong for the records of that gap. So
///   may be links that gave way to new records, because the file had no page left.
/// - *What a branch that is gone had told* of records without a number stays in the collector's balance, not in the device's. Both close.
enum QueueFile {
    static let lockName = "lock"
    static let databaseName = "queue.sqlite"

    /// "WS1Q" in `application_id`.
    static let applicationID: Int32 = 0x5753_3151
    /// `user_version`; a greater one is refused.
    static let schemaVersion: Int32 = 5
    /// A greater one is no version but damage.
    static let greatestVersion: Int32 = 9999

    static let markerName = "queue.epoch"
    static let salvagingName = "queue.salvaging"
    static let corruptPrefix = "queue.corrupt-"
    /// Corrupt files kept aside; the oldest goes.
    static let keptCorruptFiles = 2
    /// Ended epochs that wait to be closed; of the oldest beyond them what waits counts as unverifiable.
    static let closingEpochs = 32
    /// Notes of settled epochs.
    static let keptSettledEpochs = 8
    /// Points of a stream in one close: the collector takes 1,024.
    static let closePoints = 1000

    static let pageBytes = 4096
    /// No row is larger: a record, its columns and SQLite's header.
    static let greatestPayload = 300 << 10
    /// The WAL is allocated to this much: a checkpoint's worth and the largest transactions.
    static let walBytes: Int64 = 8 << 20
    /// After so many pages in the WAL it is moved into the file: 4 MiB.
    static let checkpointPages = 1000
    /// Bytes of records that one transaction inserts or removes, about.
    static let transactionBytes = 1 << 20
    /// What acknowledgements remove before they are committed by themselves.
    static let deferredBytes: UInt64 = 256 << 10
    /// How long an acknowledgement waits for a commit that takes it along.
    static let settleTime = DispatchTimeInterval.seconds(60)
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

    /// Name and text of every table, as `sqlite_schema` must show them.
    static func tables(ended: [Int64]) -> [String: String] {
        var tables = fixedTables
        for stream in StreamName.allCases {
            tables[RecordTable.current(stream).name] = records("\(stream)", stream)
            tables[RecordTable.consent(stream).name] = records("consent_\(stream)", stream)
            // As SQLite writes the name of a table it has renamed.
            for ordinal in ended {
                let name = RecordTable.ended(ordinal, stream).name
                tables[name] = records("\"\(name)\"", stream)
            }
        }
        return tables
    }

    /// A table of records. The body lies behind what is read without it, so that walking a prefix by its times reads no overflow page; the
    /// chain behind both, where version 1 got it by ALTER TABLE, with its first epoch's as default.
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

    /// Version 2 got it by ALTER TABLE: nobody knows any more of which epoch its rows were.
    static let fateColumn = "fate INTEGER NOT NULL DEFAULT \(QuarantineFate.uncertain.rawValue)"

    /// None is WITHOUT ROWID: salvage recognises their rows on leaf pages by their columns.
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
    /// By the collector, up to the mark.
    case rejected
    /// By the device, as the collector counted it up to the mark.
    case dropped
    /// Refused before a number was given.
    case unnumbered
}
