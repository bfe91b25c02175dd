import FoundationEssentials

/// A key that an object of a JSON5 text has twice. `JSONDecoder` keeps one of the values and says nothing.
struct RepeatedKey: Equatable {
    let key: String
    /// The line of the second one, from 1.
    let line: Int

    /// - Parameter text: what `JSONDecoder` has accepted, so that nothing is checked here beside the keys.
    static func first(in text: [UInt8]) -> RepeatedKey? {
        var scanner = Scanner(text: text)
        return scanner.repeatedKey()
    }

    private struct Scanner {
        let text: [UInt8]
        private var place = 0
        /// The keys of each open object; `nil` for a list.
        private var open: [Set<String>?] = []
        /// Whether the next word is a key.
        private var isBeforeKey = false

        init(text: [UInt8]) { self.text = text }

        mutating func repeatedKey() -> RepeatedKey? {
            while place < text.count {
                let start = place
                place += 1
                switch text[start] {
                case UInt8(ascii: "{"): enter([])
                case UInt8(ascii: "["): enter(nil)
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    open.removeLast()
                    isBeforeKey = false
                case UInt8(ascii: ","): isBeforeKey = open.last.map { $0 != nil } ?? false
                case UInt8(ascii: ":"), UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\n"): break
                case UInt8(ascii: "/"): skipComment()
                default:
                    skipWord(from: start)
                    guard isBeforeKey else { continue }
                    isBeforeKey = false
                    let key = Self.name(text[start..<place])
                    if open[open.count - 1]?.insert(key).inserted == false {
                        let line = text[..<start].count { $0 == UInt8(ascii: "\n") } + 1
                        return RepeatedKey(key: key, line: line)
                    }
                }
            }
            return nil
        }

        private mutating func enter(_ keys: Set<String>?) {
            open.append(keys)
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
