/// The meaning of a pattern parsed by `ScrubPatternSyntax`.
package indirect enum ScrubPattern: Equatable, Sendable {
    /// A position between two characters, before the first or after the last.
    package enum Border: Equatable, Sendable {
        /// The start of the text.
        case start
        case end
        /// Between a word character and another character or the text's border.
        case word
        case noWord
    }

    case character(ScrubCharacters)
    case border(Border)
    case sequence([ScrubPattern])
    /// The first alternative that leads to a match is used.
    case alternatives([ScrubPattern])
    /// - most: `nil` for no limit.
    /// - isLazy: prefers the fewest repetitions.
    case repeated(ScrubPattern, least: Int, most: Int?, isLazy: Bool)

    /// The number of characters and borders after expanding all counts.
    package var size: Int {
        switch self {
        case .character, .border: 1
        case .sequence(let parts), .alternatives(let parts): parts.reduce(0) { Self.bounded($0 + $1.size) }
        // An empty group has a size too. Otherwise a pattern could have any number of them.
        case .repeated(let part, let least, let most, _): Self.bounded(max(1, part.size) * max(1, most ?? least))
        }
    }

    private static func bounded(_ size: Int) -> Int { min(size, 1 << 30) }
}

/// A set of characters (Unicode scalars).
package struct ScrubCharacters: Equatable, Sendable {
    /// Ascending and not adjacent.
    package private(set) var ranges: [ClosedRange<UInt32>] = []

    private static let greatest: UInt32 = 0x10FFFF

    package init() {}

    package init(_ scalar: Unicode.Scalar) { ranges = [scalar.value...scalar.value] }

    private init(_ ranges: [ClosedRange<Unicode.Scalar>]) {
        for range in ranges { insert(range.lowerBound.value...range.upperBound.value) }
    }

    package static let digits = ScrubCharacters(["0"..."9"])
    package static let wordCharacters = ScrubCharacters(["0"..."9", "A"..."Z", "_"..."_", "a"..."z"])
    /// Tab, the four ASCII line ends, and space.
    package static let spaces = ScrubCharacters(["\t"..."\r", " "..." "])
    package static let anyButNewline = ScrubCharacters("\n").inverted

    /// The only character of the set; `nil` if it has none or several.
    package var single: UInt32? {
        guard ranges.count == 1, let range = ranges.first, range.count == 1 else { return nil }
        return range.lowerBound
    }

    package var inverted: ScrubCharacters {
        var result = ScrubCharacters()
        var next: UInt32 = 0
        for range in ranges {
            if range.lowerBound > next { result.ranges.append(next...(range.lowerBound - 1)) }
            next = range.upperBound + 1
        }
        if next <= Self.greatest { result.ranges.append(next...Self.greatest) }
        return result
    }

    package mutating func insert(_ other: ScrubCharacters) {
        for range in other.ranges { insert(range) }
    }

    package mutating func insert(_ range: ClosedRange<UInt32>) {
        var (low, high) = (range.lowerBound, range.upperBound)
        // Joins adjacent and overlapping ranges.
        for other in ranges where other.lowerBound <= high + 1 && low <= other.upperBound + 1 {
            (low, high) = (min(low, other.lowerBound), max(high, other.upperBound))
        }
        ranges.removeAll { $0.lowerBound >= low && $0.upperBound <= high }
        ranges.insert(low...high, at: ranges.firstIndex { $0.lowerBound > high } ?? ranges.endIndex)
    }

    package func contains(_ scalar: UInt32) -> Bool { ranges.contains { $0.contains(scalar) } }
}

