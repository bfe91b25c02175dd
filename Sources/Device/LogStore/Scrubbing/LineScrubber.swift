import WireModel

/// Applies compiled scrub rules to lines.
///
/// It finds all values and patterns in the original text before it replaces anything. Each stretch that they cover
/// together becomes one `[scrubbed]`. So no part of a longer value survives because a shorter one inside it was
/// replaced first. In metadata a pattern may match the key, the value or `key=value`.
final class LineScrubber: Sendable {
    /// The most bytes of a text that are searched. Of a longer text only the first half of these is kept. A secret that
    /// begins in the kept half is therefore found, unless it is longer than the other half.
    static let windowBytes = 256 << 10
    static let replacement = "[scrubbed]"

    private let values: ScrubValues
    private let programs: [ScrubProgram]

    /// `nil` if there are no rules.
    /// - Throws: `.invalid`
    init?(_ scrubbing: LogScrubbing) throws(LogStoreError) {
        if scrubbing.values.isEmpty, scrubbing.patterns.isEmpty { return nil }
        try Self.check(scrubbing.values, "value")
        try Self.check(scrubbing.patterns, "pattern")
        values = ScrubValues(scrubbing.values)
        var programs: [ScrubProgram] = []
        for (place, pattern) in scrubbing.patterns.enumerated() {
            do { programs.append(ScrubProgram(try ScrubPatternSyntax.parse(pattern))) } catch {
                throw LogStoreError(
                    .invalid, "scrub pattern \(place + 1): \(error.message) at character \(error.position + 1)")
            }
        }
        self.programs = programs
    }

    /// Values are secrets, so no message shows them.
    private static func check(_ texts: [String], _ what: String) throws(LogStoreError) {
        guard texts.count <= ProfileLimits.scrubs else {
            throw LogStoreError(
                .invalid, "there are \(texts.count) scrub \(what)s; at most \(ProfileLimits.scrubs) are taken")
        }
        for (place, text) in texts.enumerated() where !(1...ProfileLimits.scrubBytes).contains(text.utf8.count) {
            throw LogStoreError(
                .invalid,
                "scrub \(what) \(place + 1) has \(text.utf8.count) bytes; it must have 1 to \(ProfileLimits.scrubBytes)"
            )
        }
    }

    func scrub(_ line: inout LineFields) {
        scrub(&line.category)
        line.leftOutBytes += scrub(&line.message)
        for place in line.fields.indices { line.leftOutBytes += scrub(&line.fields[place]) }
    }

    /// - Returns: bytes that were cut off because the text is longer than the searched part.
    @discardableResult
    func scrub(_ text: inout String) -> Int {
        let leftOut = cut(&text)
        replace(covered(in: text), in: &text, keeping: leftOut > 0 ? Self.windowBytes / 2 : .max)
        return leftOut
    }

    private func scrub(_ field: inout LineFields.Field) -> Int {
        let (keyLeftOut, valueLeftOut) = (cut(&field.key), cut(&field.value))
        let keyBytes = field.key.utf8.count
        let whole = covered(in: "\(field.key)=\(field.value)")
        var inKey = covered(in: field.key)
        for range in whole.clipped(to: 0..<keyBytes).ranges { inKey.add(range) }
        var inValue = covered(in: field.value)
        for range in whole.clipped(to: (keyBytes + 1)..<(keyBytes + 1 + field.value.utf8.count)).ranges {
            inValue.add(range)
        }
        replace(inKey, in: &field.key, keeping: keyLeftOut > 0 ? Self.windowBytes / 2 : .max)
        replace(inValue, in: &field.value, keeping: valueLeftOut > 0 ? Self.windowBytes / 2 : .max)
        return keyLeftOut + valueLeftOut
    }

    /// Cuts a text to the part that is searched.
    private func cut(_ text: inout String) -> Int {
        let count = text.utf8.count
        guard count > Self.windowBytes else { return 0 }
        text = String(text.unicodeScalars[..<Self.scalarBorder(text, at: Self.windowBytes)])
        return count - Self.windowBytes / 2
    }

    private static func scalarBorder(_ text: String, at bytes: Int) -> String.Index {
        var index = text.utf8.index(text.startIndex, offsetBy: bytes)
        while index < text.endIndex, UTF8.isContinuation(text.utf8[index]) { index = text.utf8.index(before: index) }
        return index
    }

    private func covered(in text: String) -> CoveredRanges {
        var text = text
        return text.withUTF8 { text in
            var covered = CoveredRanges()
            if !values.isEmpty { values.search(text) { covered.add($0) } }
            var machine = ScrubMachine(effort: ScrubMachine.effort(forBytes: text.count))
            for program in programs { machine.search(program, in: text) { covered.add($0) } }
            covered.settle()
            return covered
        }
    }

    private func replace(_ covered: CoveredRanges, in text: inout String, keeping limit: Int) {
        var covered = covered
        covered.settle()
        guard !covered.isEmpty || limit < .max else { return }
        let mark = Array(Self.replacement.utf8)
        var result: [UInt8] = []
        text.withUTF8 { text in
            var end = min(text.count, limit)
            while end < text.count, end > 0, UTF8.isContinuation(text[end]) { end -= 1 }
            result.reserveCapacity(min(end, text.count) + mark.count * covered.ranges.count)
            var position = 0
            for range in covered.ranges where range.lowerBound < end {
                result.append(contentsOf: text[position..<range.lowerBound])
                result.append(contentsOf: mark)
                position = range.upperBound
            }
            if position < end { result.append(contentsOf: text[position..<end]) }
        }
        text = String(decoding: result, as: UTF8.self)
    }
}

/// The text that is replaced in lines before they are stored anywhere.
public struct LogScrubbing: Equatable, Sendable {
    /// Literal texts. Each has 1 to 1,024 bytes; at most 256 texts.
    public var values: [String]
    /// Patterns in the syntax of a profile's `logging.scrubPatterns`. Each has 1 to 1,024 bytes; at most 256 patterns.
    public var patterns: [String]

    /// Scrubs nothing by default.
    public init(values: [String] = [], patterns: [String] = []) {
        self.values = values
        self.patterns = patterns
    }

    /// - Throws: `.invalid` with the rule that cannot be applied; never with its text if it is a value.
    package func validate() throws(LogStoreError) { _ = try LineScrubber(self) }

    /// These rules, and those of the others that are not among them.
    package func adding(_ others: LogScrubbing) -> LogScrubbing {
        LogScrubbing(
            values: values + others.values.filter { !values.contains($0) },
            patterns: patterns + others.patterns.filter { !patterns.contains($0) })
    }
}
