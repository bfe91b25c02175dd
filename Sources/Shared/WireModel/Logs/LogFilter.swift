import Glibc

/// Selects lines of a log, in the same way on the device, at the collector and on the command line. A line matches if
/// it meets every given condition.
package struct LogFilter: Equatable, Codable, Sendable {
    /// Lines of this level and of more severe ones.
    package var level: LogLevel
    /// The time from which lines match, up to `until`; microseconds since 1970. `nil` sets no border.
    package var since: Int64?
    package var until: Int64?
    /// Lines of these categories. A name ending in `*` matches all categories that begin so. Empty: all.
    package var categories: [String]
    /// The line contains this text, as written on disk, from its category on. ASCII letters match in either case.
    /// Empty: all.
    package var text: String

    package init(
        level: LogLevel = .verbose, since: Int64? = nil, until: Int64? = nil, categories: [String] = [],
        text: String = ""
    ) {
        self.level = level
        self.since = since
        self.until = until
        self.categories = categories
        self.text = text
    }

    /// The filter matches every line.
    package var isEverything: Bool { self == LogFilter() }

    /// Whether lines with this summary may include a match.
    /// - Parameters:
    ///   - times: of the earliest and the latest line.
    ///   - levelCounts: lines by level, most severe first.
    package func mayMatch(times: ClosedRange<Int64>, levelCounts: [UInt64]) -> Bool {
        guard since.map({ times.upperBound >= $0 }) ?? true, until.map({ times.lowerBound < $0 }) ?? true else {
            return false
        }
        return levelCounts.prefix(level.rawValue).contains { $0 > 0 }
    }

    /// Whether every line with this summary matches.
    package func matchesAll(times: ClosedRange<Int64>, levelCounts: [UInt64]) -> Bool {
        categories.isEmpty && text.isEmpty && (since.map { times.lowerBound >= $0 } ?? true)
            && (until.map { times.upperBound < $0 } ?? true)
            && levelCounts.dropFirst(level.rawValue).allSatisfy { $0 == 0 }
    }
}

/// A filter prepared for testing many lines.
package struct LogLineMatcher: Sendable {
    private let level: LogLevel
    private let times: Range<Int64>
    private let categories: [(name: [UInt8], isPrefix: Bool)]
    /// The text in lower case.
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
    ///   - line: the fields' positions in `bytes`.
    ///   - bytes: with or without newline.
    package func matches(_ line: LogLine, in bytes: UnsafeRawBufferPointer) -> Bool {
        guard line.level <= level, times.contains(line.time) else { return false }
        guard categories.isEmpty || categories.contains(where: { Self.agrees($0, bytes[line.category]) }) else {
            return false
        }
        return text.isEmpty
            || Self.contains(
                UnsafeRawBufferPointer(rebasing: bytes[line.category.lowerBound..<line.metadata.upperBound]), text)
    }

    private static func agrees(_ category: (name: [UInt8], isPrefix: Bool), _ bytes: Slice<UnsafeRawBufferPointer>)
        -> Bool
    {
        category.isPrefix ? bytes.starts(with: category.name) : bytes.elementsEqual(category.name)
    }

    /// Looks for the first byte in both cases with the system's fast search, and compares the rest only there.
    private static func contains(_ bytes: UnsafeRawBufferPointer, _ text: [UInt8]) -> Bool {
        guard let first = text.first, bytes.count >= text.count else { return text.isEmpty }
        let starts = UnsafeRawBufferPointer(rebasing: bytes[...(bytes.count - text.count)])
        var (lower, upper) = (
            position(of: first, in: starts, from: 0), position(of: Self.upper(first), in: starts, from: 0)
        )
        while let start = lower.map({ min($0, upper ?? $0) }) ?? upper {
            var position = 1
            while position < text.count, Self.lower(bytes[start + position]) == text[position] { position += 1 }
            if position == text.count { return true }
            if lower == start { lower = Self.position(of: first, in: starts, from: start + 1) }
            if upper == start { upper = Self.position(of: Self.upper(first), in: starts, from: start + 1) }
        }
        return false
    }

    private static func position(of byte: UInt8, in bytes: UnsafeRawBufferPointer, from start: Int) -> Int? {
        guard let base = bytes.baseAddress, start < bytes.count else { return nil }
        return memchr(base + start, Int32(byte), bytes.count - start).map { base.distance(to: UnsafeRawPointer($0)) }
    }

    private static func upper(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) ? byte & ~0x20 : byte
    }

    private static func lower(_ byte: UInt8) -> UInt8 {
        (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
    }
}
