import TestKit
import Testing

@testable import MetricIntake

@Suite struct MetricLineTests {
    private static func parse(_ line: String) throws -> MetricPoint { try MetricLine.parse(Array(line.utf8)) }

    @Test(arguments: [
        (#"{"name":"a","value":7}"#, MetricPoint("a", .integer(7))),
        (#"{"name":"a.b","value":-0.5,"unit":"ms"}"#, MetricPoint("a.b", unit: "ms", .number(-0.5))),
        (#"{"name":"a","value":true,"attributes":{"k":"v"}}"#, MetricPoint("a", attributes: ["k": "v"], .flag(true))),
        (#"{"name":"a","value":"ok"}"#, MetricPoint("a", .text("ok"))),
        (#"{"name":"a","value":9223372036854775807,"more":[1]}"#, MetricPoint("a", .integer(.max))),
        (#"{"name":"a","value":1e300}"#, MetricPoint("a", .number(1e300))),
    ])
    func `A line is one measurement`(line: String, point: MetricPoint) throws {
        #expect(try Self.parse(line) == point)
    }

    @Test(arguments: [
        ("", "JSON"), ("7", "JSON"), ("[]", "JSON"), (#"{"name":"a"}"#, "JSON"), (#"{"value":1}"#, "JSON"),
        (#"{"name":"a","value":null}"#, "JSON"), (#"{"name":"a","value":1e999}"#, "JSON"),
        (#"{"name":"a","value":[1]}"#, "JSON"), (#"{"name":"a","value":1,"attributes":{"k":1}}"#, "JSON"),
        (#"{"name":"a","value":1"#, "JSON"), (#"{"name":"","value":1}"#, "name"),
        (#"{"name":"a b","value":1}"#, "name"), (#"{"name":"ws1.metrics.up","value":1}"#, "agent's own"),
        (#"{"name":"a","value":1,"unit":"m s"}"#, "unit"),
        (#"{"name":"a","value":1,"attributes":{"":"v"}}"#, "1 to 64"),
    ])
    func `What is no measurement is refused, without its content`(line: String, words: String) {
        let objection = #expect(throws: LineObjection.self) { try Self.parse(line) }
        #expect(objection?.text.contains(words) == true, "\(objection?.text ?? "")")
    }

    @Test func `Lines, attributes and texts have limits`() {
        let long = String(repeating: "x", count: 70_000)
        #expect(throws: LineObjection("it has more than 65536 bytes")) {
            try Self.parse(#"{"name":"a","value":"\#(long)"}"#)
        }
        #expect(throws: LineObjection.self) { try Self.parse(#"{"name":"a","value":"\#(long.prefix(1025))"}"#) }
        #expect(throws: LineObjection.self) { try Self.parse(#"{"name":"\#(long.prefix(129))","value":1}"#) }
        let attributes = (0..<17).map { #""k\#($0)":"v""# }.joined(separator: ",")
        #expect(throws: LineObjection.self) { try Self.parse(#"{"name":"a","value":1,"attributes":{\#(attributes)}}"#) }
    }

    @Test func `Damaged lines never break the parser, and what is taken in is within the bounds`() {
        let seed: UInt64 = 18
        var random = SplitMix64(seed: seed)
        let line = Array(#"{"name":"queue.length","value":-12.5e3,"unit":"{job}","attributes":{"q":"m\u00e4il"}}"#.utf8)
        var taken = 0
        for round in 0..<4_000 {
            var damaged = line
            for _ in 0...Int.random(in: 0..<4, using: &random) {
                let place = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: damaged[place] = UInt8.random(in: 0...255, using: &random)
                case 1: damaged.insert(line[Int.random(in: 0..<line.count, using: &random)], at: place)
                case 2: damaged.removeSubrange(place..<min(damaged.count - 1, place + 3))
                default: damaged = Array(damaged.prefix(max(1, place)))
                }
                if damaged.isEmpty { damaged = [0] }
            }
            guard let point = try? MetricLine.parse(damaged) else { continue }
            taken += 1
            #expect(MetricBounds.objection(to: point) == nil, "seed \(seed), round \(round)")
        }
        #expect(taken > 100, "some damage does no harm, so that both ways are seen")
    }

    @Test func `Bytes are cut into lines wherever they are cut off`() {
        let text = Array("one\r\n\ntwo\nthree-is-too-long\nfour".utf8)
        for piece in 1...text.count {
            var splitter = LineSplitter(maximumBytes: 5)
            var lines: [String] = []
            for start in stride(from: 0, to: text.count, by: piece) {
                text[start..<min(text.count, start + piece)].withUnsafeBytes {
                    splitter.add($0) { lines.append(String(decoding: $0, as: UTF8.self)) }
                }
            }
            splitter.finish { lines.append(String(decoding: $0, as: UTF8.self)) }
            #expect(lines == ["one", "two", "three-", "four"])
        }
    }
}
