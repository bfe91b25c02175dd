import FoundationEssentials
import WireModel

/// What items become in their chain: a pure function of them, the chain's state and the keys that the store has. The
/// same for every engine.
package struct NumberingStep: Sendable {
    /// A slice with the keys of its items.
    package struct Addition: Sendable {
        package var slice: AcceptedSlice
        package var keys: [KeyRange]
        /// The chain's state after the slice.
        package var state: ChainState
    }

    /// The chain afterwards. The same as before if nothing is to be written.
    package private(set) var state: ChainState
    /// In the order of the chain. All of them are stored together with the state.
    package private(set) var additions: [Addition] = []
    package private(set) var counts = StoreCounts()
    /// The answer once the step is durable.
    package private(set) var answer: UnnumberedAnswer

    /// A slice ends before its records exceed this, because readers hold a whole slice in memory. The first item of a
    /// slice always fits.
    package static let sliceBytes = 4 << 20

    /// - Parameters:
    ///   - items: ones without `UnnumberedItems.fault`.
    ///   - known: the keys of these items that the store has.
    package init(_ items: UnnumberedItems, after former: ChainState, known: KnownKeys) {
        state = former
        answer = UnnumberedAnswer(stored: 0, known: 0)
        if let closed = former.closed {
            answer = UnnumberedAnswer(
                refused: "the epoch was closed at number \(closed.last) (\(closed.reason))")
            return
        }
        guard former.mark.number < BatchPart.greatestNumber - UInt64(2 * items.itemCount) else {
            answer = UnnumberedAnswer(refused: "the chain has no more numbers")
            return
        }
        var known = known
        var piece = Piece()
        for run in items.runs {
            var hasContext = false
            for item in run.items {
                if let key = item.key, !known.insert(key) {
                    answer.known += 1
                    continue
                }
                if hasContext, piece.bytes + item.record.byteCount > Self.sliceBytes {
                    add(&piece)
                    hasContext = false
                }
                if !hasContext {
                    if piece.bytes + run.context.byteCount + item.record.byteCount > Self.sliceBytes { add(&piece) }
                    piece.append(run.context)
                    hasContext = true
                }
                piece.append(item.record)
                if let key = item.key { piece.keys.append(key) }
                answer.stored += 1
            }
        }
        add(&piece)
        counts.add(state.mark, since: former.mark)
    }

    /// The records of a slice while they are collected.
    private struct Piece {
        var records: [NewRecord] = []
        var keys: [ItemKey] = []
        var bytes = 0

        mutating func append(_ record: NewRecord) {
            records.append(record)
            bytes += record.byteCount
        }
    }

    private mutating func add(_ piece: inout Piece) {
        guard !piece.records.isEmpty else { return }
        let slice = AcceptedSlice(numbering: piece.records, after: state.mark)
        state.mark = slice.mark
        additions.append(Addition(slice: slice, keys: KeyRange.ranges(of: piece.keys), state: state))
        piece = Piece()
    }
}
