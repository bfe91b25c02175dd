import ClickHouse
import FoundationEssentials
import PostgreSQL
import RecordStore
import TelemetryBasics
import WireModel

/// Goes over all chains: `follow` compares numbers, `verify` proves every record.
struct ChainProof: Sendable {
    let reader: SliceReader

    /// Where a round over all chains stands.
    struct Position: Sendable {
        var stream: StreamName
        /// The last chain that was followed.
        var last: ChainKey?
    }

    // MARK: Numbers

    /// Follows the next chains.
    /// - Returns: where to continue; `nil` at the end of the round.
    func follow(_ position: Position?, _ findings: inout ChainFindings) async throws(StoreError) -> Position? {
        let position = position ?? Position(stream: StreamName.allCases[0])
        let stream = position.stream
        let walk = ChainWalk(reader: reader, stream: stream)
        guard var page = try await walk.page(after: position.last), let end = page.chains.last else {
            guard let next = StreamName.allCases.drop(while: { $0 != stream }).dropFirst().first else { return nil }
            return Position(stream: next)
        }
        do throws(StoreError) {
            _ = try await walk.sums(of: &page) { UInt64($0.count) }
        } catch {
            // One of the chains has a hole on every replica, or ClickHouse is away: then this fails again.
            for chain in page.chains { try await follow(chain, stream, &findings) }
        }
        return Position(stream: stream, last: end.key)
    }

    private func follow(
        _ chain: ChainRow, _ stream: StreamName, _ findings: inout ChainFindings
    ) async throws(StoreError) {
        var chain = chain
        switch try await whole(&chain, stream) {
        case .whole: return
        case .broken(let number):
            guard findings.faults.count < 100 else { return findings.furtherFaults += 1 }
            findings.faults.append(
                ChainFault(
                    device: "\(chain.key.device)", epoch: "\(chain.key.epoch)", stream: stream,
                    file: SliceSchema.table(of: stream), missing: chain.state.mark.number - number, doubled: 0))
        }
    }

    enum Wholeness {
        case whole([SliceHead])
        /// Up to this number.
        case broken(UInt64)

        /// The heads of a whole chain.
        var heads: [SliceHead] {
            if case .whole(let heads) = self { heads } else { [] }
        }
    }

    /// Whether any replica has the whole chain.
    /// - Parameter chain: read again if one of its days was dropped meanwhile.
    /// - Throws: `.unavailable` if a hole cannot be distinguished from a replica that lags, because another does not
    ///   answer.
    func whole(_ chain: inout ChainRow, _ stream: StreamName) async throws(StoreError) -> Wholeness {
        while true {
            let found = try await whole(chain, stream)
            guard case .broken = found, let now = try await again(chain.key, stream),
                now.floorNumber > chain.floorNumber
            else { return found }
            chain = now
        }
    }

