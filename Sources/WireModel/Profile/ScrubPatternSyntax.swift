/// The form of a pattern whose matches are scrubbed from logs, checked without an expression engine so that both ends agree on it.
///
/// A pattern is a regular expression with literals, `.`, classes (`[a-z]`, `[^"]`), groups `( )` and `(?: )`, `|`, `^`, `$`, the
/// quantifiers `*`, `+`, `?`, `{n}`, `{n,}`, `{n,m}` (also lazy, with a `?` behind; up to 1,000), `\d \D \w \W \s \S \b \B \t \n \r`, and
/// `\` before any punctuation. Back references and look-around are refused: what is left can be matched in a time that grows with the
/// line alone, so that no profile can bring a device's logging to a stand.
package enum ScrubPatternSyntax {
    package struct Fault: Equatable, Sendable {
        package var message: String
        /// In characters (Unicode scalars), from 0.
        package var position: Int
    }

    private static let greatestCount = 1000
    private static let greatestDepth = 32

    /// What is wrong with it; `nil` for a good one.
    package static func fault(in pattern: String) -> Fault? {
        var reader = Reader(scalars: Array(pattern.unicodeScalars))
        do { try reader.readAlternatives(depth: 0) } catch { return error }
        guard reader.isAtEnd else { return Fault(message: "\")\" closes nothing", position: reader.position) }
        return nil
    }

    private struct Reader {
        let scalars: [Unicode.Scalar]
        var position = 0

        var isAtEnd: Bool { position == scalars.count }
        var next: Unicode.Scalar? { position < scalars.count ? scalars[position] : nil }

        func fault(_ message: String, at place: Int? = nil) -> Fault { Fault(message: message, position: place ?? position) }

        mutating func take(_ scalar: Unicode.Scalar) -> Bool {
            guard next == scalar else { return false }
            position += 1
            return true
        }

        /// Up to the end, or to the `)` that closes the group.
        mutating func readAlternatives(depth: Int) throws(Fault) {
            guard depth <= ScrubPatternSyntax.greatestDepth else {
                throw fault("groups are nested more than \(ScrubPatternSyntax.greatestDepth) deep")
            }
            while let scalar = next, scalar != ")" {
                if scalar == "|" {
                    position += 1
                    continue
                }
                if try readAtom(depth: depth) { try readQuantifier() }
            }
        }

        /// - Returns: whether it can be repeated.
        private mutating func readAtom(depth: Int) throws(Fault) -> Bool {
            let start = position
            let scalar = scalars[position]
            position += 1
            switch scalar {
            case "*", "+", "?", "{": throw fault("\"\(scalar)\" repeats nothing", at: start)
            case "^", "$": return false
            case "[":
                try readClass(from: start)
                return true
            case "(":
                if take("?"), !take(":") { throw fault("\"(?\" is offered only as \"(?:\"", at: start) }
                try readAlternatives(depth: depth + 1)
                guard take(")") else { throw fault("\"(\" is not closed", at: start) }
                return true
            case "\\": return try readEscape(from: start)
            default: return true
            }
        }

        private mutating func readEscape(from start: Int) throws(Fault) -> Bool {
            guard let escaped = next else { throw fault("\"\\\" has nothing behind it", at: start) }
            position += 1
            switch escaped {
            case "b", "B": return false
            case "d", "D", "w", "W", "s", "S", "t", "n", "r": return true
            case "0"..."9", "a"..."z", "A"..."Z": throw fault("\"\\\(escaped)\" is not offered", at: start)
            default: return true
            }
        }

        private mutating func readClass(from start: Int) throws(Fault) {
            _ = take("^")
            var isFirst = true
            while let scalar = next {
                if scalar == "]", !isFirst {
                    position += 1
                    return
                }
                let low = try readClassMember()
                isFirst = false
                guard next == "-", position + 1 < scalars.count, scalars[position + 1] != "]" else { continue }
                let dash = position
                position += 1
                let high = try readClassMember()
                guard let low, let high, low.value <= high.value else { throw fault("the range runs backwards, or is none", at: dash) }
            }
            throw fault("\"[\" is not closed", at: start)
        }

        /// - Returns: the character where it is one, `nil` for a class such as `\d`.
        private mutating func readClassMember() throws(Fault) -> Unicode.Scalar? {
            guard let scalar = next else { throw fault("\"[\" is not closed") }
            let start = position
            position += 1
            guard scalar == "\\" else { return scalar }
            let escaped = next
            guard try readEscape(from: start) else { throw fault("\"\\b\" has no meaning in a class", at: start) }
            switch escaped {
            case "d", "D", "w", "W", "s", "S": return nil
            case "t": return "\t"
            case "n": return "\n"
            case "r": return "\r"
            default: return escaped
            }
        }

        private mutating func readQuantifier() throws(Fault) {
            if take("*") || take("+") || take("?") {
                _ = take("?")
            } else if take("{") {
                let start = position - 1
                guard let least = readCount() else { throw fault("\"{\" is not followed by a count", at: start) }
                var most = least
                if take(",") { most = readCount() ?? ScrubPatternSyntax.greatestCount }
                guard take("}"), least <= most, most <= ScrubPatternSyntax.greatestCount else {
                    throw fault("the counts are not in order up to \(ScrubPatternSyntax.greatestCount), or \"}\" is missing", at: start)
                }
                _ = take("?")
            }
            if let scalar = next, ["*", "+", "?", "{"].contains(scalar) { throw fault("\"\(scalar)\" repeats a repetition") }
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
