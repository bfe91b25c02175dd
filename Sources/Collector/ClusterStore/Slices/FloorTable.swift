import ClickHouse
import FoundationEssentials
import RecordStore
import WireModel

/// The table `baseline`: the floor of each chain of each dropped day, and of each erased chain, for a recovery that
/// finds PostgreSQL without it.
struct FloorTable: Sendable {
    let slices: SliceTable

    /// The day of a floor that an erasure has copied.
    static let noDay = UTCDay(number: 0)

    private static let columns = [
        "stream", "day", "device", "epoch", "generation", "number", "mark", "totals", "part_last", "above_part",
        "closed",
        "closed_last", "closed_reason", "closed_at",
    ]

    /// - Throws: `.unavailable` unless the rows certainly are stored.
    func write(_ floors: [ChainRecovery.Floor], _ stream: StreamName) async throws(StoreError) {
        if floors.isEmpty { return }
        var rows = RowBinaryWriter()
        for floor in floors {
            rows.uint8(UInt8(stream.rawValue))
            rows.date(UInt16(clamping: floor.day.number))
            rows.uuid(floor.key.device)
            rows.uuid(floor.key.epoch)
            rows.uint64(floor.generation)
            rows.uint64(floor.number)
            rows.state(floor.state)
            rows.rowEnded()
        }
        try await slices.insertSurely(into: SliceSchema.baseline, columns: Self.columns, rows: rows)
    }

    /// The chains with floors that a replica has, the last day of a floor (`nil` if there is none), and whether a floor
    /// is of an erasure.
    func chains(
        of stream: StreamName, on replica: ClickHouseReplica
    ) async throws(StoreError) -> (chains: Set<ChainKey>, lastDay: UTCDay?, hasErasures: Bool) {
        let rows = try await slices.rows(
            """
            SELECT device, epoch, min(day), max(day) FROM \(SliceSchema.baseline) WHERE stream = \(stream.rawValue)
            GROUP BY device, epoch
            """, on: replica
        ) { row throws(ClickHouseError) in
            let key = ChainKey(device: try row.uuid(), epoch: try row.uuid())
            return (key, first: UTCDay(number: Int(try row.uint16())), last: UTCDay(number: Int(try row.uint16())))
        }.rows
        return (
            Set(rows.map(\.0)), rows.map(\.last).filter { $0 != Self.noDay }.max(),
            rows.contains { $0.first == Self.noDay }
        )
    }

    /// All floors of some chains that any of some replicas has.
    func read(
        of chains: [ChainKey], _ stream: StreamName, on replicas: [ClickHouseReplica]
    ) async throws(StoreError) -> [ChainKey: [ChainRecovery.Floor]] {
        if chains.isEmpty { return [:] }
        let literals = chains.map(\.literal).joined(separator: ", ")
        var floors: [ChainKey: [ChainRecovery.Floor]] = [:]
        let columns = Self.columns.dropFirst().joined(separator: ", ")
        for replica in replicas {
            let rows = try await slices.rows(
                """
                SELECT \(columns) FROM \(SliceSchema.baseline)
                WHERE stream = \(stream.rawValue) AND (device, epoch) IN (\(literals))
                """, on: replica
            ) { row throws(ClickHouseError) in
                let day = UTCDay(number: Int(try row.uint16()))
                let key = ChainKey(device: try row.uuid(), epoch: try row.uuid())
                return ChainRecovery.Floor(
                    key: key, day: day, generation: try row.uint64(), number: try row.uint64(), state: try row.state())
            }.rows
            for floor in rows where floors[floor.key]?.contains(floor) != true {
                floors[floor.key, default: []].append(floor)
            }
        }
        return floors
    }
}

extension RowBinaryWriter {
    /// A chain's state: mark, totals, part_last, above_part, closed, closed_last, closed_reason, closed_at.
    mutating func state(_ columns: ChainColumns) {
        string(columns.mark)
        string(columns.totals)
        uint64(columns.partLast)
        string(columns.abovePart)
        uint8(columns.closedLast == nil ? 0 : 1)
        uint64(columns.closedLast ?? 0)
        int64(columns.closedReason ?? 0)
        int64(columns.closedAt ?? 0)
    }
}

extension ClickHouseRows {
    mutating func state() throws(ClickHouseError) -> ChainColumns {
        var columns = ChainColumns(
            mark: try data(), totals: try data(), partLast: try uint64(), abovePart: try data())
        let isClosed = try uint8() != 0
        let (last, reason, at) = (try uint64(), try int64(), try int64())
        if isClosed { (columns.closedLast, columns.closedReason, columns.closedAt) = (last, reason, at) }
        return columns
    }
}
