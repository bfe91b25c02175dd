import ClickHouse
import PostgreSQL
import RecordStore
import WireModel

/// Walks over all chains of a stream, or over those of some devices, in pages that fit into memory.
///
/// A page has some chains. Their slices are read day by day between the marks that PostgreSQL has for the day, and of
/// one day so many chains together as have `headsTogether` slices there, or one chain.
struct ChainWalk: Sendable {
    let reader: SliceReader
    let stream: StreamName

    /// Chains in a page. Each has a row in PostgreSQL for every kept day.
    static let chainsPerPage = 250
    /// Slices that are read together. A head needs some hundred bytes, with all marks and counts.
    private var headsTogether: UInt64 { UInt64(min(reader.slices.client.maximumAnswerBytes / 4096, 20_000)) }

    /// Chains as of one moment, with what each day has of them.
    struct Page: Sendable {
        var chains: [ChainRow]
        var days: [ChainDay]
    }

    /// The next page.
    /// - Returns: `nil` behind the last chain.
    func page(after last: ChainKey?) async throws(StoreError) -> Page? {
        let stream = stream
        return try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            let chains = try ChainTable.chains(after: last, limit: Self.chainsPerPage, stream, in: session)
            return chains.isEmpty ? nil : try Self.page(chains, stream, in: session)
        }
    }

    /// The next chains of one device, in the order of their epochs.
    func page(of device: DeviceID, after epoch: EpochID?, limit: Int) async throws(StoreError) -> Page {
        let stream = stream
        return try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            let chains = try ChainTable.chains(of: device, after: epoch, limit: limit, stream, in: session)
            return try Self.page(chains, stream, in: session)
        }
    }

    /// Chains as they are now.
    private func page(_ keys: [ChainKey]) async throws(StoreError) -> Page {
        let (stream, names) = (stream, Set(keys))
        let devices = Array(Set(keys.map(\.device)))
        return try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            let chains = try ChainTable.chains(of: devices, epochs: keys.map(\.epoch), stream, in: session)
                .filter { names.contains($0.key) }
            return try Self.page(chains, stream, in: session)
        }
    }

    private static func page(
        _ chains: [ChainRow], _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> Page {
        let names = Set(chains.map(\.key))
        let days = try ChainTable.days(
            of: Array(Set(chains.map(\.key.device))), epochs: chains.map(\.key.epoch), stream, in: session)
        return Page(chains: chains, days: days.filter { names.contains($0.key) })
    }

    /// Counts something over all slices of a page's chains.
    ///
    /// A day that is dropped meanwhile makes the chains be read anew, with their new floors.
    /// - Parameters:
    ///   - page: becomes the chains that were counted.
    ///   - count: of some slices of one chain, in their order.
    /// - Throws: `.unavailable` if no replica that answers has all; `.corrupt` if PostgreSQL's days do not lead from a
    ///   chain's floor to its mark.
    func sums(
        of page: inout Page, _ count: ([SliceHead]) -> UInt64
    ) async throws(StoreError) -> [ChainKey: UInt64] {
        while true {
            try check(page)
            do throws(StoreError) { return try await sums(page, count) } catch {
                guard error.code == .unavailable else { throw error }
                let now = try await self.page(page.chains.map(\.key))
                guard floors(of: now) != floors(of: page) else { throw error }
                page = now
            }
        }
    }

    private func floors(of page: Page) -> [ChainKey: UInt64] {
        Dictionary(page.chains.map { ($0.key, $0.floorNumber) }) { first, _ in first }
    }

    private func sums(_ page: Page, _ count: ([SliceHead]) -> UInt64) async throws(StoreError) -> [ChainKey: UInt64] {
        var sums: [ChainKey: UInt64] = [:]
        for (day, chains) in Dictionary(grouping: page.days, by: \.day).sorted(by: { $0.key < $1.key }) {
            let counts = try await reader.slices.counts(of: chains.map(\.key), on: day, stream)
            var rest = chains[...]
            while !rest.isEmpty {
                var heads: UInt64 = 0
                let some = rest.prefix { chain in
                    let isFirst = heads == 0
                    heads.addSaturating(counts[chain.key] ?? 0)
                    return isFirst || heads <= headsTogether
                }
                rest = rest.dropFirst(some.count)
                let winners = try await reader.winners(
                    of: Dictionary(some.map { ($0.key, $0.stretch) }) { first, _ in first }, days: day...day,
                    stream: stream)
                for (key, heads) in winners.chains { sums[key, default: 0].addSaturating(count(heads)) }
            }
        }
        return sums
    }

    /// Whether the days lead from each chain's floor to its mark.
    private func check(_ page: Page) throws(StoreError) {
        let days = Dictionary(grouping: page.days, by: \.key)
        for chain in page.chains {
            var (number, mark) = (chain.floorNumber, chain.floor)
            for day in (days[chain.key] ?? []).sorted(by: { $0.day < $1.day }) where !day.stretch.isEmpty {
                guard day.stretch.beginNumber == number, day.stretch.begin == mark else { throw .uneven(chain, number) }
                (number, mark) = (day.stretch.endNumber, day.stretch.end)
            }
            guard number == chain.state.mark.number, mark == chain.mark else { throw .uneven(chain, number) }
        }
    }
}

extension StoreError {
    fileprivate static func uneven(_ chain: ChainRow, _ number: UInt64) -> StoreError {
        StoreError(
            .corrupt,
            """
            the days of device \(chain.key.device), epoch \(chain.key.epoch), in PostgreSQL do not continue after \
            number \(number); the mark is at \(chain.state.mark.number).
            """)
    }
}
