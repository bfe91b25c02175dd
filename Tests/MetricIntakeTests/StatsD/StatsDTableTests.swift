import Testing

@testable import MetricIntake

/// Row 19 of the table of cases: sample rates, sets, gauges with a sign, several lines in a packet.
@Suite struct StatsDTableTests {
    private struct Scene {
        var table: StatsDTable
        var tally = MetricTally()

        init(limit: Int = 100) { table = StatsDTable(limit: limit) }

        mutating func packet(_ text: String) {
            StatsDParser.parse(Array(text.utf8)) { result in
                switch result {
                case .success(let update): table.apply(update, &tally)
                case .failure(let objection): tally.invalid(objection.text)
                }
            }
        }

        /// The numbers of a sample, by name; with attributes `name{k=v}`.
        mutating func sample() -> [String: Double] {
            var values: [String: Double] = [:]
            for point in table.take() {
                let attributes = point.attributes.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                let name = point.name + (attributes.isEmpty ? "" : "{\(attributes.joined(separator: ","))}")
                switch point.value {
                case .number(let value): values[name] = value
                case .integer(let value): values[name] = Double(value)
                case .flag, .text: values[name] = .nan
                }
            }
            return values
        }

        mutating func counts() -> [MetricValue] {
            tally.finish(series: 0, limit: 0, failure: nil).filter {
                ["ws1.metrics.refused", "ws1.metrics.invalid"].contains($0.name)
            }.map(\.value)
        }
    }

    @Test func `Counters are sums since the last sample, with their sample rates`() {
        var scene = Scene()
        scene.packet("hits:1|c\nhits:2|c|@0.1\nhits:1|c|#site:a")
        #expect(scene.sample() == ["hits": 21, "hits{site=a}": 1])
        #expect(scene.sample().isEmpty, "a counter of which nothing was told has no value")
        scene.packet("hits:1|c")
        #expect(scene.sample() == ["hits": 1])
    }

    @Test func `Gauges keep their last value, and a sign changes it across samples`() {
        var scene = Scene()
        scene.packet("depth:5|g\ndepth:7|g\nother:-3|g")
        #expect(scene.sample() == ["depth": 7, "other": -3])
        #expect(scene.sample().isEmpty, "nobody told them since")
        scene.packet("depth:-2|g\ndepth:+10|g")
        #expect(scene.sample() == ["depth": 15])
        for _ in 0...StatsDTable.rememberedSamples { #expect(scene.sample().isEmpty) }
        scene.packet("depth:+1|g")
        #expect(scene.sample() == ["depth": 1], "it was forgotten meanwhile")
    }

    @Test func `Timers are count, sum, least and greatest, with their sample rates`() {
        var scene = Scene()
        scene.packet("t:10|ms\nt:30|ms|@0.5\nsize:3:9|h")
        #expect(
            scene.sample() == [
                "t.count": 3, "t.sum": 70, "t.min": 10, "t.max": 30, "size.count": 2, "size.sum": 12, "size.min": 3,
                "size.max": 9,
            ])
        scene.packet("t:1|ms")
        #expect(scene.table.take().map(\.unit) == ["", "ms", "ms", "ms"])
    }

    @Test func `Sets are how many different members were told`() {
        var scene = Scene()
        scene.packet("users:a|s\nusers:b|s\nusers:a|s\nusers:|s")
        #expect(scene.sample() == ["users": 3])
        scene.packet("users:a|s")
        #expect(scene.sample() == ["users": 1])
    }

    @Test func `The members of sets are bounded, and what is over is counted`() {
        var scene = Scene()
        for number in 0..<StatsDTable.maximumMembers + 50 {
            scene.table.apply(
                StatsDUpdate(key: SeriesKey("users"), change: .member(Array("\(number)".utf8))), &scene.tally)
        }
        #expect(scene.counts() == [.integer(50), .integer(0)])
        #expect(scene.sample() == ["users": Double(StatsDTable.maximumMembers)])
        scene.packet("users:more|s")
        #expect(scene.sample() == ["users": 1])
    }

    @Test func `A flood of names is refused and counted, and known series go on`() {
        var scene = Scene(limit: 10)
        scene.packet("known:1|c")
        for number in 0..<1_000 { scene.packet("n\(number):1|c") }
        scene.packet("known:1|c")
        let sample = scene.sample()
        #expect(sample.count == 10 && sample["known"] == 2)
        #expect(scene.counts() == [.integer(991), .integer(0)])
    }

    @Test func `Gauges that nobody tells any more make room for others`() {
        var scene = Scene(limit: 2)
        scene.packet("old:1|g\nolder:1|g")
        _ = scene.sample()
        scene.packet("old:2|g\nnew:1|g\nnewer:1|g")
        #expect(scene.sample() == ["old": 2, "new": 1])
        #expect(scene.counts() == [.integer(1), .integer(0)])
    }

    @Test func `A name has one type until it is forgotten, and sums stay finite`() {
        var scene = Scene()
        scene.packet("a:1|c\na:2|g\na:3|ms\na:4|s")
        #expect(scene.sample() == ["a": 1])
        scene.packet("a:2|g")
        #expect(scene.sample() == ["a": 2])
        scene.packet("b:1e308|c\nb:1e308|c\ng:1e308|g\ng:+1e308|g\nt:1e308|ms\nt:1e308|ms")
        let sample = scene.sample()
        #expect(sample["b"] == 1e308 && sample["g"] == 1e308 && sample["t.sum"] == 1e308)
        #expect(scene.counts() == [.integer(0), .integer(6)])
    }

    @Test func `The names that a timer makes are within the bounds`() {
        var scene = Scene()
        scene.packet("\(String(repeating: "t", count: 122)):1|ms\n\(String(repeating: "t", count: 123)):1|ms")
        let points = scene.table.take()
        #expect(points.count == 4 && points.allSatisfy { MetricBounds.objection(to: $0) == nil })
        #expect(scene.counts() == [.integer(0), .integer(1)])
    }
}
