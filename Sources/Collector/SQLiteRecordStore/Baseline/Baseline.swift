import FoundationEssentials
import RecordStore
import Registry
import SQLite
import WireModel

/// The state that the collector keeps about removed record files: each chain's state in its newest removed file, the
/// counts of removed rows, and the names of the files, which must never be used again.
///
/// Not `Sendable`: the owner of its connection uses it.
final class Baseline {
    private let connection: Connection
    private let identity: FileIdentity

    struct Entry: Sendable {
        var key: ChainKey
        var state: ChainState
        /// Records that were in removed files, counted from their rows when they went.
        var removedRows: UInt64
    }

    init(_ connection: Connection) {
        self.connection = connection
        identity = FileIdentity(path: connection.path)
    }

    /// - Throws: `.io` if `collector.sqlite` was removed or replaced while this process has it open. Later records
    ///   would not belong to the new file.
    func requireInPlace() throws(StoreError) {
        guard identity.isInPlace else { throw .databaseGone(connection.path) }
    }

    /// Records a file before its first row, so that it is missed when it goes.
    func add(_ partition: Partition, at time: Int64) throws(StoreError) {
        try StoreError.mapping(RecordFileList(connection).add(partition, at: time))
    }

    /// Records what a file holds as it is closed.
    func record(_ partition: Partition, slices: Int) throws(StoreError) {
        try StoreError.mapping(RecordFileList(connection).record(partition, slices: slices))
    }

    /// A file is about to be replaced by one of fewer slices.
    func lower(_ partition: Partition, slices: Int) throws(StoreError) {
        try StoreError.mapping(RecordFileList(connection).lower(partition, slices: slices))
    }

    /// How many slices a file held when it was last closed in order; `nil`: it never was.
    func slices(of partition: Partition) throws(StoreError) -> Int? {
        try StoreError.mapping(RecordFileList(connection).slices(of: partition))
    }

    /// Every record file there should be, ascending.
    func recordFiles() throws(StoreError) -> [RecordFileList.Entry] {
        try StoreError.mapping(RecordFileList(connection).entries())
    }

    /// Whether a file was recorded: it had its schema on disk by then.
    func isListed(_ partition: Partition) throws(StoreError) -> Bool {
        try StoreError.mapping(RecordFileList(connection).contains(partition))
    }

    private static let columns = "device, epoch, removed_rows, \(ChainState.columns)"

    func entry(_ key: ChainKey, stream: StreamName) throws(StoreError) -> Entry? {
        try entries("device = ? AND epoch = ? AND stream = ?", key.device.data, key.epoch.data, stream.rawValue).first
    }

    /// Returns entries in the order of their epochs.
    /// - Parameter epoch: those behind it; `nil` from the first.
    func entries(
        of device: DeviceID, after epoch: EpochID?, limit: Int, stream: StreamName
    ) throws(StoreError) -> [Entry] {
        try entries(
            "device = ? AND epoch > ? AND stream = ? ORDER BY epoch LIMIT ?", device.data, epoch?.data ?? Data(),
            stream.rawValue, limit)
    }

    func entries(of stream: StreamName) throws(StoreError) -> [Entry] {
        try entries("stream = ?", stream.rawValue)
    }

    /// Returns entries of devices by their ids' bytes, both inclusive.
    func entries(from first: Data, to last: Data, stream: StreamName) throws(StoreError) -> [Entry] {
        try entries("device >= ? AND device <= ? AND stream = ?", first, last, stream.rawValue)
    }

    private func entries(_ condition: String, _ values: (any BindableValue)?...) throws(StoreError) -> [Entry] {
        let sql = "SELECT \(Self.columns) FROM baseline WHERE \(condition)"
        let statement = try StoreError.mapping(connection.bound(sql, values))
        defer { statement.reset() }
        var found: [Entry] = []
        while try StoreError.mapping(statement.step()) {
            let row = statement.row
            let (device, epoch, removed) = try StoreError.mapping { () throws(SQLiteError) in
                (
                    try DeviceID(row.data("device")), try EpochID(row.data("epoch")),
                    try UInt64(exactly: row.int64("removed_rows"))
                )
            }
            guard let device, let epoch, let removed else {
                throw StoreError(.corrupt, "\(connection.path): a baseline row has impossible ids or counts.")
            }
            found.append(
                Entry(
                    key: ChainKey(device: device, epoch: epoch), state: try ChainState(row, file: connection.path),
                    removedRows: removed))
        }
        return found
    }

