/// Pieces by the rank of the line that comes first in them: the least rank is next.
///
/// A binary heap.
struct LogPieceQueue {
    struct Entry {
        /// The rank as `LogLineOrder.rank` gives it.
        var rank: Int64
        var piece: LogPiece
        /// The position of its run among those that were loaded.
        var run: Int
    }

    private var heap: [Entry] = []

    var first: Entry? { heap.first }
    var count: Int { heap.count }

    mutating func insert(_ entry: Entry) {
        heap.append(entry)
        var place = heap.count - 1
        while place > 0, heap[place].rank < heap[(place - 1) / 2].rank {
            heap.swapAt(place, (place - 1) / 2)
            place = (place - 1) / 2
        }
    }

    mutating func removeFirst() -> Entry? {
        guard let first = heap.first else { return nil }
        heap.swapAt(0, heap.count - 1)
        heap.removeLast()
        var place = 0
        while true {
            var least = place
            for child in [2 * place + 1, 2 * place + 2] where child < heap.count && heap[child].rank < heap[least].rank
            {
                least = child
            }
            if least == place { return first }
            heap.swapAt(place, least)
            place = least
        }
    }
}
