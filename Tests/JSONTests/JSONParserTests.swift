import Foundation
import Testing
import WireModel

@testable import JSON

/// A value as Foundation reads it, to compare with.
private struct FoundationValue: Decodable {
    let value: JSONValue

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            value = .null
        } else if let flag = try? container.decode(Bool.self) {
            value = .boolean(flag)
        } else if let number = try? container.decode(Int64.self) {
            value = .integer(number)
        } else if let number = try? container.decode(UInt64.self) {
            value = .unsigned(number)
        } else if let number = try? container.decode(Double.self) {
            value = .real(number)
        } else if let text = try? container.decode(String.self) {
            value = .text(text)
        } else if let values = try? container.decode([FoundationValue].self) {
            value = .array(values.map(\.value))
        } else {
            value = .object(try container.decode([String: FoundationValue].self).mapValues(\.value))
        }
    }
}

extension JSONValue {
    init(parsing bytes: Data) throws(JSONParser.Fault) { try self.init(parsing: bytes, limits: .request) }
}

@Suite struct JSONParserTests {
    private static let documents = [
        "null", " true ", "false", "0", "-7", "9223372036854775807", "18446744073709551615", "1.5", "-2.5e-3", #""""#,
        #""a""#,
        #""\"\\\/\b\f\n\r\t""#, #""\u00e9\u0041\ud83d\ude00x""#, #""grüße 😀 \u0000""#, "[]", "[1, [2, []], {}]", "{}",
        #"{"a": 1, "b": {"c": ["d", null, true]}, "": 0.25}"#, "\t{ \"a\" :\n[ 1 ,2 ] }\r\n",
    ]

    @Test(arguments: documents) func `It reads what JSONDecoder reads`(document: String) throws {
        let bytes = Data(document.utf8)
        #expect(try JSONValue(parsing: bytes) == JSONDecoder().decode(FoundationValue.self, from: bytes).value)
    }

