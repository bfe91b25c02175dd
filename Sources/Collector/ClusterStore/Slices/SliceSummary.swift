import ClickHouse
import FoundationEssentials
import RecordStore
import WireModel

/// The part of a slice that a list needs before it reads its records. It has no marks, so it needs a hundred bytes.
struct SliceSummary: Equatable, Sendable {
    var id: SliceID
    var day: UTCDay
    var position: Int64
    var receivedAt: Int64
    /// The bounds of its records.
    var bounds: RecordBounds
    var recordCount: UInt64
    /// The size of the packed records in bytes.
    var byteCount: UInt64

    var place: SlicePlace { SlicePlace(day: day, position: position, chain: id.chain, key: id.key) }
}

extension SliceHead {
    var summary: SliceSummary {
        SliceSummary(
            id: id, day: day, position: position, receivedAt: receivedAt, bounds: bounds, recordCount: recordCount,
            byteCount: byteCount)
    }
}

extension SliceTable {
    /// The slices with records at some positions of a day, those that never became part of their chain included.
    ///
    /// The engine reads one column of the whole day, eight bytes a slice, and the others only around what it finds.
    /// - Parameter replica: asks this one alone; `nil` for the first that answers.
    /// - Returns: also the replica that answered.
    func summaries(
        on day: UTCDay, positions: ClosedRange<Int64>, _ stream: StreamName, on replica: ClickHouseReplica?
    ) async throws(StoreError) -> (summaries: [SliceSummary], replica: ClickHouseReplica?) {
        let (summaries, answering) = try await rows(
            """
            SELECT device, epoch, key, generation, attempt, position, received_at, earliest, latest, kinds,
                record_count, record_bytes
            FROM \(SliceSchema.table(of: stream))
            PREWHERE position BETWEEN \(positions.lowerBound) AND \(positions.upperBound)
            WHERE day = '\(day)' AND record_count > 0
            """, on: replica
        ) { row throws(ClickHouseError) in
            SliceSummary(
                id: SliceID(
                    chain: ChainKey(device: try row.uuid(), epoch: try row.uuid()), key: try row.uint64(),
                    version: SliceVersion(generation: try row.uint64(), attempt: try row.uint64())),
                day: day, position: try row.int64(), receivedAt: try row.int64(),
                bounds: RecordBounds(
                    earliest: try row.int64(), latest: try row.int64(), kinds: try row.uint64()),
                recordCount: try row.uint64(), byteCount: try row.uint64())
        }
        return (summaries, answering)
    }
}
