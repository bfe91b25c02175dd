import FoundationEssentials

/// A line that a program prints: a JSON object `{"name": "queue.length", "value": 7, "unit": "{job}",
/// "attributes": {"queue": "mail"}}`. Unit and attributes may be missing. A value is a number, a text or a boolean.
enum MetricLine {
    /// A line of more bytes is invalid as a whole.
    static let maximumBytes = 64 * 1024
    private static let notAnObject =
        "it is not a JSON object with name (text), value (number, text or boolean), unit (text) and attributes (an "
        + "object of texts)"

    private struct Line: Decodable {
        var name: String
        var value: Value
        var unit: String?
        var attributes: [String: String]?
    }

    private struct Value: Decodable {
        var value: MetricValue

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if let flag = try? container.decode(Bool.self) {
                value = .flag(flag)
            } else if let number = try? container.decode(Int64.self) {
                value = .integer(number)
            } else if let number = try? container.decode(Double.self) {
                value = .number(number)
            } else {
                value = .text(try container.decode(String.self))
            }
        }
    }

    /// - Throws: ``LineObjection``, without the line's content.
    static func parse(_ line: some Collection<UInt8>) throws(LineObjection) -> MetricPoint {
        guard line.count <= maximumBytes else { throw LineObjection("it has more than \(maximumBytes) bytes") }
        // A program that floods with other text shall not cost a decoder for each line.
        guard line.first(where: { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }) == UInt8(ascii: "{") else {
            throw LineObjection(notAnObject)
        }
        let read: Line
        do { read = try JSONDecoder().decode(Line.self, from: Data(line)) } catch {
            throw LineObjection(notAnObject)
        }
        let point = MetricPoint(read.name, unit: read.unit ?? "", attributes: read.attributes ?? [:], read.value.value)
        if let objection = MetricBounds.objection(to: point) { throw LineObjection(objection) }
        return point
    }
}

/// Why a line or a value cannot be taken in.
struct LineObjection: Error, Equatable {
    let text: String

    init(_ text: String) { self.text = text }
}

/// Cuts bytes into lines. What is longer than the limit is one line too long, whatever it has.
struct LineSplitter {
    private let maximumBytes: Int
    private var rest: [UInt8] = []

    init(maximumBytes: Int) { self.maximumBytes = maximumBytes }

    /// - Parameter take: a line without its end, of at most one byte more than the limit.
    mutating func add(_ bytes: UnsafeRawBufferPointer, _ take: (ArraySlice<UInt8>) -> Void) {
        for byte in bytes {
            if byte == UInt8(ascii: "\n") {
                emit(take)
            } else if rest.count <= maximumBytes {
                rest.append(byte)
            }
        }
    }

    /// The last line, which has no end.
    mutating func finish(_ take: (ArraySlice<UInt8>) -> Void) { emit(take) }

    private mutating func emit(_ take: (ArraySlice<UInt8>) -> Void) {
        var line = rest[...]
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        // An empty line separates, and says nothing.
        if !line.isEmpty { take(line) }
        rest.removeAll(keepingCapacity: true)
    }
}