/// The syntax of patterns for scrubbing logs. It is checked without a regular expression engine, so both ends agree.
///
/// A pattern is a regular expression with literals, `.`, classes (`[a-z]`, `[^"]`), groups `( )` and `(?: )`, `|`, `^`,
/// `$`, the quantifiers `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}` (up to 1,000; lazy with a `?` behind), `\d \D \w \W \s \S
/// \b \B \t \n \r`, and `\` before any punctuation.
///
/// Back references and look-around are refused. The rest can be matched in a time that grows linearly with the line, so
/// no profile can stall a device's logging. For the same reason the size of a pattern is limited to 2,000 characters
/// after expanding all counts.
package enum ScrubPatternSyntax {
    package struct Fault: Equatable, Sendable {
        package var message: String
        /// The position in characters (Unicode scalars), from 0.
        package var position: Int
    }

    private static let greatestCount = 1000
    private static let greatestDepth = 32
    private static let greatestSize = 2000

    /// The fault in a pattern; `nil` if it is valid.
    package static func fault(in pattern: String) -> Fault? {
        do {
            _ = try parse(pattern)
            return nil
        } catch { return error }
    }

    /// Parses a pattern.
    package static func parse(_ pattern: String) throws(Fault) -> ScrubPattern {
        var reader = Reader(scalars: Array(pattern.unicodeScalars))
        let parsed = try reader.readAlternatives(depth: 0)
        guard reader.isAtEnd else { throw Fault(message: "\")\" closes nothing", position: reader.position) }
        guard parsed.size <= greatestSize else {
            throw Fault(message: "with its counts written out it has more than \(greatestSize) characters", position: 0)
        }
        return parsed
    }

    private struct Reader {
        let scalars: [Unicode.Scalar]
        var position = 0

        var isAtEnd: Bool { position == scalars.count }
        var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

        func fault(_ message: String, at place: Int? = nil) -> Fault {
            Fault(message: message, position: place ?? position)
        }

        mutating func consume(_ scalar: Unicode.Scalar) -> Bool {
            guard next == scalar else { return false }
            position += 1
            return true
        }

        /// Reads to the end of the pattern, or to the `)` that closes the group.
        mutating func readAlternatives(depth: Int) throws(Fault) -> ScrubPattern {
            guard depth <= ScrubPatternSyntax.greatestDepth else {
                throw fault("groups are nested more than \(ScrubPatternSyntax.greatestDepth) deep")
            }
            var alternatives: [ScrubPattern] = []
            var sequence: [ScrubPattern] = []
            while let scalar = next, scalar != ")" {
                if scalar == "|" {
                    position += 1
                    alternatives.append(.sequence(sequence))
                    sequence = []
                    continue
                }
                let atom = try readAtom(depth: depth)
                if case .border = atom { sequence.append(atom) } else { sequence.append(try readQuantifier(of: atom)) }
            }
            return alternatives.isEmpty ? .sequence(sequence) : .alternatives(alternatives + [.sequence(sequence)])
        }

        private mutating func readAtom(depth: Int) throws(Fault) -> ScrubPattern {
            let start = position
            let scalar = scalars[position]
            position += 1
            switch scalar {
            case "*", "+", "?", "{": throw fault("\"\(scalar)\" repeats nothing", at: start)
            case "^": return .border(.start)
            case "$": return .border(.end)
            case ".": return .character(.anyButNewline)
            case "[": return .character(try readClass(from: start))
            case "(":
                if consume("?"), !consume(":") { throw fault("\"(?\" is offered only as \"(?:\"", at: start) }
                let group = try readAlternatives(depth: depth + 1)
                guard consume(")") else { throw fault("\"(\" is not closed", at: start) }
                return group
            case "\\": return try readEscape(from: start)
            default: return .character(ScrubCharacters(scalar))
            }
        }

        private mutating func readEscape(from start: Int) throws(Fault) -> ScrubPattern {
            guard let escaped = next else { throw fault("\"\\\" has nothing behind it", at: start) }
            position += 1
            switch escaped {
            case "b": return .border(.word)
            case "B": return .border(.noWord)
            case "d": return .character(.digits)
            case "D": return .character(.digits.inverted)
            case "w": return .character(.wordCharacters)
            case "W": return .character(.wordCharacters.inverted)
            case "s": return .character(.spaces)
            case "S": return .character(.spaces.inverted)
            case "t": return .character(ScrubCharacters("\t"))
            case "n": return .character(ScrubCharacters("\n"))
            case "r": return .character(ScrubCharacters("\r"))
            case "0"..."9", "a"..."z", "A"..."Z": throw fault("\"\\\(escaped)\" is not offered", at: start)
            default: return .character(ScrubCharacters(escaped))
            }
        }

        private mutating func readClass(from start: Int) throws(Fault) -> ScrubCharacters {
            let isInverted = consume("^")
            var characters = ScrubCharacters()
            var isFirst = true
            while let scalar = next {
                if scalar == "]", !isFirst {
                    position += 1
                    return isInverted ? characters.inverted : characters
                }
                let low = try readClassMember()
                isFirst = false
                guard next == "-", position + 1 < scalars.count, scalars[position + 1] != "]" else {
                    characters.insert(low)
                    continue
                }
                let dash = position
                position += 1
                let high = try readClassMember()
                guard let low = low.single, let high = high.single, low <= high else {
                    throw fault("the range runs backwards, or is none", at: dash)
                }
                characters.insert(low...high)
            }
            throw fault("\"[\" is not closed", at: start)
        }

        private mutating func readClassMember() throws(Fault) -> ScrubCharacters {
            guard let scalar = next else { throw fault("\"[\" is not closed") }
            let start = position
            position += 1
            guard scalar == "\\" else { return ScrubCharacters(scalar) }
            guard case .character(let characters) = try readEscape(from: start) else {
                throw fault("\"\\b\" has no meaning in a class", at: start)
            }
            return characters
        }

        private mutating func readQuantifier(of atom: ScrubPattern) throws(Fault) -> ScrubPattern {
            var least = 0
            var most: Int?
            if consume("*") {
            } else if consume("+") {
                least = 1
            } else if consume("?") {
                most = 1
            } else if consume("{") {
                let start = position - 1
                guard let count = readCount() else { throw fault("\"{\" is not followed by a count", at: start) }
                (least, most) = (count, count)
                if consume(",") { most = readCount() }
                guard consume("}"), least <= most ?? least, max(least, most ?? 0) <= ScrubPatternSyntax.greatestCount
                else {
                    throw fault(
                        "the counts are not in order up to \(ScrubPatternSyntax.greatestCount), or \"}\" is missing",
                        at: start)
                }
            } else {
                return atom
            }
            let isLazy = consume("?")
            if let scalar = next, ["*", "+", "?", "{"].contains(scalar) {
                throw fault("\"\(scalar)\" repeats a repetition")
            }
            return .repeated(atom, least: least, most: most, isLazy: isLazy)
        }

        private mutating func readCount() -> Int? {
            var count: Int?
            while let scalar = next, ("0"..."9").contains(scalar) {
                position += 1
                count = min((count ?? 0) * 10 + Int(scalar.value - 48), ScrubPatternSyntax.greatestCount + 1)
            }
            return count
        }
    }
}

extension ScrubPatternSyntax.Fault: Error {}
