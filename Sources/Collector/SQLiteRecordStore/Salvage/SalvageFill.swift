import FoundationEssentials
import RecordStore
import Registry
import SQLite
import WireModel

/// Copies the rows of a damaged record file into a new one, wherever they are. `ChainMend` decides which of them are
/// trusted.
///
/// Rows are recognized by their columns alone. Of several copies of a slice the first is used, because slices never
/// change. Of several copies of a chain's row, the one with the greatest mark is kept.
struct SalvageFill {
    /// The chains by their ids in the damaged file, which the new file keeps.
    private(set) var chains: [Int64: RecordFile.ChainRow] = [:]
    /// The owners of chains from the table's index, even if the chain's row is lost.
    private(set) var keys: [Int64: ChainKey] = [:]

    /// A part is smaller than this.
    private static let greatestPayload = 64 << 20
    private static let transactionBytes = 8 << 20

    init(into file: RecordFile, from path: String) throws(StoreError) {
        let wal = "\(path)-wal"
        let pageBytes = RawPages.pageBytes(database: path, wal: wal) ?? RecordFile.pageBytes
        try fill(file, from: RawPages(database: path, wal: wal, pageBytes: pageBytes))
    }

    private mutating func fill(_ file: RecordFile, from pages: RawPages) throws(StoreError) {
        var bytes = 0
        var chains: [Int64: RecordFile.ChainRow] = [:]
        var keys: [Int64: ChainKey] = [:]
        func commit(andGoOn goesOn: Bool) throws(StoreError) {
            try StoreError.mapping { () throws(SQLiteError) in
                try file.connection.commit()
                if goesOn { try file.connection.begin() }
            }
            bytes = 0
        }
        try StoreError.mapping(file.connection.begin())
        do {
            var rows = RawRows(pages, greatestPayload: Self.greatestPayload)
            try rows.forEach { (id: Int64, row: RawRow) throws(StoreError) in
                if let chain = Self.chain(id, row) {
                    if let former = chains[id], !former.isOlder(than: chain) { return }
                    chains[id] = chain
                } else if Self.isSlice(row) {
                    try StoreError.mapping(file.insert(slice: row, id: id))
                    bytes += row.payload.count
                    if bytes >= Self.transactionBytes { try commit(andGoOn: true) }
                }
            }
            try rows.forEachKey { (row: RawRow) throws(StoreError) in
                if let (id, key) = Self.key(row) {
                    keys[id] = key
                } else if let key = Self.itemKey(row) {
                    try StoreError.mapping(file.insert(key))
                    bytes += row.payload.count
                    if bytes >= Self.transactionBytes { try commit(andGoOn: true) }
                } else if let (chain, rejected) = Self.rejected(row) {
                    try StoreError.mapping(file.insert(rejected, chain: chain))
                    bytes += row.payload.count
                    if bytes >= Self.transactionBytes { try commit(andGoOn: true) }
                }
            }
            try commit(andGoOn: false)
        } catch {
            file.connection.rollback()
            throw error
        }
        self.chains = chains
        self.keys = keys
    }

    // MARK: Rows

    private static func chain(_ id: Int64, _ row: RawRow) -> RecordFile.ChainRow? {
        // The bounds are computed from the slices that remain.
        guard row.columns.count == 15, id > 0, row.isNull(0),
            let device = row.bytes(1).flatMap({ DeviceID(Data($0)) }),
            let epoch = row.bytes(2).flatMap({ EpochID(Data($0)) }), let number = row.count(3),
            let link = row.bytes(4).flatMap({ ChainLink(Data($0)) }), let state = ChainState(row, from: 5)
        else { return nil }
        return RecordFile.ChainRow(
            id: id, key: ChainKey(device: device, epoch: epoch), entryNumber: number, entryLink: link, state: state,
            bounds: .none)
    }

    /// Whether the columns are those of the table `slice`.
    private static func isSlice(_ row: RawRow) -> Bool {
        guard row.columns.count == 14, row.isNull(0), let chain = row.integer(1), chain > 0, let first = row.count(2),
            first > 0, let last = row.count(3), last >= first, row.bytes(5)?.count == ChainLink.byteCount,
            row.bytes(6)?.count == ChainLink.byteCount, let gaps = row.bytes(12), row.bytes(13) != nil
        else { return false }
        return row.count(4) != nil && row.count(10) != nil && [7, 8, 9, 11].allSatisfy { row.integer($0) != nil }
            && (try? WireBatchPart.decode(Data(gaps)).gaps.map { try Gap($0) }) != nil
    }

