import ClickHouse
import RecordStore
import WireModel

/// Walks chains of one day backwards from their ends, all devices together, the newest slice of each device at a time.
///
/// PostgreSQL says where a chain ends on the day. The last slice must end there, and each further one must end where
/// the one after it begins, with equal numbers, links and counts. So what is read is proved without the slices before
/// it.
struct ChainTails: Sendable {
    private let reader: SliceReader
    private let stream: StreamName
    /// The rest of each chain; its last slice once it is known.
    private var chains: [DeviceID: [ChainKey: Tail]] = [:]

    private struct Tail: Sendable {
        var day: UTCDay
        var stretch: SliceTiling.Stretch
        var last: SliceHead?
    }

    /// The newest slices, and a replica that has them.
    struct Fronts: Sendable {
        var slices: [DeviceID: SliceSummary] = [:]
        var replica: ClickHouseReplica?
    }

    init(reader: SliceReader, stream: StreamName, chains: [ChainDay]) {
        self.reader = reader
        self.stream = stream
        for chain in chains where !chain.stretch.isEmpty {
            self.chains[chain.key.device, default: [:]][chain.key] = Tail(day: chain.day, stretch: chain.stretch)
        }
    }

    /// Whether no device has a slice left.
    var isEmpty: Bool { chains.isEmpty }

    /// Removes and returns the newest slice that is left of each device.
    /// - Throws: `.unavailable` if no replica that answers has a chain's end.
    mutating func next() async throws(StoreError) -> Fronts {
        var fronts = Fronts()
        let unknown = chains.values.flatMap { $0.filter { $0.value.last == nil } }
        var rest = unknown[...]
        while !rest.isEmpty {
            let some = rest.prefix(SliceReader.chainsPerQuery)
            rest = rest.dropFirst(SliceReader.chainsPerQuery)
            let (found, replica) = try await lasts(of: some)
            for (key, head) in found { chains[key.device]?[key]?.last = head }
            fronts.replica = replica
        }
        for (device, tails) in chains {
            guard let last = tails.values.compactMap(\.last).max(by: { $0.place < $1.place }) else { continue }
            fronts.slices[device] = last.summary
            add(last)
        }
        return fronts
    }

    /// Looks for no further slices of a device.
    mutating func leave(_ device: DeviceID) { chains[device] = nil }

    private mutating func add(_ slice: SliceHead) {
        let (device, key) = (slice.chain.device, slice.chain)
        guard var tail = chains[device]?[key] else { return }
        (tail.stretch.end, tail.stretch.endNumber, tail.last) = (slice.before, slice.key, nil)
        chains[device]?[key] = tail.stretch.isEmpty ? nil : tail
        if chains[device]?.isEmpty == true { chains[device] = nil }
    }

    private func lasts(
        of tails: ArraySlice<(key: ChainKey, value: Tail)>
    ) async throws(StoreError) -> ([ChainKey: SliceHead], ClickHouseReplica?) {
        guard let days = tails.map(\.value.day).bounds else { return ([:], nil) }
        return try await reader.onAnyReplica { replica throws(StoreError) in
            let (heads, answering) = try await reader.slices.heads(
                endingAt: tails.map { ($0.key, $0.value.stretch.endNumber) }, days: days, stream: stream, on: replica)
            let byChain = Dictionary(grouping: heads, by: \.chain)
            var found: [ChainKey: SliceHead] = [:]
            for (key, tail) in tails {
                found[key] = byChain[key]?
                    .filter { $0.after == tail.stretch.end && $0.key >= tail.stretch.beginNumber && !$0.isClosing }
                    .max { ($0.key, $0.version) < ($1.key, $1.version) }
                guard found[key] != nil else {
                    throw StoreError.lagging(
                        answering, key, after: tail.stretch.beginNumber, mark: tail.stretch.endNumber)
                }
            }
            return (found, answering)
        }
    }
}
