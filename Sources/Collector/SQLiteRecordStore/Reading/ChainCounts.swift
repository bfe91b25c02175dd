import RecordStore
import Registry
import SQLite
import WireModel

/// One stream's chains while they are counted: rows from the files and the baseline, the greatest state of each.
struct ChainCounts {
    private var chains: [ChainKey: (state: ChainState, rows: UInt64)] = [:]

    mutating func add(_ entry: Baseline.Entry) {
        add(entry.key, entry.state, rows: entry.removedRows)
    }

    /// Counts all rows in a file, at one moment of it.
    mutating func add(_ file: RecordFile) throws(StoreError) {
        try StoreError.mapping(file.connection.begin(.deferred))
        defer { file.connection.rollback() }
        try file.forEachChain { chain throws(StoreError) in try add(chain, in: file) }
    }

    /// Counts the rows of a device's next epochs in a file, at one moment of it.
    mutating func add(
        _ file: RecordFile, of device: DeviceID, _ stretch: inout EpochStretch
    ) throws(StoreError) {
        try StoreError.mapping(file.connection.begin(.deferred))
        defer { file.connection.rollback() }
        for chain in try file.chains(of: device, after: stretch.after, limit: stretch.limit) {
            stretch.read(chain.key.epoch)
            try add(chain, in: file)
        }
        stretch.endSource()
    }

    private mutating func add(_ chain: RecordFile.ChainRow, in file: RecordFile) throws(StoreError) {
        add(chain.key, chain.state, rows: try file.countRecords(chain: chain.id))
    }

    private mutating func add(_ key: ChainKey, _ state: ChainState, rows: UInt64) {
        let former = chains[key]
        chains[key] = (former.map { state.merged(with: $0.state) } ?? state, (former?.rows ?? 0) + rows)
    }

    func balances(stream: StreamName) -> [(device: DeviceID, balance: EpochBalance)] {
        chains.map { key, chain in
            let balance = EpochBalance(
                epoch: key.epoch, stream: stream, mark: chain.state.mark, storedRows: chain.rows,
                totals: chain.state.totals.sent,
                closed: chain.state.closed != nil, balance: chain.state.balance(storedRows: chain.rows))
            return (key.device, balance)
        }
    }
}
