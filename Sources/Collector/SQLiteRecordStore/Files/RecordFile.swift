import FoundationEssentials
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// One stream's file of one day: `records/<UTC day of receipt>/<stream>.sqlite`.
///
/// ## The story
///
/// A device sends a part. Its stream's writer compares it with the chain's mark. In one transaction it adds a row to
/// `slice` (the packed records above the mark) and moves the mark in `chain`. Requests in flight share the transaction
/// and its one fsync. The file is a WAL database with `synchronous=FULL`, read back at opening.
///
///     chain     device, epoch, entry_number, entry_link     the mark as the chain entered this day
///               mark, totals, ..., closed_*                 the state now (ChainState)
///               earliest, latest, kinds                     of its records in this file (RecordBounds)
///     slice     chain, first, last, lost_before             one accepted slice
///               prior_link, last_link                       links at first - 1 and last
///               received_at, earliest, latest               collector's clock; device's wall times, 0 without a record
///               record_count, kinds                         rows and a bit for each kind (modulo 63)
///               gaps                                        a BatchPart message that holds only its gaps
///               records                                     PackedRecords: four bytes of length, bytes, ...; or a zstd
///                                                           frame of them, or record blocks (RecordBlob)
///     rejected  chain, number, reason, size, link, bytes    passed by the mark, not kept; bytes only up to 4 KiB
///     key       chain, origin, first, last                  keys of items (ItemKey) whose numbers the writer gave
///               slice, proof                                the slice with them; the last 8 bytes of its last link
///     counter   id, count                                   1: how often the file was opened to write; since the first
///                                                           erasure also 2 and 3: the greatest id of a slice and of a
///                                                           chain by then; 4, in a packed file: the greatest id of a
///                                                           slice in the file that it has replaced (RecordPacker)
///
/// `key` is made with the first key. It is in the transaction of its slice, so there is never one without the other.
/// `UnnumberedItems` come without numbers: the writer looks their keys up, numbers the rest, and stores them as slices.
///
/// ## Its promises
///
/// - *An answer is on disk.* The mark and its rows are one transaction, and a commit returns after its fsync. A
///   transaction that only reads sees synced commits of its own connection. A killed process may have left unsynced
///   commits. They are synced before the first read: opening to write commits a row of `counter`, and this fsync covers
///   the whole WAL. Earlier days' files with a WAL are checkpointed when the store opens.
/// - *A mark never goes back.* The writer chooses the day at commit, and never one before the newest file's. So a
///   chain's newest state is in the newest file that has the chain. Only if no file has it is it in the baseline.
/// - *No number twice.* The writer skips numbers up to the mark. `UNIQUE (chain, first)` is the second safeguard.
/// - *No key twice.* The writer looks an item's key up in the files in which it can be before it stores the item. The
///   key goes with the file. `PRIMARY KEY (chain, origin, first)` is the second safeguard.
/// - *The content can be proved.* Each chain's slices cover all numbers from `entry_number` to the mark; holes are
///   `lost_before`. Links recomputed over bytes, gaps and rejections match the stored ones (`StreamVerification`).
///
/// ## Argued against
///
/// - *Power cut*: the WAL's checksums cut off a torn transaction. Its requests had no answer, so devices repeat them.
///   Before the first row, a new file's schema is synced, then its name and the directories up to `records/`.
/// - *Disk full*: the transaction rolls back and its requests are answered `unavailable`. The connection stays open for
///   reading marks, and the next transaction tries again.
/// - *Day change*: between two transactions the writer checkpoints and closes the old file and makes the next. A chain
///   enters the new file with its mark at that time. So each file can be verified alone and against the one before.
/// - *Clock stepped back*: the writer stays in the newest file. *Forward*: it opens a file of that day and stays there
///   until the clock reaches that day again. Rows stay in the order of receipt; only the name is early.
/// - *File removed by retention*: its marks and counts are in the baseline first, and its name is never used again.
///   *Removed by hand while open*: the writer notices it before each commit by the inode. It forgets its marks and
///   reads the remaining files. The missing records count as lost at the collector, never as stored.
/// - *Device erased*: its marks and counts are in the baseline first, then one transaction removes all that the file
///   has of it (`RecordErasure`). Ids of slices and chains are not used again, because cursors name slices by them.
/// - *File damaged*: the collector replaces it by a file with the provable records and counts the rest as lost
///   (`RecordSalvage`). Numbers lost at the end of a chain are a slice of their own, with one gap.
/// - *File copied while open*: a copy of file and WAL is some committed state, or the WAL's checksums refuse it.
final class RecordFile {
    let partition: Partition
    let path: String
    let connection: Connection
    let blob = RecordBlob()
    let identity: FileIdentity
    /// Whether a chain was ever erased from the file.
    private var hasErased = false

