/// A set of a block's records, by their places.
struct RowSet: Equatable {
    private(set) var words: [UInt64]
    private(set) var count: Int

    /// - Parameter filled: whether all `rows` records are in it.
    init(rows: Int, filled: Bool = false) {
        words = Array(repeating: filled ? .max : 0, count: (rows + 63) / 64)
        if filled, rows % 64 != 0 { words[words.count - 1] = 1 << UInt64(rows % 64) - 1 }
        count = filled ? rows : 0
    }

    @inline(__always)
    func contains(_ row: Int) -> Bool { words[row >> 6] >> UInt64(row & 63) & 1 == 1 }

    /// Inserts a record that is not in it.
    @inline(__always)
    mutating func insert(_ row: Int) {
        words[row >> 6] |= 1 << UInt64(row & 63)
        count += 1
    }

    @inline(__always)
    func forEach(_ body: (Int) -> Void) {
        for (index, word) in words.enumerated() {
            var rest = word
            while rest != 0 {
                body(index << 6 | rest.trailingZeroBitCount)
                rest &= rest - 1
            }
        }
    }

    /// The records in it, ascending.
    var rows: [Int] {
        var rows: [Int] = []
        rows.reserveCapacity(count)
        forEach { rows.append($0) }
        return rows
    }
}
