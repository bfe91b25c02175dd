import CollectorAPI
import JSON
import Testing

@testable import Console

@Suite struct MetricChartsTests {
    private func answer(_ series: [JSONValue]) throws -> SeriesView {
        try FixtureDecoder.view(
            SeriesView.self,
            from: [
                "from": "2026-01-01T00:00:00.000000Z", "stepSeconds": 600, "buckets": 3, "series": .array(series),
            ])
    }

    private func series(
        _ metric: String, unit: String = "By", kind: String = "gauge", _ attributes: JSONValue = [:],
        _ values: JSONValue = [1, .null, 3]
    ) -> JSONValue {
        [
            "metric": .text(metric), "unit": .text(unit), "kind": .text(kind), "attributes": attributes,
            "values": ["mean": values, "rate": [.null, 2000, .null]],
        ]
    }

    private func columns(_ chart: JSONValue) -> [String] { chart["columns"].items.compactMap { $0["name"].text } }

    private func drawn(_ group: MetricCharts.Group, of answer: SeriesView) -> JSONValue {
        MetricCharts.chart(group, of: answer).values
    }

    @Test func `A bucket without a value is an empty cell`() throws {
        let chart = drawn(
            .init(id: "m", title: "M", metrics: ["a.b"]),
            of: try answer([series("a.b", [:], [1500, .null, .real(0.00012)])]))
        let cells = chart["rows"].items.map { $0["cells"].items[0] }
        #expect(cells.map { $0["value"].text } == ["1500", nil, "0.00012"])
        #expect(cells.map { $0["text"].text } == ["1.50 kB", nil, "0 B"])
        #expect(chart["rows"].items.map { $0["at"].text }.last == "2026-01-01T00:20:00.000000Z")
        #expect(columns(chart) == ["b"])
    }

    @Test func `A counter is shown as its rate`() throws {
        let found = [series("a", kind: "delta-counter"), series("a", kind: "cumulative-counter", ["n": "1"])]
        let chart = drawn(.init(id: "m", title: "M", metrics: ["a"]), of: try answer(found))
        #expect(chart["unit"].text == "By/s")
        #expect(chart["rows"].items[1]["cells"].items.map { $0["text"].text } == ["2 kB/s", "2 kB/s"])
    }

    @Test func `Columns are named by what distinguishes them`() throws {
        let network = [
            series("io", ["if": "eth0", "dir": "in", "ws1.network.class": "ethernet", "same": "x"]),
            series("io", ["if": "wlan0", "dir": "in", "ws1.network.class": "wifi", "same": "x"]),
            series("io", ["if": "wlan0", "dir": "out", "ws1.network.class": "wifi", "same": "x"]),
        ]
        let chart = drawn(.init(id: "m", title: "M", metrics: ["io"]), of: try answer(network))
        #expect(columns(chart) == ["in eth0", "in wlan0", "out wlan0"])
        let memory = drawn(
            MetricCharts.usual[1],
            of: try answer([series("system.memory.limit"), series("system.memory.linux.available")]))
        #expect(columns(memory) == ["limit", "available"])
    }

    @Test func `A chosen aggregate is shown`() throws {
        let counted = series("a", kind: "delta-counter").with(["values": ["count": [4, .null, 2]]])
        let table = MetricCharts.chart(
            .init(id: "m", title: "M", metrics: ["a"]), of: try answer([counted]), aggregate: "count")
        #expect(table.columns.map(\.values) == [[4, nil, 2]] && table.columns[0].unit == "1")
    }

    @Test func `Programs with the same metric are distinguished`() throws {
        let found = ["com.example.a", "com.example.b"].map { series("m").with(["application": .text($0)]) }
        let chart = drawn(.init(id: "m", title: "M", metrics: ["m"]), of: try answer(found))
        #expect(columns(chart) == ["com.example.a", "com.example.b"])
    }

    @Test func `The rest of a whole and other metrics are left out`() throws {
        let found = [
            series("system.cpu.utilization", unit: "1", ["cpu.mode": "idle"]),
            series("system.cpu.utilization", unit: "1", ["cpu.mode": "user"]),
            series("system.memory.limit"),
        ]
        let chart = drawn(MetricCharts.usual[0], of: try answer(found))
        #expect(columns(chart) == ["utilization"] && chart["unit"].text == "%")
        let none = drawn(MetricCharts.usual[4], of: try answer(found))
        #expect(none["rows"].items.isEmpty)
    }

    @Test func `Of many series, the largest are shown`() throws {
        let many = (0..<12).map { series("m", ["n": .text("\($0)")], [.integer(Int64($0 % 6)), .null, .null]) }
        let chart = drawn(.init(id: "m", title: "M", metrics: ["m"]), of: try answer(many))
        #expect(columns(chart) == ["2", "3", "4", "5", "8", "9", "10", "11"])
        #expect(chart["leftOut"].integer == 4)
    }

    @Test func `Metrics of one chart stay together`() throws {
        let groups = MetricCharts.groups(of: ["ws1.x", "system.memory.limit", "system.memory.linux.available"])
        #expect(groups.map(\.metrics) == [["system.memory.linux.available", "system.memory.limit"], ["ws1.x"]])
        #expect(groups.map(\.title) == ["Memory", "ws1.x"])
    }

    @Test(
        arguments: [
            (1500, "By", "1.50 kB"), (0.25, "%", "25 %"), (90, "s", "90 s"), (3, "{thread}", "3 thread"),
            (21.5, "Cel", "21.5 °C"),
            (7, "1", "7"),
        ] as [(Double, String, String)]) func `A quantity has its unit`(value: Double, unit: String, text: String)
    {
        #expect(DisplayText.quantity(value, unit) == text)
    }
}