    /// Every name that must not be used again, ascending.
    func removedPartitions() throws(StoreError) -> [Partition] {
        try StoreError.mapping(
            connection.rows("SELECT day, stream FROM removed_partition ORDER BY day, stream") { row in
                StreamName(rawValue: row.int(1)).map { Partition(day: UTCDay(number: row.int(0)), stream: $0) }
            })
    }

    /// Stores a file's chains, their counts and the file's name, in one synced transaction. A repetition changes
    /// nothing.
    ///
    /// A chain's counts in a file are normally those by which its mark moved in it. This is not so if the file has
    /// other row counts than at its close, or if a chain entered it at another mark than the baseline's. Then the rows
    /// are counted one by one, so that missing ones stay visible. This lasts long, so it happens before the
    /// transaction, for which others wait.
    /// - Parameter file: the oldest of its stream; nobody writes to it.
    func absorb(_ file: RecordFile, at time: Int64) throws(StoreError) {
        let recorded = try slices(of: file.partition)
        let isWhole = try file.sliceCount() == recorded
        var counted: [Int64: UInt64] = [:]
        try file.forEachChain { chain throws(StoreError) in
            let former = try entry(chain.key, stream: file.partition.stream)?.state.mark.number ?? 0
            if !isWhole || former != chain.entryNumber { counted[chain.id] = try file.countRecords(chain: chain.id) }
        }
        try connection.transaction(mapping: StoreError.init) { () throws(StoreError) in
            guard try recordRemoved(file.partition, at: time) else { return }
            try file.forEachChain { chain throws(StoreError) in
                try absorb(chain, stream: file.partition.stream, counted: counted[chain.id])
            }
        }
    }

    /// Stores the chains that are about to be erased from a file, and how many slices stay in it, in one synced
    /// transaction. A repetition changes nothing.
    ///
    /// A chain counts as many records as its mark has counted since it left the baseline. If it entered the file at a
    /// greater mark, records are missing in between, so its rows are counted.
    func absorb(_ chains: [RecordFile.ChainRow], erasedFrom file: RecordFile) throws(StoreError) {
        let stream = file.partition.stream
        var counted: [Int64: UInt64] = [:]
        var left = try file.sliceCount()
        for chain in chains {
            let former = try entry(chain.key, stream: stream)?.state.mark.number ?? 0
            if former < chain.entryNumber { counted[chain.id] = try file.countRecords(chain: chain.id) }
            left -= try file.sliceCount(chain: chain.id)
        }
        try connection.transaction(mapping: StoreError.init) { () throws(StoreError) in
            try StoreError.mapping(RecordFileList(connection).lower(file.partition, slices: left))
            for chain in chains { try absorb(chain, stream: stream, counted: counted[chain.id]) }
        }
    }

    /// - Returns: whether it was not recorded before.
    private func recordRemoved(_ partition: Partition, at time: Int64) throws(StoreError) -> Bool {
        try StoreError.mapping { () throws(SQLiteError) in
            try connection.run(
                "INSERT OR IGNORE INTO removed_partition (day, stream, removed) VALUES (?, ?, ?)", partition.day.number,
                partition.stream.rawValue, time)
            return connection.changes == 1
        }
    }

    /// - Parameter counted: its rows in the file; `nil`: as many as its mark has counted since it left the baseline.
    private func absorb(_ chain: RecordFile.ChainRow, stream: StreamName, counted: UInt64?) throws(StoreError) {
        let former = try entry(chain.key, stream: stream)
        let state = former.map { chain.state.merged(with: $0.state) } ?? chain.state
        let held = counted ?? chain.state.mark.stored.subtractingSaturating(former?.state.mark.stored ?? 0)
        let rows = (former?.removedRows ?? 0) + held
        try StoreError.mapping { () throws(SQLiteError) in
            let statement = try connection.cached(
                """
                INSERT OR REPLACE INTO baseline (device, epoch, stream, removed_rows, \(ChainState.columns))
                VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
                """)
            try statement.bind(chain.key.device.data, at: 1)
            try statement.bind(chain.key.epoch.data, at: 2)
            try statement.bind(stream.rawValue, at: 3)
            try statement.bind(rows, at: 4)
            try state.bind(to: statement, from: 5)
            try statement.run()
        }
    }
}
