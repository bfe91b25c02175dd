import Testing

@testable import LogStore

/// The short way gives the same bytes as the long one, or none.
@Suite struct ShortLineTests {
    private func short(_ category: String, _ message: String, _ fields: [String: String]) -> [UInt8]? {
        var taken: [[UInt8]] = []
        let isTaken = ShortLine.build(category: category, message: message, fields: fields) { taken.append(Array($0)) }
        #expect(taken.count == (isTaken ? 1 : 0))
        return taken.first
    }

    private func long(_ category: String, _ message: String, _ fields: [String: String]) -> [UInt8] {
        LineFields(
            category: category, message: message, fields: fields.map { LineFields.Field(key: $0.key, value: $0.value) }
        ).body
    }

    @Test func `It accepts what needs no escape`() throws {
        let body = try #require(
            short("app.network", "request done", ["host": "collector.example", "attempt": "2", "": "", "größe": "€"]))
        #expect(
            String(decoding: body, as: UTF8.self)
                == "app.network request done\t= attempt=2 größe=€ host=collector.example")
        #expect(
            body
                == long(
                    "app.network", "request done", ["host": "collector.example", "attempt": "2", "": "", "größe": "€"]))
    }

    @Test(arguments: [
        ("two words", "m", ["k": "v"]), ("c", "line\nbreak", ["k": "v"]), ("c", "m", ["k k": "v"]),
        ("c", "m", ["k": "a b"]),
        ("c", "m", ["k": "a=b"]), ("c", "back\\slash", ["k": "v"]),
        (String(repeating: "c", count: 129), "m", ["k": "v"]),
        ("c", String(repeating: "m", count: 1021), ["k": "v"]),
        ("c", "m", Dictionary(uniqueKeysWithValues: (0..<17).map { ("k\($0)", "v") })),
    ])
    func `Leaves the rest`(category: String, message: String, fields: [String: String]) {
        #expect(short(category, message, fields) == nil)
    }

    @Test func `It gives the same bytes as the long way, or nothing`() {
        var random = SystemRandomNumberGenerator()
        let letters = ["a", "b", "\u{61}\u{308}", "ä", "z", "0", "é", "€", "😀", ".", " ", "=", "\\", "\n", "\u{7F}"]
        func text(_ most: Int, _ kinds: Int) -> String {
            (0..<Int.random(in: 0...most, using: &random)).map { _ in letters[Int.random(in: 0..<kinds, using: &random)]
            }.joined()
        }
        var taken = 0
        for _ in 0..<5000 {
            let kinds = Bool.random(using: &random) ? 10 : letters.count
            let (category, message) = ("c" + text(8, kinds), text(40, kinds))
            let fields = Dictionary(
                (0..<Int.random(in: 0...6, using: &random)).map { _ in (text(4, kinds), text(12, kinds)) },
                uniquingKeysWith: { $1 })
            guard let body = short(category, message, fields) else { continue }
            taken += 1
            #expect(body == long(category, message, fields), "\(category) \(message) \(fields)")
        }
        #expect(taken > 1000)
    }
}
