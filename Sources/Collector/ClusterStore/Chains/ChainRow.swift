import FoundationEssentials
import PostgreSQL
import RecordStore
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

    /// The numbers of `columns` in a result.
    private struct Places {
        let device, epoch, day, beginNumber, beginMark, endNumber, endMark, earliest, latest, kinds, newestReceipt: Int

        init(_ rows: PostgresRows) throws(PostgresError) {
            device = try rows.column("device")
            epoch = try rows.column("epoch")
            day = try rows.column("day")
            beginNumber = try rows.column("begin_number")
            beginMark = try rows.column("begin_mark")
            endNumber = try rows.column("end_number")
            endMark = try rows.column("end_mark")
            earliest = try rows.column("earliest")
            latest = try rows.column("latest")
            kinds = try rows.column("kinds")
            newestReceipt = try rows.column("newest_receipt")
        }
    }

    /// Reads rows that have `columns`.
    static func all(_ rows: PostgresRows) throws(StoreError) -> [ChainDay] {
        let places = try StoreError.mapping { () throws(PostgresError) in try Places(rows) }
        var days: [ChainDay] = []
        days.reserveCapacity(rows.count)
        for row in rows { days.append(try ChainDay(row, places)) }
        return days
    }

    private init(_ row: PostgresRow, _ places: Places) throws(StoreError) {
        key = try ChainKey(row, device: places.device, epoch: places.epoch)
        day = UTCDay(number: try row.number(places.day))
        stretch = SliceTiling.Stretch(
            begin: EncodedMark(bytes: try row.bytes(places.beginMark)),
            beginNumber: try row.unsigned(places.beginNumber),
            end: EncodedMark(bytes: try row.bytes(places.endMark)), endNumber: try row.unsigned(places.endNumber))
        bounds = RecordBounds(
            earliest: try row.signed(places.earliest), latest: try row.signed(places.latest),
            kinds: UInt64(bitPattern: try row.signed(places.kinds)))
        newestReceipt = try row.signed(places.newestReceipt)
    }
}

extension ChainRow {
    static let columns = """
        device, epoch, mark, totals, part_last, above_part, closed_last, closed_reason, closed_at, floor_number, floor
        """

    /// The numbers of `columns` in a result.
    struct Places {
        fileprivate let device, epoch, mark, totals, partLast, abovePart: Int
        fileprivate let closedLast, closedReason, closedAt, floorNumber, floor: Int

        init(_ rows: PostgresRows) throws(PostgresError) {
            device = try rows.column("device")
            epoch = try rows.column("epoch")
            mark = try rows.column("mark")
            totals = try rows.column("totals")
            partLast = try rows.column("part_last")
            abovePart = try rows.column("above_part")
            closedLast = try rows.column("closed_last")
            closedReason = try rows.column("closed_reason")
            closedAt = try rows.column("closed_at")
            floorNumber = try rows.column("floor_number")
            floor = try rows.column("floor")
        }
    }

    /// Reads rows that have `columns`.
    static func all(_ rows: PostgresRows) throws(StoreError) -> [ChainRow] {
        let places = try StoreError.mapping { () throws(PostgresError) in try Places(rows) }
        var chains: [ChainRow] = []
        chains.reserveCapacity(rows.count)
        for row in rows { chains.append(try ChainRow(row, places)) }
        return chains
    }

    init(_ row: PostgresRow, _ places: Places) throws(StoreError) {
        key = try ChainKey(row, device: places.device, epoch: places.epoch)
        mark = EncodedMark(bytes: try row.bytes(places.mark))
        var columns = ChainColumns(
            mark: mark.bytes, totals: try row.bytes(places.totals), partLast: try row.unsigned(places.partLast),
            abovePart: try row.bytes(places.abovePart))
        if let last = try row.optionalSigned(places.closedLast) {
            columns.closedLast = UInt64(bitPattern: last)
            columns.closedReason = try row.optionalSigned(places.closedReason)
            columns.closedAt = try row.optionalSigned(places.closedAt)
        }
        state = try ChainState(columns, of: "the table chain")
        floorNumber = try row.unsigned(places.floorNumber)
        floor = EncodedMark(bytes: try row.bytes(places.floor))
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

    func unsigned(_ name: String) throws(StoreError) -> UInt64 {
        try unsigned(try StoreError.mapping { () throws(PostgresError) in try column(name) })
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