    static let applicationID: Int32 = 0x5753_3152
    static let version: Int32 = 1
    static let pageBytes = 8192

    private static let schema = """
        CREATE TABLE chain (
            id INTEGER PRIMARY KEY, device BLOB NOT NULL, epoch BLOB NOT NULL, entry_number INTEGER NOT NULL, \
        entry_link BLOB NOT NULL,
            \(ChainState.columnDefinitions), earliest INTEGER NOT NULL, latest INTEGER NOT NULL, kinds INTEGER NOT NULL,
            UNIQUE (device, epoch));
        CREATE TABLE slice (
            id INTEGER PRIMARY KEY, chain INTEGER NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, lost_before \
        INTEGER NOT NULL,
            prior_link BLOB NOT NULL, last_link BLOB NOT NULL, received_at INTEGER NOT NULL, earliest INTEGER NOT NULL,
            latest INTEGER NOT NULL, record_count INTEGER NOT NULL, kinds INTEGER NOT NULL, gaps BLOB NOT NULL, \
        records BLOB NOT NULL,
            UNIQUE (chain, first));
        CREATE TABLE rejected (
            chain INTEGER NOT NULL, number INTEGER NOT NULL, reason INTEGER NOT NULL, size INTEGER NOT NULL, link BLOB \
        NOT NULL,
            bytes BLOB, PRIMARY KEY (chain, number)) WITHOUT ROWID;
        CREATE TABLE counter (id INTEGER PRIMARY KEY, count INTEGER NOT NULL);
        INSERT INTO counter VALUES (1, 0);
        """

    /// Opens for writing, and makes the file and its schema if missing. Returns after what an earlier process left is
    /// synced.
    init(writing partition: Partition, in directory: DataDirectory) throws(StoreError) {
        self.partition = partition
        path = directory.path(of: partition)
        try directory.makeDay(partition.day)
        do throws(SQLiteError) {
            connection = try Connection(path: path, options: Self.options(.create))
            if try connection.userVersion == 0 { try Self.makeSchema(connection) }
            try Self.countOpening(connection)
            hasErased = try connection.hasRow("SELECT 1 FROM counter WHERE id = \(Counter.lastSlice.rawValue)")
        } catch { throw StoreError(error) }
        try Files<StoreError>.sync(directory: directory.dayPath(partition.day))
        identity = FileIdentity(path: path)
    }

    /// Opens for reading, beside a writer. `nil` if the file has no schema, because its creation was interrupted or is
    /// under way.
    init?(reading partition: Partition, in directory: DataDirectory) throws(StoreError) {
        self.partition = partition
        path = directory.path(of: partition)
        // The WAL is checked first: a file that is being made has its first page before there is a WAL.
        let walBytes = Paths.size(of: "\(path)-wal") ?? 0
        if Paths.size(of: path) == 0 {
            // SQLite removes the WAL of an empty file, even for a reader. Salvage may still find records in it.
            guard walBytes == 0 else { throw StoreError.emptied(partition) }
            return nil
        }
        do throws(SQLiteError) {
            connection = try directory.openReading(path, options: Self.options(.readOnly))
            if try connection.userVersion == 0 { return nil }
        } catch { throw StoreError(error) }
        identity = FileIdentity(path: path)
    }

