import FoundationEssentials

/// Where the keys of a JSON5 text stand, which `JSONDecoder` does not tell. Of a key that is given twice it keeps one
/// of the values and says nothing.
struct JSON5Keys: Equatable {
    /// The line of each key, from 1, by the keys on the way to it and its own. Of one that is given twice, the last.
    private(set) var lines: [[String]: Int] = [:]
    /// Keys that an object has twice, in the order of the text.
    private(set) var repeated: [[String]] = []

    /// - Parameter text: an object that `JSONDecoder` has accepted, so that nothing is checked here beside the keys.
    init(of text: [UInt8]) {
        var scanner = Scanner(text: text)
        while let (key, line, isRepeated) = scanner.nextKey() {
            lines[key] = line
            if isRepeated { repeated.append(key) }
        }
    }

    private struct Scanner {
        let text: [UInt8]
        private var place = 0
        private var line = 1
        /// Up to where lines are counted.
        private var counted = 0
        /// The keys of each open object; `nil` for a list.
        private var open: [Set<String>?] = []
        /// The latest key of each open object; empty for a list.
        private var path: [String] = []
        /// Whether the next word is a key.
        private var isBeforeKey = false

        init(text: [UInt8]) { self.text = text }

        mutating func nextKey() -> (path: [String], line: Int, isRepeated: Bool)? {
            while place < text.count {
                let start = place
                place += 1
                switch text[start] {
                case UInt8(ascii: "{"): enter([])
                case UInt8(ascii: "["): enter(nil)
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    open.removeLast()
                    path.removeLast()
                    isBeforeKey = false
                case UInt8(ascii: ","): isBeforeKey = open.last.map { $0 != nil } ?? false
                case UInt8(ascii: ":"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"): break
                case UInt8(ascii: "/"): skipComment()
                default:
                    skipWord(from: start)
                    guard isBeforeKey else { continue }
                    isBeforeKey = false
                    line += text[counted..<start].count { $0 == UInt8(ascii: "\n") }
                    counted = start
                    let key = Self.name(text[start..<place])
                    path[path.count - 1] = key
                    return (path, line, open[open.count - 1]?.insert(key).inserted == false)
                }
            }
            return nil
        }

        private mutating func enter(_ keys: Set<String>?) {
            open.append(keys)
            path.append("")
            isBeforeKey = keys != nil
        }

        private mutating func skipComment() {
            let isLong = text[place] == UInt8(ascii: "*")
            // A star that begins a comment does not end it.
            place += isLong ? 2 : 1
            while place < text.count {
                let isEnd =
                    isLong
                    ? text[place - 1] == UInt8(ascii: "*") && text[place] == UInt8(ascii: "/")
                    : text[place] == UInt8(ascii: "\n")
                place += 1
                if isEnd { return }
            }
        }

        /// Skips to the end of a text in quotes, a bare name, a number or a literal.
        private mutating func skipWord(from start: Int) {
            let quote = text[start]
            guard quote == UInt8(ascii: "\"") || quote == UInt8(ascii: "'") else {
                let ends = Set(" \t\n,:{}[]/".utf8)
                while place < text.count, !ends.contains(text[place]) { place += 1 }
                return
            }
            while place < text.count, text[place] != quote { place += text[place] == UInt8(ascii: "\\") ? 2 : 1 }
            place = min(place + 1, text.count)
        }

        /// The key without quotes and escapes.
        private static func name(_ word: ArraySlice<UInt8>) -> String {
            let decoder = JSONDecoder()
            decoder.allowsJSON5 = true
            let object = try? decoder.decode([String: Int].self, from: Data("{".utf8) + word + Data(":0}".utf8))
            return object?.keys.first ?? String(decoding: word, as: UTF8.self)
        }
    }
}
