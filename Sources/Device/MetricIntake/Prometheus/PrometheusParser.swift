/// One line of Prometheus text that has a finite value.
struct PrometheusSample: Equatable, Sendable {
    var name: String
    var attributes: [String: String]
    var value: Double
    var unit: String
}

/// Reads the Prometheus text format 0.0.4, and what OpenMetrics adds to its lines. Pure.
///
///     # TYPE http_request_seconds histogram
///     http_request_seconds_bucket{path="/",le="0.5"} 129 1395066363000
///     http_request_seconds_sum 53.4 # {trace_id="1"} 0.2
///
/// Each line is a sample of its own, whatever type its family has. So the buckets of a histogram are samples with the
/// attribute `le`, the quantiles of a summary those with `quantile`, and counters are totals, as they were scraped: a
/// restart of the program shows, and no sample depends on another one. A sample has the time at which it was scraped;
/// times in lines and exemplars are left out.
///
/// NaN and the infinities are no values of a sample, so such lines are left out. Programs print them where nothing was
/// observed, so they are not invalid.
struct PrometheusParser {
    /// Units by the suffix that Prometheus recommends.
    private static let units = [
        "seconds": "s", "bytes": "By", "ratio": "1", "celsius": "Cel", "volts": "V", "amperes": "A", "joules": "J",
        "grams": "g", "meters": "m",
    ]
    private static let counts = ["count", "bucket"]
    private static let totals = ["total", "sum"]

    /// - Parameter take: the samples in their order, or why a line cannot be taken in.
    static func parse(_ text: [UInt8], _ take: (Result<PrometheusSample, LineObjection>) -> Void) {
        // One line at a time: a list of all would take more memory than the text.
        var rest = text[...]
        while !rest.isEmpty {
            let line = rest.prefix { $0 != UInt8(ascii: "\n") }
            rest = rest[line.endIndex...].dropFirst()
            var scanner = PrometheusLine(line)
            do throws(LineObjection) {
                if let sample = try scanner.sample() { take(.success(sample)) }
            } catch {
                take(.failure(error))
            }
        }
    }

    /// The unit of a series by its name; empty if that has none.
    static func unit(of name: String) -> String {
        var words = name.split(separator: "_").map(String.init)
        guard let last = words.last, !counts.contains(last) else { return "" }
        if totals.contains(last) { words.removeLast() }
        return words.last.flatMap { units[$0] } ?? ""
    }
}

/// A line, read from its beginning.
private struct PrometheusLine {
    private var rest: ArraySlice<UInt8>

    init(_ line: ArraySlice<UInt8>) { rest = line.last == UInt8(ascii: "\r") ? line.dropLast() : line }

    /// - Returns: `nil` for a line without a finite value.
    mutating func sample() throws(LineObjection) -> PrometheusSample? {
        skipBlanks()
        // Comments, types, helps and the end of OpenMetrics.
        guard let first = rest.first, first != UInt8(ascii: "#") else { return nil }
        let name = word { byte, isFirst in
            Self.isLetter(byte) || byte == UInt8(ascii: ":") || !isFirst && Self.isDigit(byte)
        }
        guard !name.isEmpty else { throw LineObjection("it does not begin with a name") }
        skipBlanks()
        let attributes = take(UInt8(ascii: "{")) ? try labels() : [:]
        if let objection = MetricBounds.objection(name: name, attributes: attributes) {
            throw LineObjection(objection)
        }
        guard let value = try value() else { return nil }
        skipBlanks()
        if let byte = rest.first, byte != UInt8(ascii: "#") {
            guard DecimalNumber.parse(token()) != nil else { throw LineObjection("its time is not a number") }
        }
        skipBlanks()
        guard rest.isEmpty || rest.first == UInt8(ascii: "#") else { throw LineObjection("it goes on after its time") }
        return PrometheusSample(
            name: name, attributes: attributes, value: value, unit: PrometheusParser.unit(of: name))
    }

    private mutating func value() throws(LineObjection) -> Double? {
        skipBlanks()
        let text = token()
        if let number = DecimalNumber.parse(text) { return number }
        var word = String(decoding: text.prefix(DecimalNumber.maximumBytes), as: UTF8.self).lowercased()
        if word.hasPrefix("+") || word.hasPrefix("-") { word.removeFirst() }
        guard ["nan", "inf", "infinity"].contains(word) else { throw LineObjection("its value is not a number") }
        return nil
    }

    /// After the opening brace.
    private mutating func labels() throws(LineObjection) -> [String: String] {
        var labels: [String: String] = [:]
        while true {
            skipBlanks()
            if take(UInt8(ascii: "}")) { return labels }
            let name = word { byte, isFirst in Self.isLetter(byte) || !isFirst && Self.isDigit(byte) }
            skipBlanks()
            guard !name.isEmpty, take(UInt8(ascii: "=")) else { throw LineObjection("a label is not NAME=\"VALUE\"") }
            skipBlanks()
            let value = try quoted()
            guard labels.updateValue(value, forKey: name) == nil else { throw LineObjection("a label is there twice") }
            guard labels.count <= MetricBounds.attributes else {
                throw LineObjection("there may be at most \(MetricBounds.attributes) attributes")
            }
            skipBlanks()
            guard take(UInt8(ascii: ",")) || rest.first == UInt8(ascii: "}") else {
                throw LineObjection("its labels do not end")
            }
        }
    }

    /// A text in quotation marks, with `\\`, `\"` and `\n`.
    private mutating func quoted() throws(LineObjection) -> String {
        guard take(UInt8(ascii: "\"")) else { throw LineObjection("a label is not NAME=\"VALUE\"") }
        var text: [UInt8] = []
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "\""): return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"):
                switch rest.popFirst() {
                case UInt8(ascii: "n"): text.append(UInt8(ascii: "\n"))
                case UInt8(ascii: "\\"): text.append(UInt8(ascii: "\\"))
                case UInt8(ascii: "\""): text.append(UInt8(ascii: "\""))
                default: throw LineObjection("a label has another escape than \\\\, \\\" and \\n")
                }
            default: text.append(byte)
            }
        }
        throw LineObjection("a label's value does not end")
    }

    /// What is before the next blank.
    private mutating func token() -> ArraySlice<UInt8> {
        let text = rest.prefix { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
        rest = rest[text.endIndex...]
        return text
    }

    private mutating func word(_ belongs: (UInt8, Bool) -> Bool) -> String {
        var end = rest.startIndex
        while end < rest.endIndex, belongs(rest[end], end == rest.startIndex) { end += 1 }
        defer { rest = rest[end...] }
        return String(decoding: rest[..<end], as: UTF8.self)
    }

    private mutating func take(_ byte: UInt8) -> Bool {
        guard rest.first == byte else { return false }
        rest.removeFirst()
        return true
    }

    private mutating func skipBlanks() {
        rest = rest.drop { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (0x61...0x7A).contains(byte) || (0x41...0x5A).contains(byte) || byte == UInt8(ascii: "_")
    }

    private static func isDigit(_ byte: UInt8) -> Bool { (0x30...0x39).contains(byte) }
}
