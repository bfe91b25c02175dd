import FoundationEssentials
import PostgreSQL
import RecordStore
import WireModel

/// Counts what is stored: the slices that count, compared with the marks.
struct BalanceReader: Sendable {
    let reader: SliceReader

    /// The balances of some epochs of a device. The records are counted in ClickHouse.
    func balances(of device: DeviceID, after: EpochID?, limit: Int) async throws(StoreError) -> BalancePage {
        var balances: [EpochBalance] = []
        var stretch = EpochStretch(after: after, limit: limit)
        for stream in StreamName.allCases {
            let walk = ChainWalk(reader: reader, stream: stream)
            let page = try await walk.page(of: device, after: after, limit: limit)
            for chain in page.chains { stretch.read(chain.key.epoch) }
            stretch.endSource()
            balances += try await counted(page, walk).map(\.balance)
        }
        return BalancePage(balances, complete: stretch.complete, limit: limit)
    }

    /// Every device's.
    func balances() async throws(StoreError) -> FleetBalances {
        var balances: [(device: DeviceID, balance: EpochBalance)] = []
        for stream in StreamName.allCases {
            let walk = ChainWalk(reader: reader, stream: stream)
            var last: ChainKey?
            while let page = try await walk.page(after: last) {
                last = page.chains.last?.key
                balances += try await counted(page, walk)
            }
        }
        return FleetBalances(balances)
    }

    /// The balances by marks alone.
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
        _ page: ChainWalk.Page, _ walk: ChainWalk
    ) async throws(StoreError) -> [(device: DeviceID, balance: EpochBalance)] {
        var page = page
        let sums = try await walk.sums(of: &page) { heads in
            heads.reduce(into: 0) { $0.addSaturating($1.recordCount) }
        }
        var balances: [(device: DeviceID, balance: EpochBalance)] = []
        for chain in page.chains where chain.isKnown {
            var rows = chain.floorNumber > 0 ? try chain.floor.decoded().stored : 0
            rows.addSaturating(sums[chain.key] ?? 0)
            balances.append((chain.key.device, chain.balance(of: walk.stream, storedRows: rows)))
        }
        return balances
    }
}

extension ChainRow {
    /// Whether the device has reported anything of the chain. A claim alone makes a row too.
    var isKnown: Bool { state != ChainState() }

    func balance(of stream: StreamName, storedRows: UInt64) -> EpochBalance {
        EpochBalance(
            epoch: key.epoch, stream: stream, mark: state.mark, storedRows: storedRows, totals: state.totals.sent,
            closed: state.closed != nil, balance: state.balance(storedRows: storedRows))
    }
}
