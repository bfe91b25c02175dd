/// Finds which pieces of one segment have the same lines, by their numbers alone.
///
/// A device may send lines several times, in several chunks. A piece that has as many lines as its numbers span has
/// every line between its first and its last. So it is certain that lines inside of it are there already. Other pieces
/// whose numbers overlap may share lines or not.
enum LogPieceOverlap {
    enum Share: Equatable, Sendable {
        /// None of its lines is in another piece that counts.
        case all
        /// All of its lines are in other pieces.
        case none
        /// Some of its lines may be in other pieces of this kind. Without a look at the lines, so much of them counts,
        /// 0 to 1.
        case part(Double)
    }

    /// - Parameter pieces: of one segment, from any number of chunks.
    /// - Returns: one for each, in the same order.
    static func shares(of pieces: [LogPiece]) -> [Share] {
        var shares = Array(repeating: Share.none, count: pieces.count)
        // Wider ones come first, so what is inside of another comes after it.
        let order = pieces.indices.sorted {
            (pieces[$0].firstNumber, pieces[$1].lastNumber, $0) < (pieces[$1].firstNumber, pieces[$0].lastNumber, $1)
        }
        var kept: [Int] = []
        /// Numbers of which every line is in a piece that is kept.
        var covered: ClosedRange<UInt64>?
        for place in order where pieces[place].isDense {
            let piece = pieces[place]
            if let range = covered, range.contains(piece.firstNumber), range.contains(piece.lastNumber) { continue }
            kept.append(place)
            covered =
                covered.flatMap { range in
                    piece.firstNumber <= range.upperBound + 1
                        ? range.lowerBound...max(range.upperBound, piece.lastNumber) : nil
                } ?? piece.numbers
        }
        let dense = kept.map { pieces[$0].numbers }
        for place in order where !pieces[place].isDense && !isCovered(pieces[place].numbers, by: dense) {
            kept.append(place)
        }
        kept.sort { (pieces[$0].firstNumber, pieces[$0].lastNumber) < (pieces[$1].firstNumber, pieces[$1].lastNumber) }
        var start = 0
        while start < kept.count {
            var (end, last) = (start + 1, pieces[kept[start]].lastNumber)
            while end < kept.count, pieces[kept[end]].firstNumber <= last {
                last = max(last, pieces[kept[end]].lastNumber)
                end += 1
            }
            if end == start + 1 {
                shares[kept[start]] = .all
            } else {
                estimate(kept[start..<end], of: pieces, into: &shares)
            }
            start = end
        }
        return shares
    }

    /// Whether each number is in one of the ranges, which are in ascending order.
    private static func isCovered(_ numbers: ClosedRange<UInt64>, by ranges: [ClosedRange<UInt64>]) -> Bool {
        var next = numbers.lowerBound
        // The last range that begins at or before the first number.
        var (low, high) = (0, ranges.count)
        while low < high {
            let middle = (low + high) / 2
            if ranges[middle].lowerBound <= next { low = middle + 1 } else { high = middle }
        }
        var place = low - 1
        while place >= 0, place < ranges.count, ranges[place].lowerBound <= next {
            next = max(next, ranges[place].upperBound + 1)
            if next > numbers.upperBound { return true }
            place += 1
        }
        return false
    }

    /// Each counts as far as its numbers are above those of the ones before.
    private static func estimate(_ group: ArraySlice<Int>, of pieces: [LogPiece], into shares: inout [Share]) {
        var next: UInt64 = 0
        for place in group {
            let numbers = pieces[place].numbers
            let above = numbers.upperBound < next ? 0 : numbers.upperBound - max(numbers.lowerBound, next) + 1
            shares[place] = .part(Double(above) / (Double(numbers.upperBound - numbers.lowerBound) + 1))
            next = max(next, numbers.upperBound + 1)
        }
    }
}

extension LogPiece {
    var numbers: ClosedRange<UInt64> { firstNumber...max(firstNumber, lastNumber) }

    /// It has every line between its first and its last.
    var isDense: Bool { levelCounts.reduce(0, +) == numbers.upperBound - numbers.lowerBound + 1 }
}
