import WireModel

/// A pattern as a list of steps for `ScrubMachine`, which reads one character at a time (Thompson, "Regular Expression
/// Search Algorithm", 1968; order of preference after Pike).
struct ScrubProgram: Sendable {
    enum Step: Equatable, Sendable {
        /// Matches one character of a set; the number is the set's index in `sets`.
        case character(Int)
        case border(ScrubPattern.Border)
        /// Continues at both places; the first is preferred.
        case split(Int, Int)
        case jump(Int)
        case match
    }

    /// A set of characters with fast lookup.
    struct CharacterSet: Sendable {
        private let low: UInt64
        private let high: UInt64
        private let others: [ClosedRange<UInt32>]

        init(_ characters: ScrubCharacters) {
            var bits: (UInt64, UInt64) = (0, 0)
            for range in characters.ranges {
                for value in range.clamped(to: 0...127) where range.contains(value) {
                    if value < 64 { bits.0 |= 1 << value } else { bits.1 |= 1 << (value - 64) }
                }
            }
            (low, high) = bits
            others = characters.ranges.filter { $0.upperBound > 127 }
        }

        @inline(__always)
        func contains(_ scalar: UInt32) -> Bool {
            if scalar < 64 { return low >> UInt64(scalar) & 1 != 0 }
            if scalar < 128 { return high >> UInt64(scalar - 64) & 1 != 0 }
            return others.contains { $0.contains(scalar) }
        }
    }

    private(set) var steps: [Step] = []
    private(set) var sets: [CharacterSet] = []
    /// The characters a match can begin with.
    private(set) var first = CharacterSet(ScrubCharacters())
    private var characters: [ScrubCharacters] = []

    init(_ pattern: ScrubPattern) {
        add(pattern)
        steps.append(.match)
        sets = characters.map(CharacterSet.init)
        first = CharacterSet(firstCharacters())
        characters = []
    }

    private mutating func add(_ pattern: ScrubPattern) {
        switch pattern {
        case .character(let set):
            let place = characters.firstIndex(of: set) ?? characters.count
            if place == characters.count { characters.append(set) }
            steps.append(.character(place))
        case .border(let border): steps.append(.border(border))
        case .sequence(let parts): parts.forEach { add($0) }
        case .alternatives(let parts):
            var jumps: [Int] = []
            for part in parts.dropLast() {
                let split = reserve()
                add(part)
                jumps.append(reserve())
                steps[split] = .split(split + 1, steps.count)
            }
            if let last = parts.last { add(last) }
            for jump in jumps { steps[jump] = .jump(steps.count) }
        case .repeated(let part, let least, let most, let isLazy):
            for _ in 0..<least { add(part) }
            if let most {
                let splits = (least..<max(least, most)).map { _ in
                    let split = reserve()
                    add(part)
                    return split
                }
                for split in splits { steps[split] = Self.split(split + 1, steps.count, isLazy) }
            } else {
                let split = reserve()
                add(part)
                steps.append(.jump(split))
                steps[split] = Self.split(split + 1, steps.count, isLazy)
            }
        }
    }

    private mutating func reserve() -> Int {
        steps.append(.match)
        return steps.count - 1
    }

    private static func split(_ into: Int, _ over: Int, _ isLazy: Bool) -> Step {
        isLazy ? .split(over, into) : .split(into, over)
    }

    private func firstCharacters() -> ScrubCharacters {
        var result = ScrubCharacters()
        var seen = [Bool](repeating: false, count: steps.count)
        var open = [0]
        while let place = open.popLast() {
            guard !seen[place] else { continue }
            seen[place] = true
            switch steps[place] {
            case .character(let set): result.insert(characters[set])
            case .border: open.append(place + 1)
            case .split(let one, let other): open += [one, other]
            case .jump(let target): open.append(target)
            case .match: break
            }
        }
        return result
    }
}
