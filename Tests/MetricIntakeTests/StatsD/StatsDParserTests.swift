import TestKit
import Testing

@testable import MetricIntake

@Suite struct StatsDParserTests {
    private static func parse(_ packet: [UInt8]) -> (updates: [StatsDUpdate], objections: [String]) {
        var updates: [StatsDUpdate] = []
        var objections: [String] = []
        StatsDParser.parse(packet) { result in
            switch result {
            case .success(let update): updates.append(update)
            case .failure(let objection): objections.append(objection.text)
            }
        }
        return (updates, objections)
    }

    private static func update(_ name: String, _ change: StatsDUpdate.Change) -> StatsDUpdate {
        update(name, [:], change)
    }

    private static func update(
        _ name: String, _ attributes: [String: String], _ change: StatsDUpdate.Change
    ) -> StatsDUpdate { StatsDUpdate(key: SeriesKey(name, attributes), change: change) }

    @Test(arguments: [
        ("a:1|c", [update("a", .count(1))]),
        ("a:-2.5|c", [update("a", .count(-2.5))]),
        ("a:3|c|@0.1", [update("a", .count(30))]),
        ("a:7|g", [update("a", .gauge(7))]),
        ("a:+7|g", [update("a", .gaugeChange(7))]),
        ("a:-7|g", [update("a", .gaugeChange(-7))]),
        ("a:12|ms|@0.5", [update("a", .timing(12, weight: 2, unit: "ms"))]),
        ("a:12|h", [update("a", .timing(12, weight: 1, unit: ""))]),
        ("a:1:2|d", [update("a", .timing(1, weight: 1, unit: "")), update("a", .timing(2, weight: 1, unit: ""))]),
        ("a:u:42|s", [update("a", .member(Array("u:42".utf8)))]),
        ("a:|s", [update("a", .member([]))]),
        ("a:1|c|#k:v,flag,url:http://x", [update("a", ["k": "v", "flag": "", "url": "http://x"], .count(1))]),
        ("a:1|c|#k:v|@0.5|c:0815|T17", [update("a", ["k": "v"], .count(2))]),
        ("a:1e3|c\nb:2|g\r\n\n", [update("a", .count(1000)), update("b", .gauge(2))]),
    ])
    func `A packet gives its values in their order`(packet: String, updates: [StatsDUpdate]) {
        let parsed = Self.parse(Array(packet.utf8))
        #expect(parsed.updates == updates && parsed.objections.isEmpty)
    }

    @Test(arguments: [
        ("a", "NAME:VALUE|TYPE"), ("a|c", "NAME:VALUE|TYPE"), ("a:1", "NAME:VALUE|TYPE"), ("a:1|x", "type"),
        ("a:x|c", "number"), ("a:nan|g", "number"), ("a:inf|g", "number"), ("a:0x1|g", "number"),
        ("a:1e999|g", "number"), ("a:|c", "number"), ("a:1::2|c", "number"), ("a:1|c|@0", "rate"),
        ("a:1|c|@1.5", "rate"), ("a:1|c|@-1", "rate"), ("a:1|c|@x", "rate"), ("a:1e308|c|@0.1", "too large"),
        (":1|c", "name"), ("a b:1|c", "name"), ("ws1.x:1|c", "agent's own"), ("a:1|c|#:v", "1 to 64"),
        ("_e{5,4}:title|text", "number"), ("_sc|check|0", "NAME:VALUE|TYPE"),
    ])
    func `A line that is wrong is one objection, and its neighbours count`(line: String, words: String) {
        let parsed = Self.parse(Array("first:1|c\n\(line)\nlast:1|c".utf8))
        #expect(parsed.updates.map(\.key.name) == ["first", "last"])
        #expect(parsed.objections.count == 1 && parsed.objections[0].contains(words), "\(parsed.objections)")
    }

    @Test func `A line with a value that is wrong gives none of its values`() {
        #expect(Self.parse(Array("a:1:2:x|c".utf8)).updates.isEmpty)
    }

    @Test func `Tags, members and values have limits`() {
        let tags = (0..<18).map { "k\($0):v" }.joined(separator: ",")
        #expect(Self.parse(Array("a:1|c|#\(tags)".utf8)).objections == ["there may be at most 16 attributes"])
        let member = String(repeating: "m", count: 1_025)
        #expect(Self.parse(Array("a:\(member)|s".utf8)).objections.count == 1)
        let values = Array(repeating: "1", count: 1_001).joined(separator: ":")
        #expect(Self.parse(Array("a:\(values)|c".utf8)).objections == ["it has more than 1000 values"])
    }

    @Test func `Damaged packets never break the parser, and what is taken in is within the bounds`() {
        let seed: UInt64 = 19
        var random = SplitMix64(seed: seed)
        let packet = Array("page.views:1:2|c|@0.1|#site:shop,beta\nqueue:-7|g\nt:12.5|ms\nuser:42|s\n".utf8)
        var counts = (taken: 0, refused: 0)
        for round in 0..<5_000 {
            var damaged = packet
            for _ in 0...Int.random(in: 0..<5, using: &random) {
                let place = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: damaged[place] = UInt8.random(in: 0...255, using: &random)
                case 1: damaged.insert(packet[Int.random(in: 0..<packet.count, using: &random)], at: place)
                case 2: damaged.removeSubrange(place..<min(damaged.count - 1, place + 4))
                default: damaged = Array(damaged.prefix(max(1, place)))
                }
                if damaged.isEmpty { damaged = [0] }
            }
            let parsed = Self.parse(damaged)
            counts.taken += parsed.updates.count
            counts.refused += parsed.objections.count
            for update in parsed.updates {
                #expect(
                    MetricBounds.objection(name: update.key.name, attributes: update.key.attributes) == nil,
                    "seed \(seed), round \(round)")
                switch update.change {
                case .count(let value), .gauge(let value), .gaugeChange(let value), .timing(let value, _, _):
                    #expect(value.isFinite, "seed \(seed), round \(round)")
                case .member: break
                }
            }
        }
        #expect(counts.taken > 1_000 && counts.refused > 1_000)
    }
}
