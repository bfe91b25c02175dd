import CollectorStore
import FoundationEssentials
import PostgreSQL
import WireModel

/// Counts what is stored: the slices that count, compared with the marks.
struct BalanceReader: Sendable {
    let reader: SliceReader

    /// One device's balances. The records are counted in ClickHouse.
    func balances(of device: DeviceID) async throws(StoreError) -> [EpochBalance] {
        var balances: [EpochBalance] = []
        for stream in StreamName.allCases {
            let chains = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
                try ChainTable.chains(of: [device], stream, in: session)
            }
            balances += try await counted(chains, stream).map(\.balance)
        }
        return balances.sorted()
    }

    /// Every device's.
    func balances() async throws(StoreError) -> FleetBalances {
        var balances: [(device: DeviceID, balance: EpochBalance)] = []
        for stream in StreamName.allCases {
            var last: ChainKey?
            while true {
                let after = last
                let chains = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
                    try ChainTable.chains(after: after, limit: SliceReader.chainsPerQuery, stream, in: session)
                }
                guard let end = chains.last else { break }
                last = end.key
                balances += try await counted(chains, stream)
            }
        }
        return FleetBalances(balances)
    }

    /// By marks alone.
    func marked(of devices: Set<DeviceID>) async throws(StoreError) -> MarkedBalances {
        var marked = MarkedBalances()
        for stream in StreamName.allCases {
            let chains = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
                try ChainTable.chains(of: Array(devices), stream, in: session)
            }
            marked.balances += chains.filter(\.isKnown).map {
                ($0.key.device, $0.balance(of: stream, storedRows: $0.state.mark.stored))
            }
        }
        return marked
    }

    private func counted(
        _ chains: [ChainRow], _ stream: StreamName
    ) async throws(StoreError) -> [(device: DeviceID, balance: EpochBalance)] {
        let known = chains.filter(\.isKnown)
        let stretches = Dictionary(uniqueKeysWithValues: known.map { ($0.key, $0.stretch) })
        let winners = try await reader.winners(of: stretches, days: nil, stream: stream)
        var balances: [(device: DeviceID, balance: EpochBalance)] = []
        for chain in known {
            var rows = chain.floorNumber > 0 ? try chain.floor.decoded().stored : 0
            for head in winners.chains[chain.key] ?? [] { rows.addSaturating(head.recordCount) }
            balances.append((chain.key.device, chain.balance(of: stream, storedRows: rows)))
        }
        return balances
    }
}

extension ChainRow {
    /// Whether the device has told anything of the chain. A claim alone makes a row too.
    var isKnown: Bool { state != ChainState() }

    func balance(of stream: StreamName, storedRows: UInt64) -> EpochBalance {
        EpochBalance(
            epoch: key.epoch, stream: stream, mark: state.mark, storedRows: storedRows, totals: state.totals.sent,
            closed: state.closed != nil, balance: state.balance(storedRows: storedRows))
    }
}
