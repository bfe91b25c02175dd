import FoundationEssentials
import SQLite
import WireModel

/// A slice of a data directory that moves to another store.
package struct MovingSlice: Sendable {
    package var chain: ChainKey
    /// Its `id` is its place in the order of receipt of its partition.
    package var slice: StoredSlice
    /// The bounds of its records.
    package var bounds: RecordBounds
    /// The device's totals at the end of the partition.
    package var totals: DeviceTotals
}

/// A chain of a data directory that moves to another store.
package struct MovingChain: Sendable {
    package var key: ChainKey
    /// The newest.
    package var state: ChainState
    /// The newest partition that has the chain; `nil` if retention has removed them all.
    package var day: UTCDay?
}

extension RecordFile {
    /// The slices above an id, in the order of receipt.
    /// - Parameters:
    ///   - count: the most slices.
    ///   - bytes: the most bytes of records. The slice that exceeds them is still returned.
    func movingSlices(after id: Int64, count: Int, bytes: Int) throws(StoreError) -> [MovingSlice] {
        let statement = try prepared(
            """
            SELECT \(Self.sliceColumns), chain, earliest, latest, kinds FROM slice WHERE id > ? ORDER BY id LIMIT ?
            """, id, count)
        defer { statement.reset() }
        var found: [MovingSlice] = []
        var size = 0
        let column = Self.sliceColumnCount
        while size < bytes, try step(statement) {
            let owner = statement.int64(column)
            let slice = try storedSlice(statement, of: owner)
            guard let chain = try chain(id: owner) else { throw corrupt("slice \(slice.id) belongs to no chain") }
            var bounds = RecordBounds.none
            if slice.recordCount > 0 {
                bounds = RecordBounds(
                    earliest: statement.int64(column + 1), latest: statement.int64(column + 2),
                    kinds: UInt64(bitPattern: statement.int64(column + 3)))
            }
            size += slice.records.count
            found.append(MovingSlice(chain: chain.key, slice: slice, bounds: bounds, totals: chain.state.totals))
        }
        return found
    }
}

/// Collects the newest state of each chain of one stream, from the baseline and then from its files, oldest first.
struct MovingChains {
    private(set) var chains: [ChainKey: MovingChain] = [:]

    init(_ baseline: [Baseline.Entry]) {
        for entry in baseline { chains[entry.key] = MovingChain(key: entry.key, state: entry.state, day: nil) }
    }

    mutating func add(_ file: RecordFile) throws(StoreError) {
        try file.forEachChain { row throws(StoreError) in
            let state = chains[row.key].map { row.state.merged(with: $0.state) } ?? row.state
            chains[row.key] = MovingChain(key: row.key, state: state, day: file.partition.day)
        }
    }
}
