import HummingbirdTesting
import Testing

@testable import Collector

/// Points of OTLP in series, newest values and distributions.
@Suite("Metrics of OTLP in questions about one device and the fleet") struct OTLPSeriesTests {
    private typealias Scene = OTLPScene

    /// The values of the only series of a metric of one device.
    private static func values(_ metric: String, _ aggregates: String...) async throws -> [[Double?]] {
        let scene = try await Scene()
        return try await scene.harness.route { client in
            try await scene.send(client, metric)
            let found = try await scene.series(client, "m", aggregates.joined(separator: ","))
            #expect(found.count == 1)
            return try aggregates.map { try Scene.values(found.first, $0) }
        }
    }

    @Test func `A gauge has its values, by the attributes of its points`() async throws {
        let points = [(610, 4), (620, 8), (670, 1)].map { Scene.point(at: $0, #""asInt":"\#($1)""#, shop: 7) }
        let scene = try await Scene()
        try await scene.harness.route { client in
            try await scene.send(client, Scene.metric("m", "gauge", points))
            let found = try await scene.series(client, "m", "mean,sum,p50", more: "&attribute=shop:7")
            #expect(try Scene.values(found.first, "mean") == [6, 1])
            #expect(try Scene.values(found.first, "sum") == [12, 1])
            #expect(try Scene.values(found.first, "p50") == [nil, nil])
            #expect(found.first?.text("unit") == "By" && found.first?.text("kind") == "gauge")
            #expect(found.first?.object("quantileBounds") == nil)
            #expect(try await scene.series(client, "m", "mean", more: "&attribute=shop:8").isEmpty)
        }
    }

    @Test func `A cumulative sum grows between points of one start, and nothing is guessed over a reset`() async throws
    {
        let points = [(500, 610, 100), (500, 640, 130), (600, 660, 5), (600, 670, 9)].map {
            Scene.point(start: $0, at: $1, #""asInt":"\#($2)""#)
        }
        let metric = Scene.metric("m", "sum", points, more: Scene.cumulative + #""isMonotonic":true,"#)
        #expect(try await Self.values(metric, "increase") == [[30, 4]])
    }

    @Test func `A sum of deltas grows by its values`() async throws {
        let points = [(600, 610, 3), (610, 620, 4), (650, 670, 8)].map {
            Scene.point(start: $0, at: $1, #""asInt":"\#($2)""#)
        }
        let metric = Scene.metric("m", "sum", points, more: Scene.delta + #""isMonotonic":true,"#)
        #expect(try await Self.values(metric, "increase") == [[7, 8]])
    }

    @Test func `A name that our own samples have is read too`() async throws {
        let scene = try await Scene()
        try await scene.harness.route { client in
            let points = [Scene.point(at: 610, #""asInt":"4""#)]
            try await scene.send(client, Scene.metric("system.memory.limit", "gauge", points))
            let found = try await scene.series(client, "system.memory.limit", "last")
            #expect(try Scene.values(found.first, "last") == [4, nil])
        }
    }

    @Test func `The mean of values whose sum is no number is a number`() async throws {
        let points = [(610, "1e308"), (620, "1e308"), (670, "-1.5e308")].map {
            Scene.point(at: $0, #""asDouble":\#($1)"#)
        }
        let found = try await Self.values(Scene.metric("m", "gauge", points), "mean", "sum")
        #expect(found == [[1e308, -1.5e308], [nil, -1.5e308]])
    }

    // MARK: Histograms

    private static func histogram(
        _ counts: [Int], sum: Double? = nil, bounds: [Double] = [1, 10, 100], more: String = ""
    ) -> String {
        let sum = sum.map { #""sum":\#($0),"# } ?? ""
        let texts = counts.map { #""\#($0)""# }.joined(separator: ",")
        return
            #""count":"\#(counts.reduce(0, +))",\#(sum)\#(more)"explicitBounds":\#(bounds),"bucketCounts":[\#(texts)]"#
    }

    @Test func `A histogram of deltas has what it observed, and quantiles with their bounds`() async throws {
        let points = [
            Scene.point(start: 600, at: 610, Self.histogram([5, 3, 2, 0], sum: 60, more: #""min":0.5,"max":30,"#)),
            Scene.point(start: 610, at: 620, Self.histogram([10, 0, 0, 0], sum: 4, more: #""min":0.1,"max":1,"#)),
            Scene.point(start: 660, at: 670, Self.histogram([0, 0, 0, 4], sum: 1000)),
        ]
        let scene = try await Scene()
        try await scene.harness.route { client in
            try await scene.send(client, Scene.metric("m", "histogram", points, more: Scene.delta))
            let found = try await scene.series(client, "m", "count,sum,mean,min,max,increase,rate,last,p50,p90,p99")
            let series = try #require(found.first)
            #expect(found.count == 1 && series.text("kind") == "delta-histogram")
            let all: [(String, [Double?])] = [
                ("count", [20, 4]), ("sum", [64, 1000]), ("mean", [3.2, 250]), ("min", [0.1, nil]),
                ("max", [30, nil]), ("increase", [20, 4]), ("rate", [1, 0.4]), ("last", [nil, nil]),
                // 15 of 20 are up to 1, and none is below 0.1.
                ("p50", [0.55, nil]), ("p90", [5.5, nil]), ("p99", [20, nil]),
            ]
            for (aggregate, expected) in all {
                #expect(try Scene.values(series, aggregate) == expected, "\(aggregate)")
            }
            // The sum says that none is negative; the greatest one bounds the last.
            #expect(try Scene.bounds(series, "p50") == [[0.1, 1], [100, nil]])
            #expect(try Scene.bounds(series, "p90") == [[1, 10], [100, nil]])
            #expect(try Scene.bounds(series, "p99") == [[10, 30], [100, nil]])
        }
    }

    @Test func `A cumulative histogram has what came between points of one start`() async throws {
        let points = [
            Scene.point(start: 500, at: 590, Self.histogram([7, 0, 0, 0], sum: 5)),
            Scene.point(start: 500, at: 610, Self.histogram([7, 4, 0, 0], sum: 25)),
            Scene.point(start: 500, at: 650, Self.histogram([8, 4, 0, 0], sum: 26)),
            // It started again.
            Scene.point(start: 655, at: 670, Self.histogram([100, 0, 0, 0], sum: 50)),
            Scene.point(start: 655, at: 680, Self.histogram([100, 0, 2, 0], sum: 90)),
        ]
        let metric = Scene.metric("m", "histogram", points, more: Scene.cumulative)
        let found = try await Self.values(metric, "count", "sum", "mean", "rate", "p50", "min")
        // From 590 s to 650 s, and from 670 s to 680 s.
        #expect(found == [[5, 2], [21, 40], [4.2, 20], [5 / 60, 0.2], [5.5, 55], [nil, nil]])
    }

    @Test func `One point of a cumulative histogram tells nothing, and neither does one without a start`() async throws
    {
        let one = [Scene.point(start: 500, at: 610, Self.histogram([7, 0, 0, 0], sum: 5))]
        let two = [610, 620].map { Scene.point(start: 0, at: $0, Self.histogram([Int($0), 0, 0, 0])) }
        for points in [one, two] {
            let metric = Scene.metric("m", "histogram", points, more: Scene.cumulative)
            let scene = try await Scene()
            try await scene.harness.route { client in
                try await scene.send(client, metric)
                for series in try await scene.series(client, "m", "count,mean,p50") {
                    #expect(try Scene.values(series, "count") == [nil, nil])
                    #expect(try Scene.values(series, "p50") == [nil, nil])
                }
            }
        }
    }

    @Test func `One name in both temporalities is two series`() async throws {
        let scene = try await Scene()
        try await scene.harness.route { client in
            let point = [Scene.point(start: 600, at: 610, Self.histogram([1, 0, 0, 0]))]
            try await scene.send(client, Scene.metric("m", "histogram", point, more: Scene.delta))
            let points = [610, 620].map { Scene.point(start: 500, at: $0, Self.histogram([Int($0), 0, 0, 0])) }
            try await scene.send(client, Scene.metric("m", "histogram", points, more: Scene.cumulative))
            let found = try await scene.series(client, "m", "count")
            #expect(found.compactMap { $0.text("kind") } == ["cumulative-histogram", "delta-histogram"])
            #expect(try found.map { try Scene.values($0, "count")[0] } == [10, 1])
        }
    }

    @Test func `An exponential histogram is read with its factor, also when it becomes coarser`() async throws {
        func exponential(_ scale: Int, _ offset: Int, _ counts: [Int]) -> String {
            let texts = counts.map { #""\#($0)""# }.joined(separator: ",")
            return #""count":"\#(counts.reduce(1, +))","sum":9,"scale":\#(scale),"zeroCount":"1","#
                + #""positive":{"offset":\#(offset),"bucketCounts":[\#(texts)]}"#
        }
        // Scale 0: factor 2, buckets (1, 2], (2, 4], (4, 8]. Scale -1: factor 4, buckets (1, 4], (4, 16].
        let points = [
            Scene.point(start: 500, at: 610, exponential(0, 0, [1, 2, 3])),
            Scene.point(start: 500, at: 620, exponential(-1, 0, [7, 3])),
        ]
        let scene = try await Scene()
        try await scene.harness.route { client in
            try await scene.send(client, Scene.metric("m", "exponentialHistogram", points, more: Scene.cumulative))
            let found = try await scene.series(client, "m", "count,p99")
            #expect(try Scene.values(found.first, "count") == [4, nil])
            #expect(try Scene.bounds(found.first, "p99") == [[1, 4], nil])
        }
    }

    @Test func `A summary has its growth, and the quantiles that its sender computed`() async throws {
        func summary(_ count: Int, _ sum: Double, _ median: Double) -> String {
            #""count":"\#(count)","sum":\#(sum),"quantileValues":[{"quantile":0.5,"value":\#(median)}]"#
        }
        let points = [
            Scene.point(start: 500, at: 610, summary(10, 100, 9)),
            Scene.point(start: 500, at: 620, summary(14, 120, 8)),
        ]
        let found = try await Self.values(Scene.metric("m", "summary", points), "count", "sum", "p50", "p99")
        #expect(found == [[4, nil], [20, nil], [8, nil], [nil, nil]])
    }

    @Test func `Instances and scopes of one name are series of their own`() async throws {
        let scene = try await Scene()
        try await scene.harness.route { client in
            for (instance, scope, value) in [("i1", "s1", 1), ("i2", "s1", 2), ("i1", "s2", 3)] {
                try await scene.send(
                    client, service: "shop", instance: instance, scope: scope,
                    Scene.metric("m", "gauge", [Scene.point(at: 610, #""asInt":"\#(value)""#)]))
            }
            let found = try await scene.series(client, "m", "mean")
            #expect(
                found.map { [$0.text("application"), $0.text("scope"), $0.text("instance")] } == [
                    ["shop", "s1", "i1"], ["shop", "s1", "i2"], ["shop", "s2", "i1"],
                ])
            #expect(try found.map { try Scene.values($0, "mean")[0] } == [1, 2, 3])
        }
    }

    // MARK: The fleet

    @Test func `Newest values and distributions have gauges and sums of OTLP beside our own`() async throws {
        let scene = try await Scene()
        try await scene.harness.route { client in
            let now = scene.clock.now() / 1_000_000
            for (host, value) in [("a", 10), ("b", 30), ("c", 20)] {
                func point(_ time: Int64, _ value: Int) -> [String] { [Scene.point(at: time, #""asInt":"\#(value)""#)] }
                try await scene.send(
                    client, host: host, service: "shop", Scene.metric("level", "gauge", point(now - 60, value - 1)))
                try await scene.send(
                    client, host: host, service: "shop",
                    Scene.metric("level", "gauge", point(now - 30, value)),
                    Scene.metric("sales", "sum", point(now - 30, value), more: Scene.cumulative),
                    Scene.metric(
                        "seconds", "histogram", [Scene.point(at: now - 30, Self.histogram([value, 0, 0, 0]))],
                        more: Scene.delta))
                // Twenty newer records without the metric, of another library.
                for number in 0..<20 {
                    try await scene.send(
                        client, host: host, service: "shop", scope: "other",
                        Scene.metric("else", "gauge", point(now - 20 + Int64(number), 1)))
                }
            }
            for name in ["level", "sales"] {
                let page = try await client.json(
                    "/api/v1/metrics/latest?metric=\(name)&sort=-value", bearer: "viewer-default")
                let items = page.objects("items")
                #expect(items.compactMap { $0.text("deviceName") } == ["b", "c", "a"], "\(name)")
                #expect(items.compactMap { $0.objects("values").first?["value"] as? Double } == [30, 20, 10])
                #expect(items.first?.text("unit") == "By")
                let spread = try await client.json(
                    "/api/v1/metrics/distribution?metric=\(name)", bearer: "viewer-default")
                let entry = try #require(spread.objects("distributions").first)
                #expect(entry.number("count") == 3 && entry["p50"] as? Double == 20 && entry["max"] as? Double == 30)
                #expect(spread.text("kind") == (name == "level" ? "gauge" : "up-down-counter"))
            }
            let histogram = try await client.json("/api/v1/metrics/latest?metric=seconds", bearer: "viewer-default")
            #expect(histogram.objects("items").isEmpty)
            let fleet = try await client.json(
                "/api/v1/metrics/series?metric=seconds&aggregate=p50", bearer: "viewer-default")
            #expect(
                fleet.text("kind") == "delta-histogram" && fleet.objects("series").count == 1, "\(fleet)")
            let stranger = try await client.json("/api/v1/metrics/latest?metric=level", bearer: "viewer-other")
            #expect(stranger.objects("items").isEmpty)
        }
    }
}
