import CollectorStore
import FoundationEssentials
import PostgreSQL
import WireModel

/// A chain as PostgreSQL knows it.
struct ChainRow: Sendable {
    var key: ChainKey
    var state: ChainState
    var mark: EncodedMark
    /// The mark up to which the chain's slices are removed.
    var floor: EncodedMark
    var floorNumber: UInt64

    /// The stretch that its slices must cover.
    var stretch: SliceTiling.Stretch {
        SliceTiling.Stretch(begin: floor, beginNumber: floorNumber, end: mark, endNumber: state.mark.number)
    }
}

/// A claimed chain: nobody with an older claim can move its mark any more.
struct ClaimedChain: Sendable {
    var row: ChainRow
    var attempt: UInt64
    /// The day of the slices written under this claim.
    var day: UTCDay
    var position: Int64
}

/// The state of a chain on one day.
struct ChainDay: Sendable {
    var key: ChainKey
    var day: UTCDay
    var stretch: SliceTiling.Stretch
    var bounds: RecordBounds
    /// When its newest slice came, microseconds since 1970.
    var newestReceipt: Int64
}

extension ChainDay {
    /// Creates the state that the slices of one move add to their day.
    /// - Parameter slices: in the order of their keys, all of one chain and day. `nil` without one.
    init?(_ slices: [NewSlice]) {
        guard let first = slices.first, let last = slices.last else { return nil }
        key = first.chain
        day = first.day
        stretch = SliceTiling.Stretch(
            begin: EncodedMark(first.before), beginNumber: first.before.number, end: EncodedMark(last.after.mark),
            endNumber: last.after.mark.number)
        bounds = slices.reduce(into: .none) { $0.include($1.bounds) }
        newestReceipt = slices.reduce(.min) { max($0, $1.receivedAt) }
    }

    static let columns = """
        device, epoch, day, begin_number, begin_mark, end_number, end_mark, earliest, latest, kinds, newest_receipt
        """

    /// Reads `columns`.
    init(_ row: PostgresRow) throws(StoreError) {
        key = try ChainKey(row, device: 0, epoch: 1)
        day = UTCDay(number: try row.number(2))
        stretch = SliceTiling.Stretch(
            begin: EncodedMark(bytes: try row.bytes(4)), beginNumber: try row.unsigned(3),
            end: EncodedMark(bytes: try row.bytes(6)), endNumber: try row.unsigned(5))
        bounds = RecordBounds(
            earliest: try row.signed(7), latest: try row.signed(8), kinds: UInt64(bitPattern: try row.signed(9)))
        newestReceipt = try row.signed(10)
    }
}

extension ChainRow {
    static let columns = """
        device, epoch, mark, totals, part_last, above_part, closed_last, closed_reason, closed_at, floor_number, floor
        """
    static let columnCount = 11

    /// Reads `columns`.
    init(_ row: PostgresRow) throws(StoreError) {
        key = try ChainKey(row, device: 0, epoch: 1)
        mark = EncodedMark(bytes: try row.bytes(2))
        var columns = ChainColumns(
            mark: mark.bytes, totals: try row.bytes(3), partLast: try row.unsigned(4), abovePart: try row.bytes(5))
        if let last = try row.optionalSigned(6) {
            columns.closedLast = UInt64(bitPattern: last)
            columns.closedReason = try row.optionalSigned(7)
            columns.closedAt = try row.optionalSigned(8)
        }
        state = try ChainState(columns, of: "the table chain")
        floorNumber = try row.unsigned(9)
        floor = EncodedMark(bytes: try row.bytes(10))
    }
}

extension ChainKey {
    /// - Throws: `.corrupt` if the columns do not have 16 bytes.
    init(_ row: PostgresRow, device: Int, epoch: Int) throws(StoreError) {
        guard let device = DeviceID(try row.bytes(device)), let epoch = EpochID(try row.bytes(epoch)) else {
            throw StoreError(.corrupt, "a chain in PostgreSQL has ids that are not 16 bytes.")
        }
        self.init(device: device, epoch: epoch)
    }
}

extension PostgresRow {
    func bytes(_ column: Int) throws(StoreError) -> Data {
        try StoreError.mapping { () throws(PostgresError) in try data(column) }
    }
    func signed(_ column: Int) throws(StoreError) -> Int64 {
        try StoreError.mapping { () throws(PostgresError) in try int64(column) }
    }
    func number(_ column: Int) throws(StoreError) -> Int {
        try StoreError.mapping { () throws(PostgresError) in try int(column) }
    }

    func optionalSigned(_ column: Int) throws(StoreError) -> Int64? {
        try StoreError.mapping { () throws(PostgresError) in try optionalInt64(column) }
    }

    /// - Throws: `.corrupt` for a negative number.
    func unsigned(_ column: Int) throws(StoreError) -> UInt64 {
        let value = try signed(column)
        guard value >= 0 else { throw StoreError(.corrupt, "a number in PostgreSQL is negative: \(value).") }
        return UInt64(value)
    }
}

extension StoreError {
    /// PostgreSQL's error, as what it means to a caller of the store.
    ///
    /// A commit with unknown outcome is `.unavailable`: the caller tries again, and finds what was committed.
    init(_ error: PostgresError) {
        let code: Code =
            switch error.code {
            case .unavailable, .conflict, .outcomeUnknown, .unexpectedServer: .unavailable
            case .constraint: .conflict
            case .statement, .configuration: .internalFault
            case .shutDown: .shuttingDown
            }
        self.init(code, error.message)
    }

    static func mapping<T>(_ body: () throws(PostgresError) -> T) throws(StoreError) -> T {
        do { return try body() } catch { throw StoreError(error) }
    }
}
