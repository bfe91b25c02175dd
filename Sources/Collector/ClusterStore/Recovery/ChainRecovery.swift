import FoundationEssentials
import RecordStore
import WireModel

/// Follows a chain over the slices that replicas have, after PostgreSQL may have lost commits. A pure function.
///
/// It begins at the floor and moves over each slice that continues the chain, up to PostgreSQL's mark and beyond. A
/// slice above that mark is proved by its links and counts: no collector could have written it without the chain before
/// it.
struct ChainRecovery: Sendable {
    /// A chain's state at its floor, as ClickHouse has it.
    struct Floor: Equatable, Sendable {
        var key: ChainKey
        var day: UTCDay
        /// The generation under which it was written.
        var generation: UInt64
        var number: UInt64
        var state: ChainColumns
    }

    let key: ChainKey
    private(set) var state: ChainColumns
    /// The number of the mark.
    private(set) var number: UInt64 = 0
    private(set) var floor: EncodedMark
    private(set) var floorNumber: UInt64
    /// The days in their order, without those at or below the floor.
    private(set) var days: [ChainDay] = []
    /// Slices above PostgreSQL's mark, which become part of the chain.
    private(set) var new: [SliceHead] = []
    /// The other slices that count.
    private(set) var former: [SliceHead] = []
    /// The position of the last slice; 0 without one.
    private(set) var position: Int64 = 0

    /// - Parameters:
    ///   - row: the chain in PostgreSQL; `nil` if it has none.
    ///   - floors: all that ClickHouse has of the chain.
    ///   - slices: likewise.
    /// - Throws: if the slices end before PostgreSQL's mark.
    init(
        _ key: ChainKey, _ row: ChainRow?, floors: [Floor], slices: [SliceHead]
    ) throws(SliceTiling.Hole) {
        self.key = key
        state = row.map { ChainColumns($0.state) } ?? .none
        var knownNumber = row?.state.mark.number ?? 0
        floor = row?.floor ?? .none
        floorNumber = row?.floorNumber ?? 0
        var floorState = state
        for adopted in Self.newest(floors, slices) {
            if adopted.number > floorNumber {
                (floorNumber, floor) = (adopted.number, EncodedMark(bytes: adopted.state.mark))
                floorState = adopted.state
            }
            if adopted.number > knownNumber {
                (knownNumber, state) = (adopted.number, adopted.state.closed(as: state))
            }
            state = state.closed(as: adopted.state)
        }
        try follow(slices, from: knownNumber)
        // Nothing above the floor: the chain is what the floor says.
        if floorNumber == knownNumber, new.isEmpty, floorNumber > row?.state.mark.number ?? 0 {
            state = floorState.closed(as: state)
        }
    }

    /// The floors of the newest generation that has valid ones. A floor is not valid if a later generation has a slice
    /// below it: then it came late, and that generation went on without it.
    private static func newest(_ floors: [Floor], _ slices: [SliceHead]) -> [Floor] {
        let valid = floors.filter { floor in
            !slices.contains { $0.key < floor.number && $0.version.generation > floor.generation }
        }
        let newest = valid.map(\.generation).max()
        return valid.filter { $0.generation == newest }.sorted { $0.number < $1.number }
    }

    private mutating func follow(_ slices: [SliceHead], from known: UInt64) throws(SliceTiling.Hole) {
        var greatest: [UInt64: SliceHead] = [:]
        for slice in slices where greatest[slice.key].map({ $0.version < slice.version }) ?? true {
            greatest[slice.key] = slice
        }
        let wasClosed = state.closedLast != nil
        var (number, mark) = (floorNumber, floor)
        while let next = greatest[number], next.before == mark {
            let isNew = next.key >= known
            // PostgreSQL's mark lies within no slice.
            guard isNew || next.lastNumber <= known else { throw SliceTiling.Hole(number: number) }
            // A closed chain moves no more. Its closing slice may have gone with its day, while a lower version is
            // there.
            if isNew, wasClosed, !next.isClosing { break }
            if isNew, !wasClosed {
                new.append(next)
                state = next.state
            } else {
                former.append(next)
            }
            add(next)
            if next.isClosing { break }
            (number, mark) = (next.lastNumber, next.after)
        }
        guard number >= known else { throw SliceTiling.Hole(number: number) }
        self.number = number
    }

    private mutating func add(_ slice: SliceHead) {
        position = slice.position
        if days.last?.day != slice.day {
            days.append(
                ChainDay(
                    key: key, day: slice.day,
                    stretch: .init(
                        begin: slice.before, beginNumber: slice.key, end: slice.after, endNumber: slice.lastNumber),
                    bounds: slice.bounds, newestReceipt: slice.receivedAt))
            return
        }
        days[days.count - 1].stretch.end = slice.after
        days[days.count - 1].stretch.endNumber = slice.lastNumber
        days[days.count - 1].bounds.include(slice.bounds)
        days[days.count - 1].newestReceipt = max(days[days.count - 1].newestReceipt, slice.receivedAt)
    }

    /// Puts the slices of dropped days into the floor.
    /// - Parameter last: the last dropped day.
    /// - Returns: the new floor; `nil` if the chain has no slices on those days.
    mutating func drop(upTo last: UTCDay, generation: UInt64) -> Floor? {
        guard let end = days.last(where: { $0.day <= last }) else { return nil }
        var columns = state
        columns.mark = end.stretch.end.bytes
        if days.last?.day != end.day { columns = columns.open }
        (floor, floorNumber) = (end.stretch.end, end.stretch.endNumber)
        days.removeAll { $0.day <= last }
        new.removeAll { $0.day <= last }
        former.removeAll { $0.day <= last }
        return Floor(key: key, day: last, generation: generation, number: floorNumber, state: columns)
    }
}

extension ChainColumns {
    /// The columns with the closure of another state, unless they have one.
    fileprivate func closed(as other: ChainColumns) -> ChainColumns {
        if closedLast != nil { return self }
        var columns = self
        (columns.closedLast, columns.closedReason, columns.closedAt) =
            (other.closedLast, other.closedReason, other.closedAt)
        return columns
    }

    /// The state without its closure.
    var open: ChainColumns {
        var columns = self
        (columns.closedLast, columns.closedReason, columns.closedAt) = (nil, nil, nil)
        return columns
    }
}