    private static func options(_ mode: Connection.Mode) -> Connection.Options {
        var options = Connection.Options(mode: mode, applicationID: applicationID)
        options.maximumUserVersion = version
        // Slices are longer than a page of the default size. With larger pages fewer must be written, each of them
        // twice (WAL and file). A small commit still writes three.
        options.pageSize = pageBytes
        options.walAutocheckpointPages = 2000
        options.journalSizeLimitBytes = 64 << 20
        options.cacheKibibytes = mode == .create ? 8192 : 512
        return options
    }

    /// Makes the table of keys. Only files with keys have it, so others stay as every version of the collector makes
    /// them.
    func makeKeyTable() throws(SQLiteError) {
        try connection.execute(
            """
            CREATE TABLE IF NOT EXISTS key (
                chain INTEGER NOT NULL, origin BLOB NOT NULL, first INTEGER NOT NULL, last INTEGER NOT NULL, \
            slice INTEGER NOT NULL,
                proof BLOB NOT NULL, PRIMARY KEY (chain, origin, first)) WITHOUT ROWID
            """)
    }

    /// Whether a key of the file was ever stored.
    func hasKeys() throws(SQLiteError) -> Bool {
        try connection.first("SELECT count(*) FROM sqlite_master WHERE type = 'table' AND name = 'key'") {
            $0.int(0) > 0
        } ?? false
    }

    /// A key's `proof` has so many bytes of its slice's last link. It binds the key to the content of the slice,
    /// because a salvage may give a slice's id to another one.
    static let proofBytes = 8

    /// The rows of `counter`.
    enum Counter: Int {
        case openings = 1
        case lastSlice = 2
        case lastChain = 3
        case packedAbove = 4
        // Only while the file is made by RecordPacker: the fingerprint of the day's file, the last slice of the stretch
        // that is packed, and of what is packed of the next one.
        case packedFile = 5
        case packedStretch = 6
        case packedUpTo = 7
    }

    /// Commits a row, whose sync covers everything before it.
    static func countOpening(_ connection: Connection) throws(SQLiteError) {
        try connection.execute("UPDATE counter SET count = count + 1 WHERE id = \(Counter.openings.rawValue)")
    }

    /// The greatest id that a slice has or had; 0 without one.
    func lastSlice() throws(StoreError) -> Int64 { try StoreError.mapping(last("slice", .lastSlice)) }

    private func last(_ table: String, _ counter: Counter) throws(SQLiteError) -> Int64 {
        try connection.first(
            """
            SELECT max(coalesce((SELECT max(id) FROM \(table)), 0),
                coalesce((SELECT count FROM counter WHERE id = \(counter.rawValue)), 0))
            """
        ) { $0.int64(0) } ?? 0
    }

    /// Removes chains and all that the file has of them, and overwrites where it was. What is in the WAL stays there
    /// until the next `emptyWAL`.
    func erase(chains ids: [Int64]) throws(SQLiteError) {
        try connection.execute("PRAGMA secure_delete = ON")
        let tables = try hasKeys() ? ["key", "rejected", "slice"] : ["rejected", "slice"]
        try connection.transaction { () throws(SQLiteError) in
            for (table, counter) in [("slice", Counter.lastSlice), ("chain", Counter.lastChain)] {
                try connection.run(
                    "INSERT OR REPLACE INTO counter VALUES (?, ?)", counter.rawValue, try last(table, counter))
            }
            for id in ids {
                for table in tables { try connection.run("DELETE FROM \(table) WHERE chain = ?", id) }
                try connection.run("DELETE FROM chain WHERE id = ?", id)
            }
        }
        hasErased = true
    }

