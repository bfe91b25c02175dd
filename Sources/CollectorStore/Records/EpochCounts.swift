import SQLite
import WireModel

/// One stream's chains of a device while they are counted: rows from the files and the baseline, the greatest state.
struct EpochCounts {
    private var chains: [EpochID: (state: ChainState, rows: UInt64)] = [:]

    mutating func add(_ entry: Baseline.Entry) {
        add(entry.key.epoch, entry.state, rows: entry.removedRows)
    }

    /// Counts the device's rows in a file, at one moment of it.
    mutating func add(_ device: DeviceID, in file: DayFile) throws(StoreError) {
        try StoreError.mapping { () throws(SQLiteError) in try file.connection.begin(.deferred) }
        defer { file.connection.rollback() }
        for chain in try file.chains(of: device) {
            add(chain.key.epoch, chain.state, rows: try file.countRecords(chain: chain.id))
        }
    }

    private mutating func add(_ epoch: EpochID, _ state: ChainState, rows: UInt64) {
        let former = chains[epoch]
        chains[epoch] = (former.map { state.merged(with: $0.state) } ?? state, (former?.rows ?? 0) + rows)
    }

    func balances(stream: StreamName) -> [EpochBalance] {
        chains.map { epoch, chain in
            EpochBalance(
                epoch: epoch, stream: stream, mark: chain.state.mark, storedRows: chain.rows, totals: chain.state.totals.sent,
                closed: chain.state.closed != nil, balance: chain.state.balance(storedRows: chain.rows))
        }
    }
}