    private func again(_ key: ChainKey, _ stream: StreamName) async throws(StoreError) -> ChainRow? {
        try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.chains(of: [key.device], epochs: [key.epoch], stream, in: session).first
        }
    }

    private func whole(_ chain: ChainRow, _ stream: StreamName) async throws(StoreError) -> Wholeness {
        var reached: UInt64 = 0
        var failure: StoreError?
        for replica in reader.slices.client.replicas {
            let heads: [SliceHead]
            do throws(StoreError) {
                heads = try await reader.slices.heads(of: [chain.key], days: nil, stream: stream, on: replica).heads
            } catch {
                failure = error
                continue
            }
            do throws(SliceTiling.Hole) {
                return .whole(try SliceTiling.winners(of: heads, in: chain.stretch))
            } catch { reached = max(reached, error.number) }
        }
        if let failure { throw failure }
        return .broken(reached)
    }

    private func chains(after last: ChainKey?, _ stream: StreamName) async throws(StoreError) -> [ChainRow] {
        try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.chains(after: last, limit: 500, stream, in: session)
        }
    }

    // MARK: Proof

    /// Proves every chain: its slices continue each other, links recomputed over all bytes match, and rows and counts
    /// agree with the mark.
    func verify() async throws(StoreError) -> VerifyReport {
        var report = VerifyReport()
        for stream in StreamName.allCases {
            report.files += try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
                try ChainTable.keptDays(stream, in: session)
            }.count
            var last: ChainKey?
            while true {
                let chains = try await chains(after: last, stream)
                guard let end = chains.last else { break }
                var proved = report
                var failure: StoreError?
                do throws(StoreError) { try await verify(chains.filter(\.isKnown), stream, &proved) } catch {
                    failure = error
                }
                let isSound = failure == nil && proved.findingCount == report.findingCount
                // The slices of a day that is dropped meanwhile are gone. What is left is proved then.
                if !isSound, try await isDropped(since: chains, stream) { continue }
                if let failure { throw failure }
                report = proved
                last = end.key
            }
        }
        return report
    }

    /// Whether a day of these chains was dropped since they were read.
    private func isDropped(since chains: [ChainRow], _ stream: StreamName) async throws(StoreError) -> Bool {
        let floors = Dictionary(chains.map { ($0.key, $0.floorNumber) }) { first, _ in first }
        let devices = Array(Set(chains.map(\.key.device)))
        let now = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.chains(of: devices, epochs: chains.map(\.key.epoch), stream, in: session)
        }
        return now.contains { chain in floors[chain.key].map { $0 < chain.floorNumber } ?? false }
    }

    /// Slices whose contents are asked for together.
    private static let slicesTogether = 500

    /// Verifies some chains. Their slices are read together, because most chains of a fleet have few.
    private func verify(
        _ chains: [ChainRow], _ stream: StreamName, _ report: inout VerifyReport
    ) async throws(StoreError) {
        let stretches = Dictionary(chains.map { ($0.key, $0.stretch) }) { first, _ in first }
        let found: [ChainKey: [SliceHead]]
        do throws(StoreError) {
            found = try await reader.winners(of: stretches, days: nil, stream: stream).chains
        } catch {
            // One of them has a hole on every replica, or ClickHouse is away: then this fails again.
            for chain in chains {
                let wholeness = try await whole(chain, stream)
                var contents = SliceContents(of: wholeness.heads)
                try await verify(chain, wholeness, &contents, stream, &report)
            }
            return
        }
        var contents = SliceContents(of: chains.flatMap { found[$0.key] ?? [] })
        for chain in chains { try await verify(chain, .whole(found[chain.key] ?? []), &contents, stream, &report) }
    }

    /// The contents of slices, fetched ahead in the order in which they are asked for.
    private struct SliceContents {
        private var rest: ArraySlice<SliceSummary>
        private var fetched: [SlicePlace: StoredSlice] = [:]

        init(of heads: [SliceHead]) { rest = heads.map(\.summary)[...] }

        mutating func next(
            _ head: SliceHead, _ stream: StreamName, _ reader: SliceReader
        ) async throws(StoreError) -> StoredSlice? {
            if fetched.isEmpty {
                let some = SliceReader.merge(&rest, count: ChainProof.slicesTogether)
                fetched = try await reader.contents(of: some, .whole, stream: stream, preferring: nil)
            }
            return fetched.removeValue(forKey: head.place)
        }
    }

    private func verify(
        _ chain: ChainRow, _ wholeness: Wholeness, _ contents: inout SliceContents, _ stream: StreamName,
        _ report: inout VerifyReport
    ) async throws(StoreError) {
        report.chains += 1
        func add(_ code: VerifyReport.Finding.Code, _ first: UInt64?, _ last: UInt64?, _ message: String) {
            report.add(
                .init(
                    code: code, file: SliceSchema.table(of: stream), device: "\(chain.key.device)",
                    epoch: "\(chain.key.epoch)", stream: "\(stream)", first: first, last: last, message: message))
        }
        if case .broken(let number) = wholeness {
            return add(
                .missing, number + 1, chain.state.mark.number,
                "no replica of ClickHouse has the slices after number \(number); the mark is at "
                    + "\(chain.state.mark.number)."
            )
        }
        var counted = try chain.floor.decoded()
        for head in wholeness.heads {
            guard let slice = try await contents.next(head, stream, reader) else { continue }
            report.slices += 1
            // Of an altered slice the first number may be anything.
            let hole = slice.first &- 1 &- counted.number
            if hole != slice.lostBefore || hole == 0 && slice.priorLink != counted.link {
                add(.altered, slice.first, slice.last, "the slice does not continue the chain after \(counted.number).")
            }
            let former = counted
            do throws(StoredSlice.Fault) { try slice.count(into: &counted) } catch {
                add(.altered, error.number, slice.last, "\(error.message) (slice \(slice.first)...\(slice.last)).")
            }
            counted.lostAtCollector.addSaturating(slice.lostBefore)
            (counted.number, counted.link) = (slice.last, slice.lastLink)
            report.records += counted.stored - former.stored
            report.recordBytes += UInt64(slice.records.count)
            report.rejected += UInt64(slice.rejected.count)
            report.lostAtCollector.addSaturating(counted.lostAtCollector.subtractingSaturating(former.lostAtCollector))
        }
        let unlisted = try await unlisted(wholeness.heads, of: chain, stream)
        if unlisted > 0 {
            add(
                .missing, nil, nil,
                "missing from the table receipt, so lists do not show them: \(CountText.of(unlisted, "slice")).")
        }
        if counted != chain.state.mark {
            add(
                .miscounted, nil, nil,
                "rows give number \(counted.number) with \(counted.stored) stored, \(counted.rejectedCount) rejected, "
                    + "\(counted.droppedCount) dropped, \(counted.lostAtCollector) lost; the mark says "
                    + "\(chain.state.mark.number) with \(chain.state.mark.stored), \(chain.state.mark.rejectedCount), "
                    + "\(chain.state.mark.droppedCount), \(chain.state.mark.lostAtCollector).")
        }
    }

    /// The number of a chain's slices that no list shows, as the table `receipt` does not name them.
    ///
    /// A recovery writes slices again, and the table names those. A replica that lags shows the former ones, which
    /// continue each other just as well. So each replica is asked, until one has what the table names.
    private func unlisted(
        _ heads: [SliceHead], of chain: ChainRow, _ stream: StreamName
    ) async throws(StoreError) -> Int {
        var fewest = try await unlisted(heads, stream)
        for replica in reader.slices.client.replicas where fewest > 0 {
            let found = try await reader.slices.heads(of: [chain.key], days: nil, stream: stream, on: replica).heads
            guard let winners = try? SliceTiling.winners(of: found, in: chain.stretch) else { continue }
            fewest = min(fewest, try await unlisted(winners, stream))
        }
        return fewest
    }

    private func unlisted(_ heads: [SliceHead], _ stream: StreamName) async throws(StoreError) -> Int {
        let received = heads.compactMap { ReceivedSlice($0) }
        return try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ReceiptTable.missing(received, stream, in: session).count
        }
    }
}