    private static func key(_ row: RawRow) -> (Int64, ChainKey)? {
        guard row.columns.count == 3, let device = row.bytes(0).flatMap({ DeviceID(Data($0)) }),
            let epoch = row.bytes(1).flatMap({ EpochID(Data($0)) }), let id = row.integer(2), id > 0
        else { return nil }
        return (id, ChainKey(device: device, epoch: epoch))
    }

    fileprivate struct ItemKeyRow {
        var chain: Int64
        var range: KeyRange
        var slice: Int64
        var proof: Data
    }

    private static func itemKey(_ row: RawRow) -> ItemKeyRow? {
        guard row.columns.count == 6, let chain = row.integer(0), chain > 0,
            let origin = row.bytes(1).flatMap({ KeyOrigin(Data($0)) }), let first = row.count(2),
            let last = row.count(3), last >= first, let slice = row.integer(4), slice > 0, let proof = row.bytes(5)
        else { return nil }
        return ItemKeyRow(
            chain: chain, range: KeyRange(origin: origin, first: first, last: last), slice: slice,
            proof: Data(proof))
    }

    private static func rejected(_ row: RawRow) -> (Int64, RejectedRecord)? {
        guard row.columns.count == 6, let chain = row.integer(0), chain > 0, let number = row.count(1), number > 0,
            let reason = row.integer(2), let size = row.count(3),
            let link = row.bytes(4).flatMap({ ChainLink(Data($0)) }),
            row.isNull(5) || row.bytes(5) != nil
        else { return nil }
        return (
            chain,
            RejectedRecord(
                number: number, reason: RejectReason(rawValue: Int(clamping: reason)), size: Int(clamping: size),
                link: link, bytes: row.bytes(5).map { Data($0) })
        )
    }
}

extension RecordFile.ChainRow {
    fileprivate func isOlder(than other: Self) -> Bool {
        (state.mark.number, state.totals.sent.produced, state.closed == nil ? 0 : 1)
            < (other.state.mark.number, other.state.totals.sent.produced, other.state.closed == nil ? 0 : 1)
    }
}

extension ChainState {
    /// Reads the state from a raw row; `nil` if the columns are not what `bind` writes.
    fileprivate init?(_ row: RawRow, from index: Int) {
        guard let mark = row.bytes(index), let totals = row.bytes(index + 1), let partLast = row.count(index + 2),
            let above = row.bytes(index + 3)
        else { return nil }
        var columns = ChainColumns(
            mark: Data(mark), totals: Data(totals), partLast: partLast, abovePart: Data(above))
        if !row.isNull(index + 4) {
            guard let last = row.count(index + 4), let reason = row.integer(index + 5), let at = row.integer(index + 6)
            else { return nil }
            (columns.closedLast, columns.closedReason, columns.closedAt) = (last, reason, at)
        }
        do throws(StoreError) { try self.init(columns, of: "a raw row") } catch { return nil }
    }
}

extension RecordFile {
    /// Inserts a row as it was read. A row that exists already stays.
    fileprivate func insert(slice row: RawRow, id: Int64) throws(SQLiteError) {
        let statement = try connection.cached(
            """
            INSERT OR IGNORE INTO slice (id, chain, first, last, lost_before, prior_link, last_link, received_at, \
            earliest,
                latest, record_count, kinds, gaps, records) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
            """)
        try statement.bind(id, at: 1)
        for column in 1..<row.columns.count {
            let place = Int32(column + 1)
            if let bytes = row.bytes(column) {
                try statement.bind(Data(bytes), at: place)
            } else {
                try statement.bind(row.integer(column), at: place)
            }
        }
        try statement.run()
    }

    fileprivate func insert(_ key: SalvageFill.ItemKeyRow) throws(SQLiteError) {
        try makeKeyTable()
        try connection.run(
            "INSERT OR IGNORE INTO key (chain, origin, first, last, slice, proof) VALUES (?, ?, ?, ?, ?, ?)", key.chain,
            key.range.origin.data, key.range.first, key.range.last, key.slice, key.proof)
    }

    fileprivate func insert(_ rejected: RejectedRecord, chain: Int64) throws(SQLiteError) {
        try connection.run(
            "INSERT OR IGNORE INTO rejected (chain, number, reason, size, link, bytes) VALUES (?, ?, ?, ?, ?, ?)",
            chain, rejected.number, rejected.reason.rawValue, rejected.size, rejected.link.data, rejected.bytes)
    }
}
