import PostgreSQL
import RecordStore
import WireModel

/// Finds points of a device's history in the collector's, for the close of an epoch.
struct PointSearch: Sendable {
    let reader: SliceReader

    /// - Throws: `.unavailable` if the slices that hold the points cannot be read now.
    func match(
        _ points: [EpochClose.Point], of chain: ChainRow, _ stream: StreamName
    ) async throws(StoreError) -> ClosedStream.Match {
        let floor = chain.floorNumber > 0 ? try chain.floor.decoded() : nil
        let inside = points.filter { $0.number > chain.floorNumber && $0.number < chain.state.mark.number }
        let links = inside.isEmpty ? [:] : try await links(at: Set(inside.map(\.number)), of: chain, stream)
        return try chain.state.match(points, removedUpTo: floor) { links[$0] }
    }

    /// The links at some numbers. Numbers inside a gap or a lost range have none.
    private func links(
        at numbers: Set<UInt64>, of chain: ChainRow, _ stream: StreamName
    ) async throws(StoreError) -> [UInt64: ChainLink] {
        let key = chain.key
        let days = try await reader.database.read(mapping: StoreError.init) { session throws(StoreError) in
            try ChainTable.days(of: [key.device], epochs: [key.epoch], stream, in: session)
        }
        let wanted = days.filter { day in numbers.contains(where: day.stretch.covers) }
        guard numbers.allSatisfy({ number in wanted.contains { $0.stretch.covers(number) } }) else {
            throw StoreError(.unavailable, "a day with records of the epoch was dropped just now. Try again.")
        }
        var links: [UInt64: ChainLink] = [:]
        for day in wanted {
            let winners = try await reader.winners(of: [key: day.stretch], days: day.day...day.day, stream: stream)
            try await add(winners, to: &links, at: numbers, stream)
        }
        return links
    }

    private func add(
        _ winners: SliceReader.Winners, to links: inout [UInt64: ChainLink], at numbers: Set<UInt64>,
        _ stream: StreamName
    ) async throws(StoreError) {
        for head in winners.heads where numbers.contains(where: { $0 > head.key && $0 <= head.lastNumber }) {
            let slices = try await reader.contents(
                of: [head.summary], .whole, stream: stream, preferring: winners.replica)
            guard let slice = slices[head.place] else { continue }
            do throws(StoredSlice.Fault) {
                try slice.walk { number, link, _ in if numbers.contains(number) { links[number] = link } }
            } catch { throw StoreError(.corrupt, "\(stream) of \(head.chain.device): \(error.message)") }
        }
    }
}
