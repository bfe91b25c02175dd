/// A filter made ready to look at many lines.
package struct LogLineMatcher: Sendable {
    private let level: LogLevel
    private let times: Range<Int64>
    private let categories: [(name: [UInt8], isPrefix: Bool)]
    /// In lower case.
    private let text: [UInt8]

    package init(_ filter: LogFilter) {
        level = filter.level
        let since = filter.since ?? .min
        times = since..<max(since, filter.until ?? .max)
        categories = filter.categories.map { name in
            name.hasSuffix("*") ? (Array(name.utf8.dropLast()), true) : (Array(name.utf8), false)
        }
        text = filter.text.utf8.map(Self.lower)
    }

    /// - Parameters:
    ///   - line: as it lies in `bytes`.
    ///   - bytes: with or without the end.
    package func matches(_ line: LogLine, in bytes: UnsafeRawBufferPointer) -> Bool {
        guard line.level <= level, times.contains(line.time) else { return false }
        guard categories.isEmpty || categories.contains(where: { Self.agrees($0, bytes[line.category]) }) else { return false }
        return text.isEmpty
            || Self.contains(UnsafeRawBufferPointer(rebasing: bytes[line.category.lowerBound..<line.metadata.upperBound]), text)
    }

    private static func agrees(_ category: (name: [UInt8], isPrefix: Bool), _ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
        category.isPrefix ? bytes.starts(with: category.name) : bytes.elementsEqual(category.name)
    }

    private static func contains(_ bytes: UnsafeRawBufferPointer, _ text: [UInt8]) -> Bool {
        guard bytes.count >= text.count else { return false }
        return (0...(bytes.count - text.count)).contains { start in
            var position = 0
            while position < text.count, lower(bytes[start + position]) == text[position] { position += 1 }
            return position == text.count
        }
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
