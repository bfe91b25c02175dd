import WireModel

/// Finds a pattern's matches in a text: the leftmost one, at equal starts the preferred one, then the next behind it.
/// Empty matches do not count.
///
/// It follows all paths through the pattern at once, so one search reads each character once, whatever the pattern.
/// Searches after a match may read characters again. `effort` bounds the work on one text in proportion to its length.
/// If the effort is used up, the rest of the text counts as matched: no pattern can stop logging, and none lets a
/// secret pass.
struct ScrubMachine {
    /// The most steps that a text of that length may cost.
    static func effort(forBytes count: Int) -> Int { 1_000_000 + 200 * count }

    private struct Way {
        var place: Int
        /// Offset of the match's first character.
        var start: Int
    }

    private(set) var effort: Int
    private var ways: [Way] = []
    private var next: [Way] = []
    /// The last turn in which each place of the program was reached.
    private var reached: [Int] = []
    private var turn = 0
    private var open: [Int] = []

    init(effort: Int) { self.effort = effort }

    /// - Parameters:
    ///   - text: UTF-8.
    ///   - found: receives each match.
    mutating func search(_ program: ScrubProgram, in text: UnsafeBufferPointer<UInt8>, found: (Range<Int>) -> Void) {
        if reached.count < program.steps.count { reached = [Int](repeating: 0, count: program.steps.count) }
        var start = 0
        while start < text.count, let match = firstMatch(program, text, from: start) {
            found(match)
            start = match.upperBound
        }
    }

    /// The first match; `nil` if there is none.
    mutating func first(_ program: ScrubProgram, in text: UnsafeBufferPointer<UInt8>) -> Range<Int>? {
        reached = [Int](repeating: 0, count: program.steps.count)
        return firstMatch(program, text, from: 0)
    }

    private mutating func firstMatch(_ program: ScrubProgram, _ text: UnsafeBufferPointer<UInt8>, from: Int) -> Range<
        Int
    >? {
        var match: Range<Int>?
        var position = from
        ways.removeAll(keepingCapacity: true)
        turn += 1
        while true {
            if match == nil {
                if ways.isEmpty {
                    guard let candidate = Self.nextStart(program, text, from: position) else { return nil }
                    position = candidate
                    turn += 1
                }
                reach(Way(place: 0, start: position), program, text, at: position, isNext: false)
            }
            guard effort > 0 else { return (match?.lowerBound ?? ways.first?.start ?? from)..<text.count }
            let (scalar, length) = position < text.count ? Self.scalar(text, position) : (0, 0)
            turn += 1
            next.removeAll(keepingCapacity: true)
            stepping: for way in ways {
                switch program.steps[way.place] {
                case .character(let set):
                    if length > 0, program.sets[set].contains(scalar) {
                        reach(
                            Way(place: way.place + 1, start: way.start), program, text, at: position + length,
                            isNext: true)
                    }
                case .match:
                    guard position > way.start else { continue }
                    match = way.start..<position
                    // Drops the less preferred paths.
                    break stepping
                default: break
                }
            }
            if length == 0 { return match }
            swap(&ways, &next)
            position += length
            if ways.isEmpty, match != nil { return match }
        }
    }

    /// Adds the places that can be reached without reading a character, in order of preference.
    private mutating func reach(
        _ way: Way, _ program: ScrubProgram, _ text: UnsafeBufferPointer<UInt8>, at position: Int, isNext: Bool
    ) {
        open.removeAll(keepingCapacity: true)
        open.append(way.place)
        while let place = open.popLast() {
            guard reached[place] != turn else { continue }
            reached[place] = turn
            effort -= 1
            switch program.steps[place] {
            case .character, .match:
                let reached = Way(place: place, start: way.start)
                if isNext { next.append(reached) } else { ways.append(reached) }
            case .border(let border): if Self.isAt(border, text, position) { open.append(place + 1) }
            case .jump(let target): open.append(target)
            case .split(let preferred, let other):
                open.append(other)
                open.append(preferred)
            }
        }
    }

    /// The next offset, from `start` on, at which a match can begin.
    private static func nextStart(_ program: ScrubProgram, _ text: UnsafeBufferPointer<UInt8>, from start: Int) -> Int?
    {
        var position = start
        while position < text.count {
            let (scalar, length) = scalar(text, position)
            if program.first.contains(scalar) { return position }
            position += length
        }
        return nil
    }

    private static func isAt(_ border: ScrubPattern.Border, _ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> Bool
    {
        switch border {
        case .start: return position == 0
        case .end: return position == text.count
        case .word, .noWord:
            // Word characters are ASCII, so testing one byte is enough.
            let isBehindWord = position > 0 && ScrubCharacters.wordCharacters.contains(UInt32(text[position - 1]))
            let isBeforeWord = position < text.count && ScrubCharacters.wordCharacters.contains(UInt32(text[position]))
            return (isBehindWord != isBeforeWord) == (border == .word)
        }
    }

    /// The character at an offset of valid UTF-8, and its length in bytes.
    @inline(__always)
    private static func scalar(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> (UInt32, Int) {
        let lead = UInt32(text[position])
        if lead < 0x80 { return (lead, 1) }
        let length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4
        var scalar = lead & (0x7F >> UInt32(length))
        for offset in 1..<length { scalar = scalar << 6 | UInt32(text[position + offset]) & 0x3F }
        return (scalar, length)
    }
}

/// The stretches of a text that matches cover. Overlapping and adjacent stretches are joined.
struct CoveredRanges: Equatable, Sendable {
    /// Ascending and apart from each other, after `settle`.
    private(set) var ranges: [Range<Int>] = []
    private var isSettled = true

    var isEmpty: Bool { ranges.isEmpty }

    mutating func add(_ range: Range<Int>) {
        // Matches come mostly in order. They are joined at once, so the list stays short.
        var range = range
        while let last = ranges.last, last.upperBound >= range.lowerBound, range.upperBound >= last.lowerBound {
            range = min(last.lowerBound, range.lowerBound)..<max(last.upperBound, range.upperBound)
            ranges.removeLast()
        }
        if let last = ranges.last, last.lowerBound > range.lowerBound { isSettled = false }
        ranges.append(range)
    }

    mutating func settle() {
        if isSettled { return }
        let sorted = ranges.sorted { $0.lowerBound < $1.lowerBound }
        ranges = []
        for range in sorted { add(range) }
        isSettled = true
    }

    /// The part of the stretches within `bounds`, with offsets from its start.
    func clipped(to bounds: Range<Int>) -> CoveredRanges {
        var result = CoveredRanges()
        for range in ranges where range.overlaps(bounds) {
            let clipped = range.clamped(to: bounds)
            result.add((clipped.lowerBound - bounds.lowerBound)..<(clipped.upperBound - bounds.lowerBound))
        }
        return result
    }
}