    /// Moves the WAL into the file, and leaves nothing in it.
    /// - Throws: `.overloaded` if a reader needs it for longer than SQLite waits.
    func emptyWAL() throws(StoreError) {
        guard try !StoreError.mapping(connection.checkpoint(.truncate)).busy else {
            throw StoreError(.overloaded, "\(partition.name): the WAL is in use by a reader. Try again later.")
        }
    }

    /// Makes the file smaller if a quarter of it is free.
    func compact() throws(SQLiteError) {
        let pages = try connection.first(
            "SELECT freelist_count, page_count FROM pragma_freelist_count, pragma_page_count"
        ) { (free: $0.int64(0), all: $0.int64(1)) }
        if let pages, pages.free * 4 > pages.all { try connection.execute("VACUUM") }
    }

    private static func makeSchema(_ connection: Connection) throws(SQLiteError) {
        try connection.transaction { () throws(SQLiteError) in
            // A second check under the writer's lock is not needed, because the store holds the directory exclusively.
            try connection.execute(schema)
            try connection.setUserVersion(version)
        }
    }

    /// Whether somebody truncated the file to nothing while it is open. It is never empty after `init(writing:in:)`.
    var isEmptied: Bool { Paths.size(of: path) == 0 }

    /// Whether the name still belongs to the open file.
    var isInPlace: Bool { identity.isInPlace }

    /// Moves the WAL into the file and closes it.
    func seal() throws(StoreError) {
        do {
            _ = try connection.checkpoint(.truncate)
            try connection.close()
        } catch { throw StoreError(error) }
    }
}