    @Test func `JSON that is cut anywhere is a fault and nothing else`() {
        for document in Self.documents.filter({ $0.hasPrefix("[") || $0.hasPrefix("{") || $0.hasPrefix("\"") }) {
            let bytes = Data(document.utf8)
            for length in 0..<bytes.count {
                #expect(throws: JSONParser.Fault.self, "\(document) cut to \(length)") {
                    try JSONValue(parsing: bytes.prefix(length))
                }
            }
        }
    }

    @Test(arguments: [#"{"a": 1, "a": 1}"#, #"{"b": [{"a": 1, "\u0061": 2}]}"#])
    func `A name that is there twice is named`(document: String) throws {
        let fault = #expect(throws: JSONParser.Fault.self) { try JSONValue(parsing: Data(document.utf8)) }
        #expect(fault?.repeatedName == "a")
    }

    @Test(arguments: [
        "", " ", "nul", "tru", "[1,]", "[1 2]", #"{"a"}"#, #"{"a":}"#, #"{"a": 1,}"#, "{1: 2}", #""\x""#, #""\u12""#,
        #""\ud800""#,
        #""\ud800\u0041""#, #""\udc00""#, "1 2", "-", "1.2.3", "]", String(repeating: "[", count: 100_000),
        "+1", "01", "-01", "1.", ".5", "1e", "1e+", "--1", "0x10", "1e999", "NaN", "Infinity", "\"a\u{1}\"", "\"a\nb\"",
        #""\u+123""#,
        "tru e",
        "\u{FEFF}{}", "'a'", "{a: 1}", "[1] // one", "/* */ 1",
    ]) func `What is not JSON is a fault`(document: String) {
        #expect(throws: JSONParser.Fault.self) { try JSONValue(parsing: Data(document.utf8)) }
    }

    @Test func `What is not UTF-8 is reported with its place`() throws {
        for bytes: [UInt8] in [[0xC0, 0x80], [0xED, 0xA0, 0x80], [0xFF], [0xE2, 0x82]] {
            let fault = #expect(throws: JSONParser.Fault.self) {
                try JSONValue(parsing: Data([0x5B, 0x22] + bytes + [0x22, 0x5D]))
            }
            #expect(fault == JSONParser.Fault(reason: .notUTF8, place: 2))
        }
    }

    @Test func `Every limit holds to the last one allowed`() throws {
        func nested(_ depth: Int) -> Data {
            Data((String(repeating: "[", count: depth) + String(repeating: "]", count: depth)).utf8)
        }
        func reason(_ text: String) -> JSONParser.Fault.Reason? {
            do throws(JSONParser.Fault) { _ = try JSONValue(parsing: Data(text.utf8)) } catch { return error.reason }
            return nil
        }
        let limits = JSONParser.Limits.request
        #expect(try JSONValue(parsing: nested(limits.depth)) != .null)
        let fault = #expect(throws: JSONParser.Fault.self) { try JSONValue(parsing: nested(limits.depth + 1)) }
        #expect(fault == JSONParser.Fault(reason: .tooDeep(limit: 16), place: 16))
        // Side by side is not inside each other.
        #expect(reason("[" + Array(repeating: "[[]]", count: 100).joined(separator: ",") + "]") == nil)
        let name = String(repeating: "n", count: limits.nameBytes)
        #expect(reason(#"{"\#(name)": 1}"#) == nil && reason(#"{"\#(name)n": 1}"#) == .nameTooLong(limit: 256))
        // The list itself is a value too.
        let values = Array(repeating: "1", count: limits.values - 1).joined(separator: ",")
        #expect(reason("[\(values)]") == nil && reason("[\(values),1]") == .tooManyValues(limit: 16_384))
        #expect(reason(String(repeating: "1", count: 128)) == nil)
        #expect(reason(String(repeating: "1", count: 129)) == .numberTooLong(limit: 128))
        let marks = String(repeating: "\u{301}\u{316}", count: 15)
        #expect(reason("\"a\(marks)b\(marks)\"") == nil)
        #expect(reason("\"a\(marks)\u{301}\"") == .tooManyCombiningCharacters(limit: 30))
        #expect(
            reason("\"" + String(repeating: #"\u0301"#, count: 31) + "\"") == .tooManyCombiningCharacters(limit: 30))
    }

    /// What each byte of a hostile body costs, against a body of the same size that a person could have sent.
    @Test func `No body costs more than three times as much as an ordinary one`() throws {
        let size = 256 * 1024
        func repeated(_ unit: String, separator: String = "") -> String {
            Array(repeating: unit, count: size / (unit.utf8.count + separator.utf8.count)).joined(separator: separator)
        }
        func deep(_ open: String, _ close: String, _ depth: Int) -> String {
            String(repeating: open, count: depth) + "1" + String(repeating: close, count: depth)
        }
        func steps(_ text: String) -> Double {
            let bytes = Array(text.utf8)
            return bytes.withUnsafeBytes { buffer in
                var parser = JSONParser(buffer, limits: .request)
                _ = try? parser.document()
                return Double(parser.steps) / Double(bytes.count)
            }
        }
        let ordinary = steps(#"{"customPayload": "\#(String(repeating: "a", count: size))"}"#)
        let hostile = [
            deep("[", "]", 495), deep(#"{"a":"#, "}", 495), "[" + repeated(deep("[", "]", 15), separator: ",") + "]",
            "[" + repeated(deep(#"{"a":"#, "}", 15), separator: ",") + "]",
            "[" + repeated(deep("[", "]", 100), separator: ",") + "]",
            String(repeating: "[", count: size), String(repeating: #"{"":"#, count: size / 5),
            String(repeating: "9", count: size),
            "-1." + String(repeating: "0", count: size) + "e9", "[" + repeated("1e308", separator: ",") + "]",
            "\"" + repeated(#"\n"#) + "\"", "\"" + repeated(#"\u0301\u0316"#) + "\"",
            "\"" + repeated(#"\ud83d\ude00"#) + "\"",
            "\"" + repeated("é") + "\"", #"{"\#(repeated("\u{301}\u{316}"))": 1}"#,
            "{" + repeated(#""a":1"#, separator: ",") + "}",
            "{" + (0..<size / 10).map { "\"\(String($0, radix: 36))\":1" }.joined(separator: ",") + "}",
            "[" + repeated("1", separator: ",") + "]", "[" + repeated("{}", separator: ",") + "]",
            "[" + repeated(#"{"a":1}"#, separator: ",") + "]",
            "[" + repeated("[]", separator: " , ") + "]", repeated(" "), "[" + repeated(" \n\t") + "]",
        ]
        for body in hostile {
            let cost = steps(body)
            #expect(
                cost <= 3 * ordinary && cost > 0,
                "\(body.prefix(40)): \(cost) steps a byte, an ordinary body \(ordinary)")
        }
    }
}
