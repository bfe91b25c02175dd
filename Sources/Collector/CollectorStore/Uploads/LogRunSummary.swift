/// The pieces of one segment in a chunk, together.
struct LogRunSummary {
    private(set) var times: ClosedRange<Int64> = 0...0
    private(set) var levels: [UInt64] = [0, 0, 0, 0]
    private var isEmpty = true

    mutating func add(_ piece: LogPiece) {
        times = isEmpty ? piece.times : min(times.lowerBound, piece.leastTime)...max(times.upperBound, piece.greatestTime)
        isEmpty = false
        for (place, count) in piece.levelCounts.enumerated() { levels[place] += count }
    }
}
