import ClickHouse
import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// Erases devices: only their marks and counts stay.
///
/// An erasure has four steps, each of which may be repeated, so that neither a crash nor a failover harms a chain:
/// 1. ClickHouse gets the floors: each chain's mark.
/// 2. PostgreSQL raises the chains' floors to their marks. None of their slices counts any more.
/// 3. PostgreSQL's receipts forget the slices, so no list looks for them.
/// 4. ClickHouse is told to delete the slices, and the rows for people.
///
/// ClickHouse deletes in the background. It rewrites each part that has such rows, each replica by itself, also one
/// that is away now. Version 18.16 leaves the newest insert of a partition alone until another one comes; of a day that
/// is over, that one goes with retention.
struct ClusterErasure: Sendable {
    let table: PartitionTable

    /// Chains whose slices are looked up together on one day.
    private static let chainsTogether = 50
    private static let receiptsTogether = 2000

    /// - Throws: `.unavailable` if a server does not answer.
    func erase(_ devices: Set<DeviceID>) async throws(StoreError) {
        let ids = devices.sorted()
        if ids.isEmpty { return }
        let condition = "device IN (\(ids.map { "'\($0)'" }.joined(separator: ", ")))"
        for stream in StreamName.allCases {
            try await raiseFloors(of: ids, stream)
            let slices = SliceSchema.table(of: stream)
            if try await hasRows(slices, condition) {
                try await forgetReceipts(of: ids, stream)
                try await delete(from: slices, condition)
            }
            let people = PeopleSchema.table(of: stream)
            if try await hasRows(people, condition) { try await delete(from: people, condition) }
        }
    }

    /// Step 4.
    private func delete(from name: String, _ condition: String) async throws(StoreError) {
        do throws(ClickHouseError) {
            try await table.slices.client.execute("ALTER TABLE \(name) DELETE WHERE \(condition)")
        } catch { throw StoreError(error) }
    }

    /// Steps 1 and 2. Floors that an erasure copies name no day, because none is dropped.
    private func raiseFloors(of ids: [DeviceID], _ stream: StreamName) async throws(StoreError) {
        let (generation, chains) = try await table.database.read(mapping: StoreError.init) {
            session throws(StoreError) in
            (try StoreRow.open(in: session).generation, try ChainTable.chains(of: ids, stream, in: session))
        }
        let raised = chains.filter { $0.floorNumber < $0.state.mark.number }
        try await FloorTable(slices: table.slices).write(
            raised.map {
                .init(
                    key: $0.key, day: FloorTable.noDay, generation: generation, number: $0.state.mark.number,
                    state: ChainColumns($0.state))
            }, stream)
        let devices = ids.map(\.data)
        try await table.step(under: generation) { session throws(PostgresError) in
            // A chain that has moved since keeps its floor, and its days. The next erasure finds it.
            try session.execute(
                """
                UPDATE chain c SET floor_number = c.number, floor = c.mark
                FROM unnest($2, $3, $4) AS m(device, epoch, number)
                WHERE c.stream = $1 AND c.device = m.device AND c.epoch = m.epoch AND c.number = m.number
                """, stream.rawValue, raised.map(\.key.device.data), raised.map(\.key.epoch.data),
                raised.map { Int64(clamping: $0.state.mark.number) })
            try session.execute(
                """
                DELETE FROM chain_day d USING chain c
                WHERE d.stream = $1 AND d.device = ANY($2) AND c.stream = $1 AND c.device = d.device
                    AND c.epoch = d.epoch AND d.end_number <= c.floor_number
                """, stream.rawValue, devices)
            for table in ["item_key", "outbox"] {
                try session.execute(
                    "DELETE FROM \(table) WHERE stream = $1 AND device = ANY($2)", stream.rawValue, devices)
            }
        }
    }

    /// Step 3.
    private func forgetReceipts(of ids: [DeviceID], _ stream: StreamName) async throws(StoreError) {
        let (generation, keys, days) = try await table.database.read(mapping: StoreError.init) {
            session throws(StoreError) in
            (
                try StoreRow.open(in: session).generation,
                try ChainTable.chains(of: ids, stream, in: session).map(\.key),
                try ChainTable.keptDays(stream, in: session)
            )
        }
        for day in days {
            var rest = keys[...]
            while !rest.isEmpty {
                let some = rest.prefix(Self.chainsTogether)
                rest = rest.dropFirst(Self.chainsTogether)
                var slices: [UInt64: ReceivedSlice] = [:]
                for replica in table.slices.client.replicas {
                    let heads = try await table.slices.heads(of: some, days: day...day, stream: stream, on: replica)
                    for slice in heads.heads.compactMap({ ReceivedSlice($0) }) { slices[slice.digest] = slice }
                }
                var left = Array(slices.values)[...]
                while !left.isEmpty {
                    let page = Array(left.prefix(Self.receiptsTogether))
                    left = left.dropFirst(Self.receiptsTogether)
                    try await table.step(under: generation) { session throws(PostgresError) in
                        try ReceiptTable.remove(page, stream, session)
                    }
                }
            }
        }
    }

    /// Whether a replica that answers has rows that meet the condition.
    /// - Throws: if none answers.
    private func hasRows(_ name: String, _ condition: String) async throws(StoreError) -> Bool {
        var failure: StoreError?
        var isAnswered = false
        for replica in table.slices.client.replicas {
            do throws(StoreError) {
                let counts = try await table.slices.rows(
                    "SELECT count() FROM \(name) WHERE \(condition)", on: replica
                ) { row throws(ClickHouseError) in try row.uint64() }.rows
                if counts.contains(where: { $0 > 0 }) { return true }
                isAnswered = true
            } catch { failure = error }
        }
        if !isAnswered, let failure { throw failure }
        return false
    }
}
