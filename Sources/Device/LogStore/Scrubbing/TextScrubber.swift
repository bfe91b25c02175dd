import WireModel

/// Applies scrub rules to texts that are no lines of a log, such as a report. Accepts any number of values of any
/// length.
package struct TextScrubber: Sendable {
    private let scrubbers: [LineScrubber]

    /// - Throws: `.invalid` for a pattern that cannot be applied.
    package init(_ scrubbing: LogScrubbing) throws(LogStoreError) {
        // Longer values first, so that no rest of one is left where a shorter one is a part of it.
        let values = Set(scrubbing.values.flatMap(Self.pieces)).sorted { ($1.utf8.count, $0) < ($0.utf8.count, $1) }
        var scrubbers: [LineScrubber] = []
        for start in stride(from: 0, to: max(1, values.count), by: ProfileLimits.scrubs) {
            let rules = LogScrubbing(
                values: Array(values.dropFirst(start).prefix(ProfileLimits.scrubs)),
                patterns: start == 0 ? scrubbing.patterns : [])
            if let scrubber = try LineScrubber(rules) { scrubbers.append(scrubber) }
        }
        self.scrubbers = scrubbers
    }

    /// Returns the scrubbed text; beyond 256 KiB only the beginning is kept.
    package func scrubbed(_ text: String) -> String {
        var text = text
        for scrubber in scrubbers { scrubber.scrub(&text) }
        return text
    }

    /// A value in parts of about the same length that fit into one rule each. A short part would be found everywhere.
    private static func pieces(of value: String) -> [String] {
        let bytes = value.utf8.count
        let count = (bytes + Self.pieceBytes - 1) / Self.pieceBytes
        guard count > 1 else { return bytes == 0 ? [] : [value] }
        var pieces = [""]
        for scalar in value.unicodeScalars {
            if pieces[pieces.count - 1].utf8.count >= (bytes + count - 1) / count { pieces.append("") }
            pieces[pieces.count - 1].unicodeScalars.append(scalar)
        }
        return pieces
    }

    /// A part may be longer by the rest of a character.
    private static let pieceBytes = ProfileLimits.scrubBytes - 4
}
