import SQLite
import WireModel

/// One stream's chains while they are counted: rows from the files and the baseline, the greatest state of each.
struct ChainCounts {
    private var chains: [ChainKey: (state: ChainState, rows: UInt64)] = [:]

    mutating func add(_ entry: Baseline.Entry) {
        add(entry.key, entry.state, rows: entry.removedRows)
    }

    /// Counts rows in a file, at one moment of it.
    /// - Parameter device: `nil` for all.
    mutating func add(_ file: RecordFile, of device: DeviceID?) throws(StoreError) {
        try StoreError.mapping { () throws(SQLiteError) in try file.connection.begin(.deferred) }
        defer { file.connection.rollback() }
        if let device {
            try add(try file.chains(of: device), in: file)
        } else {
            var last: Int64 = 0
            while true {
                let chains = try file.chains(after: last, limit: 512)
                guard let newest = chains.last else { break }
                try add(chains, in: file)
                last = newest.id
            }
        }
    }

    private mutating func add(_ chains: [RecordFile.ChainRow], in file: RecordFile) throws(StoreError) {
        for chain in chains { add(chain.key, chain.state, rows: try file.countRecords(chain: chain.id)) }
    }

    private mutating func add(_ key: ChainKey, _ state: ChainState, rows: UInt64) {
        let former = chains[key]
        chains[key] = (former.map { state.merged(with: $0.state) } ?? state, (former?.rows ?? 0) + rows)
    }

    func balances(stream: StreamName) -> [(device: DeviceID, balance: EpochBalance)] {
        chains.map { key, chain in
            let balance = EpochBalance(
                epoch: key.epoch, stream: stream, mark: chain.state.mark, storedRows: chain.rows, totals: chain.state.totals.sent,
                closed: chain.state.closed != nil, balance: chain.state.balance(storedRows: chain.rows))
            return (key.device, balance)
        }
    }
}
