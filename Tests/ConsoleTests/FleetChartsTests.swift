import CollectorAPI
import JSON
import Testing

@testable import Console

@Suite struct FleetChartsTests {
    private func series(
        _ attributes: JSONValue = [:], devices: JSONValue = [2, 0], _ more: [String: JSONValue] = [:]
    ) -> JSONValue {
        let series: JSONValue = [
            "attributes": attributes, "devices": devices, "min": [1, .null], "p5": [2, .null], "p25": [3, .null],
            "p50": [1500, .null], "p75": [5, .null], "p95": [6, .null], "max": [7, .null], "mean": [4, .null],
        ]
        return series.with(more)
    }

    private func answer(
        _ series: [JSONValue], by: String? = nil, aggregate: String = "mean"
    ) throws -> FleetSeriesView {
        try FixtureDecoder.view(
            FleetSeriesView.self,
            from: [
                "metric": "a.b", "unit": "By", "aggregate": .text(aggregate), "from": "2026-01-01T00:00:00.000000Z",
                "stepSeconds": 600, "buckets": 2, "by": JSONValue(by), "series": .array(series),
            ])
    }

    private func overTime(_ answer: FleetSeriesView, statistic: String = "p50") -> FleetCharts.Charts {
        FleetCharts.overTime(answer, statistic: (statistic, "Median"))
    }

    @Test func `Percentiles are drawn, and the rest is listed`() throws {
        let table = try #require(overTime(answer([series()])).tables.first)
        #expect(table.columns.filter(\.isDrawn).map(\.name) == ["Median", "5 %", "25 %", "75 %", "95 %"])
        #expect(table.columns.filter { !$0.isDrawn }.map(\.name) == ["Least", "Greatest", "Mean", "Devices"])
        let cells = table.values["rows"].items.map { $0["cells"].items[0]["text"].text }
        #expect(cells == ["1.50 kB", nil])
        #expect(
            ChartTable.csv([table])[1] == [
                "a.b", "2026-01-01T00:00:00.000000Z", "1500", "2", "3", "5", "6", "1", "7", "4", "2",
            ])
        #expect(ChartTable.csv([table])[2].dropFirst(2).allSatisfy { ["", "0"].contains($0) })
        #expect(ChartTable.csv([table])[0].prefix(3) == ["Chart", "Time", "Median (By)"])
    }

    @Test func `A rate is per second`() throws {
        #expect(overTime(try answer([series()], aggregate: "rate")).tables[0].columns[0].unit == "By/s")
        #expect(overTime(try answer([series()], aggregate: "count")).tables[0].columns[0].unit == "1")
    }

    @Test func `Groups are compared by one statistic`() throws {
        let found = [
            series([:], ["group": "debian 12"]), series([:], ["group": ""]), series([:], ["group": "", "other": true]),
        ]
        let table = overTime(try answer(found, by: "os"), statistic: "p95").tables[0]
        let drawn = table.columns.filter(\.isDrawn)
        #expect(drawn.map(\.name) == ["debian 12", "not reported", "all others"])
        #expect(drawn.map { $0.values[0] } == [6, 6, 6])
        #expect(drawn.map(\.color) == [nil, nil, "grey"])
        #expect(table.columns.last?.name == "all others: devices")
        let devices = overTime(try answer(found, by: "os"), statistic: "devices").tables[0].columns
        #expect(devices.count == 3 && devices[0].values == [2, 0] && devices[0].unit == "1")
    }

    @Test func `Of many sets of attributes, those of most devices are shown`() throws {
        let many = (0..<11).map { series(["n": .text("\($0)")], devices: [.integer(Int64($0)), 0]) }
        let charts = overTime(try answer(many))
        #expect(charts.tables.map(\.title) == (3...10).map { "\($0)" })
        #expect(charts.leftOut == 3 && charts.sets.map { $0["n"] } == (3...10).map { "\($0)" })
    }

    @Test func `A set is selected by its values and by what it lacks`() throws {
        let sets = [["mode": "user"], ["mode": "user", "core": "0"], ["mode": "idle", "core": "0"]]
        #expect(FleetCharts.filter(sets[0], among: sets) == ["mode:user", "core:"])
        #expect(FleetCharts.filter(sets[1], among: sets) == ["core:0", "mode:user"])
    }

    @Test func `A bar leads to its devices and not to those of the next`() throws {
        let answer: JSONValue = [
            "metric": "a.utilization", "unit": "1", "kind": "gauge",
            "distributions": [
                [
                    "attributes": [:], "count": 3,
                    "histogram": [
                        ["from": 0, "to": .real(0.5), "count": 1], ["from": .real(0.5), "to": 1, "count": 2],
                    ],
                ]
            ],
        ]
        var asked: [(from: Double, to: Double)] = []
        let view = try FixtureDecoder.view(DistributionView.self, from: answer)
        let charts = FleetCharts.distributions(view) { _, from, to in
            asked.append((from, to))
            return "/to"
        }
        #expect(asked.map(\.from) == [0, 0.5] && asked.map(\.to) == [Double(0.5).nextDown, 1])
        let rows = charts.tables[0].values["rows"].items
        #expect(rows.map { $0["label"].text } == ["0 % to 50 %", "50 % to 100 %"])
        #expect(rows[0]["address"].text == "/to" && rows[1]["cells"].items[0]["text"].text == "2")
        #expect(charts.tables[0].values["isOfTime"] == .boolean(false))
    }
}
