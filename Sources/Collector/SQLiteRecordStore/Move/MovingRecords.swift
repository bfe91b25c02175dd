import FoundationEssentials
import RecordStore
import Registry
import SQLite
import WireModel

/// The record files and the baseline of a data directory that moves, in an order that another store can import.
///
/// Not `Sendable`: the owner of its connection uses it.
package final class MovingRecords {
    private let directory: DataDirectory
    private let baseline: Baseline
    /// The partition that was read last.
    private var file: RecordFile?

    /// - Parameter connection: reads the directory's `collector.sqlite`.
    package init(_ connection: Connection, in directory: DataDirectory) {
        self.directory = directory
        baseline = Baseline(connection)
    }

    /// Days whose files retention has removed.
    package func removedDays(of stream: StreamName) throws(StoreError) -> [UTCDay] {
        try baseline.removedPartitions().filter { $0.stream == stream }.map(\.day)
    }

    /// Each chain's state at the end of the removed files.
    package func removedChains(of stream: StreamName) throws(StoreError) -> [MovingChain] {
        try baseline.entries(of: stream).map { MovingChain(key: $0.key, state: $0.state, day: nil) }
    }

    /// Every chain with its newest state, in the order of devices.
    /// - Parameter partitions: all of the stream, oldest first.
    package func chains(of stream: StreamName, in partitions: [Partition]) throws(StoreError) -> [MovingChain] {
        var chains = MovingChains(try baseline.entries(of: stream))
        for partition in partitions {
            if let file = try RecordFile(reading: partition, in: directory) { try chains.add(file) }
        }
        return chains.chains.values.sorted { $0.key.device.description < $1.key.device.description }
    }

    /// A partition's slices in the order of receipt.
    /// - Parameters:
    ///   - id: of the last slice before them; 0 for the first ones.
    ///   - bytes: the most bytes of records. The slice that exceeds them is still returned.
    package func slices(
        in partition: Partition, after id: Int64, count: Int, bytes: Int
    ) throws(StoreError) -> [MovingSlice] {
        if file?.partition != partition { file = try RecordFile(reading: partition, in: directory) }
        return try file?.movingSlices(after: id, count: count, bytes: bytes) ?? []
    }

    /// Closes the file that was read last.
    package func close() { file = nil }
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
        while size < bytes, try step(statement) {
            let row = statement.row
            let (owner, rowBounds) = try StoreError.mapping { () throws(SQLiteError) in
                (try row.int64("chain"), try RecordBounds(row))
            }
            let (slice, receivedAt) = try timedSlice(row, of: owner)
            guard let chain = try chain(id: owner) else { throw corrupt("slice \(slice.id) belongs to no chain") }
            let bounds = slice.recordCount > 0 ? rowBounds : .none
            size += slice.records.count
            var parts = [(slice: slice, bounds: bounds)]
            if let receivedAt {
                do { parts = try slice.parts(receivedAt: receivedAt) } catch {
                    throw corrupt("slice \(slice.id), at \(error.number): \(error.message)")
                }
            }
            for part in parts {
                found.append(
                    MovingSlice(
                        chain: chain.key, slice: part.slice, bounds: part.bounds, totals: chain.state.totals))
            }
        }
        try addKeys(to: &found)
        return found
    }

    /// Gives slices the keys of their items.
    private func addKeys(to slices: inout [MovingSlice]) throws(StoreError) {
        guard let first = slices.first?.slice.id, let last = slices.last?.slice.id,
            try StoreError.mapping(hasKeys())
        else { return }
        let places = Dictionary(slices.enumerated().map { ($0.element.slice.id, $0.offset) }) { $1 }
        let statement = try prepared(
            "SELECT slice, origin, first, last FROM key WHERE slice BETWEEN ? AND ? ORDER BY slice", first, last)
        defer { statement.reset() }
        while try step(statement) {
            guard let place = places[statement.int64(0)], let origin = KeyOrigin(statement.data(1)),
                statement.int64(2) >= 0, statement.int64(3) >= statement.int64(2)
            else { throw corrupt("a key belongs to no slice") }
            slices[place].keys.append(
                KeyRange(origin: origin, first: UInt64(statement.int64(2)), last: UInt64(statement.int64(3))))
        }
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
