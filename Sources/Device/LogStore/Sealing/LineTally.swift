import WireModel

/// Counts what a stretch of lines holds. A line that is not of the form counts as a line, without time and level.
package struct LineTally: Equatable, Sendable {
    package private(set) var rawBytes = 0
    package private(set) var lines = 0
    package private(set) var levelCounts: [UInt64] = [0, 0, 0, 0]
    private var earliest = Int64.max
    private var latest = Int64.min

    package init() {}

    package init(_ stretch: SegmentIndex.Stretch) {
        rawBytes = stretch.rawBytes
        lines = stretch.lines
        levelCounts = stretch.levelCounts
        // Where no line is of the form, the times are of none.
        if levelCounts.contains(where: { $0 > 0 }) { (earliest, latest) = (stretch.times.lowerBound, stretch.times.upperBound) }
    }

    /// All lines of a text.
    package mutating func add(text: UnsafeRawBufferPointer) {
        for line in LineSlices(text) { add(LogLine(line), bytes: line.count) }
    }

    /// - Parameters:
    ///   - line: `nil` where it is not of the form.
    ///   - bytes: with its end.
    package mutating func add(_ line: LogLine?, bytes: Int) {
        rawBytes += bytes
        lines += 1
        guard let line else { return }
        levelCounts[line.level.rawValue - 1] += 1
        earliest = min(earliest, line.time)
        latest = max(latest, line.time)
    }

    package mutating func add(_ other: LineTally) {
        rawBytes += other.rawBytes
        lines += other.lines
        for level in levelCounts.indices { levelCounts[level] += other.levelCounts[level] }
        earliest = min(earliest, other.earliest)
        latest = max(latest, other.latest)
    }

    package mutating func add(_ stretch: SegmentIndex.Stretch) { add(LineTally(stretch)) }

    /// 1970 where no line has a time.
    package var times: ClosedRange<Int64> { earliest <= latest ? earliest...latest : 0...0 }

    package func stretch(first: LogNumber, storedBytes: Int) -> SegmentIndex.Stretch {
        SegmentIndex.Stretch(
            rawBytes: rawBytes, storedBytes: storedBytes, first: first, lines: lines, times: times, levelCounts: levelCounts)
    }
}
