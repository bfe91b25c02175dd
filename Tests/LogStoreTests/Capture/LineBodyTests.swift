import Foundation
import Testing
import WireModel

@testable import LogStore

@Suite struct LineBodyTests {
    private func body(_ message: String, category: String = "c", fields: [(String, String)] = []) -> String {
        let line = LineFields(
            category: category, message: message, fields: fields.map { LineFields.Field(key: $0.0, value: $0.1) })
        return String(decoding: line.body, as: UTF8.self)
    }

    @Test(arguments: [
        ("", "c "), ("a\nb", "c a\\nb"), ("\r\t\\", "c \\r\\t\\\\"),
        ("\u{1B}[31m\u{0}\u{7F}", "c \\u{1B}[31m\\u{0}\\u{7F}"),
        ("a=b c", "c a=b c"), ("ü€😀\u{85}", "c ü€😀\u{85}"), ("12345678\n12345678", "c 12345678\\n12345678"),
        (
            String(decoding: [0x61, 0xFF, 0xC3, 0x62, 0xED, 0xA0, 0x80] as [UInt8], as: UTF8.self),
            "c a\u{FFFD}\u{FFFD}b\u{FFFD}\u{FFFD}\u{FFFD}"
        ),
    ])
    func `Messages are escaped`(_ message: String, _ expected: String) {
        #expect(body(message) == expected)
    }

    @Test(arguments: [
        ("", "- m"), ("app.net", "app.net m"), ("a b\nc", "a_b_c m"),
        (String(repeating: "x", count: 200), String(repeating: "x", count: 128) + " m"),
        (String(repeating: "x", count: 127) + "ü", String(repeating: "x", count: 127) + " m"),
    ])
    func `Categories have no space and a bound`(_ category: String, _ expected: String) {
        #expect(body("m", category: category) == expected)
    }

    @Test func `Fields split at space and equal sign`() {
        #expect(
            body("m", fields: [("n\n", "\t\\"), ("a b", "c=d"), ("", "")])
                == "c m\t= a\\u{20}b=c\\u{3D}d n\\n=\\t\\\\")
    }

    @Test(arguments: 0..<32)
    func `Every control byte is escaped at every place`(_ byte: UInt8) {
        for place in 0..<20 {
            var text = [UInt8](repeating: UInt8(ascii: "x"), count: 20)
            text[place] = byte
            let escaped = body(String(decoding: text, as: UTF8.self))
            #expect(escaped.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F })
            #expect(escaped.contains("\\"))
        }
    }

    @Test func `A line that just fits is whole`() {
        let message = String(repeating: "m", count: LineBody.maximumBytes - 2)
        #expect(body(message) == "c " + message)
        let cut = body(message + "m")
        #expect(cut.hasSuffix("…[+\(LineBody.maximumBytes + 1 - (cut.utf8.count - "…[+26]".utf8.count))]"))
        #expect(cut.utf8.count <= LineBody.maximumBytes)
    }

    @Test(arguments: ["m", "ü", "€", "😀", "\n", "\u{1B}", "m😀\u{1}"], 0..<8)
    func `A long line is cut between characters and says how much is missing`(_ unit: String, _ offset: Int) throws {
        let text = String(repeating: "x", count: offset) + String(repeating: unit, count: 70_000)
        let whole = LineFields(category: "c", message: text, fields: [.init(key: "k", value: unit)]).wholeBody
        let cut = body(text, fields: [("k", unit)])
        #expect(cut.utf8.count <= LineBody.maximumBytes && cut.utf8.count > LineBody.maximumBytes - 40)
        let mark = try #require(cut.range(of: "…[+", options: .backwards))
        let kept = String(cut[..<mark.lowerBound])
        #expect(whole.hasPrefix(kept))
        #expect(cut[mark.lowerBound...] == "…[+\(whole.utf8.count - kept.utf8.count)]")
        #expect(!kept.contains("\u{FFFD}"))
        // No escape is cut through.
        #expect(whole.dropFirst(kept.count).first.map { !"nu{}1B0".contains($0) } ?? true || unit == "m")
    }
}

extension LineFields {
    /// The body as it would be without a limit.
    fileprivate var wholeBody: String {
        var body = LineBody(limit: .max / 2)
        var (category, message) = (category, message)
        category.withUTF8 { body.addCategory($0) }
        message.withUTF8 { body.addMessage($0) }
        for (index, field) in fields.sorted(by: { $0.key < $1.key }).enumerated() {
            var field = field
            field.key.withUTF8 { key in field.value.withUTF8 { value in body.addField(key, value, isFirst: index == 0) }
            }
        }
        body.finish()
        return String(decoding: body.bytes, as: UTF8.self)
    }
}
