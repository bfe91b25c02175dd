import WireModel

/// Finds the slices of a chain that count, among all that a replica has. A pure function.
///
/// PostgreSQL says where a stretch of the chain begins and ends. Keys outside of the stretch do not count: those below
/// it were removed or belong to an earlier day, those at its end or above belong to writes that never became part of
/// the chain. Of slices with one key the greatest version counts. The slices that count must continue each other from
/// the beginning to the end, with equal numbers, links and counts. If they do not, the replica lags.
enum SliceTiling {
    /// Where the slices of a replica do not continue.
    struct Hole: Error, Equatable {
        /// The last number up to which they do.
        var number: UInt64
    }

    /// A stretch of a chain, by its marks.
    struct Stretch: Equatable, Sendable {
        var begin: EncodedMark
        var beginNumber: UInt64
        var end: EncodedMark
        var endNumber: UInt64

        var isEmpty: Bool { beginNumber == endNumber }

        func covers(_ number: UInt64) -> Bool { number > beginNumber && number <= endNumber }
    }

    /// The slices that count, in the order of their keys.
    /// - Parameter slices: all of the chain that the replica has, in any order.
    static func winners(of slices: some Sequence<SliceHead>, in stretch: Stretch) throws(Hole) -> [SliceHead] {
        var greatest: [UInt64: SliceHead] = [:]
        for slice in slices where slice.key >= stretch.beginNumber && slice.key < stretch.endNumber {
            if let other = greatest[slice.key], other.version > slice.version { continue }
            greatest[slice.key] = slice
        }
        var winners: [SliceHead] = []
        winners.reserveCapacity(greatest.count)
        var (number, mark) = (stretch.beginNumber, stretch.begin)
        while number < stretch.endNumber {
            guard let next = greatest[number], next.before == mark, next.lastNumber > number else {
                throw Hole(number: number)
            }
            winners.append(next)
            (number, mark) = (next.lastNumber, next.after)
        }
        guard number == stretch.endNumber, mark == stretch.end else { throw Hole(number: number) }
        return winners
    }
}