/// The writer's steps inside its transaction.
extension RecordFile {
    /// Adds the chain's row with the state at the beginning of this day.
    /// - Parameter id: the row's id; `nil` for the next one.
    /// - Returns: the row's id.
    func enter(_ key: ChainKey, state: ChainState, id: Int64? = nil) throws(SQLiteError) -> Int64 {
        let statement = try connection.cached(
            """
            INSERT INTO chain (device, epoch, entry_number, entry_link, \(ChainState.columns), earliest, latest, \
            kinds, id)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        try statement.bind(key.device.data, at: 1)
        try statement.bind(key.epoch.data, at: 2)
        try statement.bind(state.mark.number, at: 3)
        try statement.bind(state.mark.link.data, at: 4)
        try state.bind(to: statement, from: 5)
        try Self.bind(RecordBounds.none, to: statement, from: 5 + ChainState.columnCount)
        let row = if let id { id } else { try next("chain", .lastChain) }
        try statement.bind(row, at: 8 + ChainState.columnCount)
        try statement.run()
        return connection.lastInsertedRow
    }

    /// - Parameter bounds: of the chain's records in this file.
    func update(chain id: Int64, state: ChainState, bounds: RecordBounds) throws(SQLiteError) {
        let statement = try connection.cached(
            """
            UPDATE chain SET mark = ?, totals = ?, part_last = ?, above_part = ?, closed_last = ?, closed_reason = ?, \
            closed_at = ?,
                earliest = ?, latest = ?, kinds = ? WHERE id = ?
            """)
        try state.bind(to: statement, from: 1)
        try Self.bind(bounds, to: statement, from: ChainState.columnCount + 1)
        try statement.bind(id, at: ChainState.columnCount + 4)
        try statement.run()
    }

    private static func bind(_ bounds: RecordBounds, to statement: Statement, from index: Int32) throws(SQLiteError) {
        try statement.bind(bounds.earliest, at: index)
        try statement.bind(bounds.latest, at: index + 1)
        try statement.bind(bounds.kinds, at: index + 2)
    }

    /// Adds a slice and its rejected records.
    /// - Parameter formerMark: the mark's number before the slice.
    /// - Returns: the bounds of its records.
    func insert(
        _ slice: AcceptedSlice, chain: Int64, formerMark: UInt64, receivedAt: Int64
    ) throws(SQLiteError) -> RecordBounds {
        let stored = slice.storedCount
        let bounds = slice.bounds
        let statement = try connection.cached(
            """
            INSERT INTO slice (chain, first, last, lost_before, prior_link, last_link, received_at, earliest, latest, \
            record_count, kinds,
                gaps, records, id) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        try statement.bind(chain, at: 1)
        try statement.bind(slice.first, at: 2)
        try statement.bind(slice.last, at: 3)
        try statement.bind(slice.first - 1 - formerMark, at: 4)
        try statement.bind(slice.priorLink.data, at: 5)
        try statement.bind(slice.lastLink.data, at: 6)
        try statement.bind(receivedAt, at: 7)
        try statement.bind(stored == 0 ? 0 : bounds.earliest, at: 8)
        try statement.bind(stored == 0 ? 0 : bounds.latest, at: 9)
        try statement.bind(stored, at: 10)
        try statement.bind(bounds.kinds, at: 11)
        try statement.bind(Self.encoded(slice.gaps), at: 12)
        try statement.bind(try next("slice", .lastSlice), at: 14)
        let packed = PackedRecords.pack(slice.records)
        let bytes = packed.withUnsafeBytes { blob.frame($0) } ?? packed
        // (Data's closure does not carry typed errors.)
        try bytes.withUnsafeBytes { bytes -> Result<Void, SQLiteError> in
            do throws(SQLiteError) { return .success(try statement.run(bindingUncopied: bytes, at: 13)) } catch {
                return .failure(error)
            }
        }.get()
        if stored < slice.records.count { try insertRejected(slice, chain: chain) }
        return bounds
    }

    /// Adds a slice of numbered items and their keys.
    /// - Returns: the bounds of its records.
    func insert(
        _ addition: NumberingStep.Addition, chain: Int64, receivedAt: Int64
    ) throws(SQLiteError) -> RecordBounds {
        let slice = addition.slice
        let bounds = try insert(slice, chain: chain, formerMark: slice.first - 1, receivedAt: receivedAt)
        let id = connection.lastInsertedRow
        if addition.keys.isEmpty { return bounds }
        try makeKeyTable()
        for key in addition.keys { try insert(key, chain: chain, slice: id, lastLink: slice.lastLink.data) }
        return bounds
    }

    /// Adds a key.
    /// - Parameter lastLink: of its slice.
    func insert(_ key: KeyRange, chain: Int64, slice: Int64, lastLink: Data) throws(SQLiteError) {
        let statement = try connection.cached(
            "INSERT INTO key (chain, origin, first, last, slice, proof) VALUES (?, ?, ?, ?, ?, ?)")
        try statement.bind(chain, at: 1)
        try statement.bind(key.origin.data, at: 2)
        try statement.bind(key.first, at: 3)
        try statement.bind(key.last, at: 4)
        try statement.bind(slice, at: 5)
        try statement.bind(lastLink.suffix(Self.proofBytes), at: 6)
        try statement.run()
    }

    /// The id of a new row; `nil` lets SQLite choose the one after the greatest.
    private func next(_ table: String, _ counter: Counter) throws(SQLiteError) -> Int64? {
        hasErased ? try last(table, counter) + 1 : nil
    }

    private func insertRejected(_ slice: AcceptedSlice, chain: Int64) throws(SQLiteError) {
        for record in slice.rejectedRecords {
            try connection.run(
                "INSERT INTO rejected (chain, number, reason, size, link, bytes) VALUES (?, ?, ?, ?, ?, ?)", chain,
                record.number, record.reason.rawValue, record.size, record.link.data, record.bytes)
        }
    }

    static func encoded(_ gaps: [Gap]) -> Data {
        guard !gaps.isEmpty else { return Data() }
        var message = WireBatchPart()
        message.gaps = gaps.map(\.wire)
        return message.encoded
    }
}
