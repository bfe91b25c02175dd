import TestKit
import Testing

@testable import MetricIntake

@Suite struct PrometheusParserTests {
    private static func parse(_ text: [UInt8]) -> (samples: [PrometheusSample], objections: [String]) {
        var samples: [PrometheusSample] = []
        var objections: [String] = []
        PrometheusParser.parse(text) { result in
            switch result {
            case .success(let sample): samples.append(sample)
            case .failure(let objection): objections.append(objection.text)
            }
        }
        return (samples, objections)
    }

    private static func sample(
        _ name: String, _ attributes: [String: String] = [:], _ value: Double, _ unit: String = ""
    ) -> PrometheusSample { PrometheusSample(name: name, attributes: attributes, value: value, unit: unit) }

    @Test func `Counters, gauges, histograms and summaries are samples, line by line`() {
        // The example of the format's specification, shortened.
        let text = #"""
            # HELP http_requests_total The total number of HTTP requests.
            # TYPE http_requests_total counter
            http_requests_total{method="post",code="200"} 1027 1395066363000
            http_requests_total{method="post",code="400"}    3 1395066363000

            # Escaping in label values:
            msdos_access_seconds{path="C:\\DIR\\FILE.TXT",error="Cannot find file:\n\"FILE.TXT\""} 1.458255915e9
            # Minimalistic line:
            metric_without_timestamp_and_labels 12.47
            # A weird metric from before the epoch:
            something_weird{problem="division by zero"} +Inf -3982045
            # TYPE http_request_duration_seconds histogram
            http_request_duration_seconds_bucket{le="0.05"} 24054
            http_request_duration_seconds_bucket{le="+Inf",} 144320
            http_request_duration_seconds_sum 53423
            http_request_duration_seconds_count 144320
            # TYPE rpc_duration_seconds summary
            rpc_duration_seconds{quantile="0.01"} 3102
            rpc_duration_seconds{quantile="0.99"} NaN
            # TYPE go_memstats_alloc_bytes gauge
            go_memstats_alloc_bytes 2.5e+06

            """#
        let parsed = Self.parse(Array(text.utf8))
        #expect(parsed.objections.isEmpty)
        #expect(
            parsed.samples == [
                Self.sample("http_requests_total", ["method": "post", "code": "200"], 1027),
                Self.sample("http_requests_total", ["method": "post", "code": "400"], 3),
                Self.sample(
                    "msdos_access_seconds",
                    ["path": #"C:\DIR\FILE.TXT"#, "error": "Cannot find file:\n\"FILE.TXT\""], 1.458255915e9, "s"),
                Self.sample("metric_without_timestamp_and_labels", [:], 12.47),
                Self.sample("http_request_duration_seconds_bucket", ["le": "0.05"], 24054),
                Self.sample("http_request_duration_seconds_bucket", ["le": "+Inf"], 144320),
                Self.sample("http_request_duration_seconds_sum", [:], 53423, "s"),
                Self.sample("http_request_duration_seconds_count", [:], 144320),
                Self.sample("rpc_duration_seconds", ["quantile": "0.01"], 3102, "s"),
                Self.sample("go_memstats_alloc_bytes", [:], 2_500_000, "By"),
            ])
    }

    @Test func `What OpenMetrics adds is read over`() {
        let text = """
            # TYPE foo_seconds counter
            # UNIT foo_seconds seconds
            foo_seconds_total{a="b"} 17.0 1520879607.789 # {trace_id="KOO5S4vxi0o"} 0.67
            bar_bucket{le="1.0"} 8 # {x="y"} 0.1 1.5
            # EOF
            """
        let parsed = Self.parse(Array(text.utf8))
        #expect(parsed.objections.isEmpty)
        #expect(
            parsed.samples == [
                Self.sample("foo_seconds_total", ["a": "b"], 17, "s"), Self.sample("bar_bucket", ["le": "1.0"], 8),
            ])
    }

    @Test(arguments: ["a NaN", "a +Inf", "a -Inf", "a{b=\"c\"} nan 17", "# a 1", "", "   ", "\t# HELP a"])
    func `A line without a finite value is left out, and is not wrong`(line: String) {
        let parsed = Self.parse(Array(line.utf8))
        #expect(parsed.samples.isEmpty && parsed.objections.isEmpty)
    }

    @Test(arguments: [
        ("1a 1", "name"), (#"{"a.b"} 1"#, "name"), ("a", "value"), ("a x", "value"), ("a 0x1", "value"),
        ("a{b=\"c\" 1", "labels do not end"), ("a{b=\"c} 1", "does not end"), (#"a{b="\t"} 1"#, "escape"),
        ("a{b=c} 1", "NAME="), ("a{1=\"c\"} 1", "NAME="), ("a{b=\"c\",b=\"d\"} 1", "twice"), ("a 1 soon", "time"),
        ("a 1 2 3", "goes on"), ("<html>", "name"),
    ])
    func `A line that is wrong is one objection, and its neighbours count`(line: String, words: String) {
        let parsed = Self.parse(Array("first 1\n\(line)\nlast 1".utf8))
        #expect(parsed.samples.map(\.name) == ["first", "last"])
        #expect(parsed.objections.count == 1 && parsed.objections[0].contains(words), "\(parsed.objections)")
    }

    @Test func `Labels have limits`() {
        let labels = (0..<17).map { "k\($0)=\"v\"" }.joined(separator: ",")
        #expect(Self.parse(Array("a{\(labels)} 1".utf8)).objections == ["there may be at most 16 attributes"])
        let long = String(repeating: "v", count: 257)
        #expect(Self.parse(Array("a{k=\"\(long)\"} 1".utf8)).objections.count == 1)
    }

    @Test func `Damaged text never breaks the parser, and what is taken in is within the bounds`() {
        let seed: UInt64 = 20
        var random = SplitMix64(seed: seed)
        let text = Array(
            "# TYPE a counter\na_total{m=\"p\",c=\"C:\\\\D\\n\\\"\"} 1027 1395\nb_seconds 0.5 # {t=\"x\"} 1\nc NaN\n"
                .utf8)
        var counts = (taken: 0, refused: 0)
        for round in 0..<5_000 {
            var damaged = text
            for _ in 0...Int.random(in: 0..<5, using: &random) {
                let place = Int.random(in: 0..<damaged.count, using: &random)
                switch Int.random(in: 0..<4, using: &random) {
                case 0: damaged[place] = UInt8.random(in: 0...255, using: &random)
                case 1: damaged.insert(text[Int.random(in: 0..<text.count, using: &random)], at: place)
                case 2: damaged.removeSubrange(place..<min(damaged.count - 1, place + 4))
                default: damaged = Array(damaged.prefix(max(1, place)))
                }
                if damaged.isEmpty { damaged = [0] }
            }
            let parsed = Self.parse(damaged)
            counts.taken += parsed.samples.count
            counts.refused += parsed.objections.count
            for sample in parsed.samples {
                let point = MetricPoint(
                    sample.name, unit: sample.unit, attributes: sample.attributes, .number(sample.value))
                #expect(MetricBounds.objection(to: point) == nil, "seed \(seed), round \(round)")
            }
        }
        #expect(counts.taken > 1_000 && counts.refused > 1_000)
    }
}
