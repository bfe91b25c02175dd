/// Which lines somebody wants: the same on the device, at the collector and on the command line. A line is wanted if all that is given agrees.
package struct LogFilter: Equatable, Codable, Sendable {
    /// This level and all that is more severe.
    package var level: LogLevel
    /// Microseconds since 1970: from this time on, to before that. `nil`: no border.
    package var since: Int64?
    package var until: Int64?
    /// One of these; a name that ends in `*` stands for all that begin so. Empty: all.
    package var categories: [String]
    /// The line holds this text, as written on disk, from its category on; letters A to Z in either case. Empty: all.
    package var text: String

    package init(
        level: LogLevel = .verbose, since: Int64? = nil, until: Int64? = nil, categories: [String] = [], text: String = ""
    ) {
        self.level = level
        self.since = since
        self.until = until
        self.categories = categories
        self.text = text
    }

    /// Nothing is left out.
    package var isEverything: Bool { self == LogFilter() }

    /// Whether a stretch of lines may hold wanted ones, by what is known of it as a whole.
    /// - Parameters:
    ///   - times: least and greatest.
    ///   - levelCounts: lines per level, most severe first.
    package func mayMatch(times: ClosedRange<Int64>, levelCounts: [UInt64]) -> Bool {
        guard since.map({ times.upperBound >= $0 }) ?? true, until.map({ times.lowerBound < $0 }) ?? true else { return false }
        return levelCounts.prefix(level.rawValue).contains { $0 > 0 }
    }

    /// Whether every line of such a stretch is wanted.
    package func matchesAll(times: ClosedRange<Int64>, levelCounts: [UInt64]) -> Bool {
        categories.isEmpty && text.isEmpty && (since.map { times.lowerBound >= $0 } ?? true)
            && (until.map { times.upperBound < $0 } ?? true)
            && levelCounts.dropFirst(level.rawValue).allSatisfy { $0 == 0 }
    }
}
