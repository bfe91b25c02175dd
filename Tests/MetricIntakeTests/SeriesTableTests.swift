import Testing

@testable import MetricIntake

@Suite struct SeriesTableTests {
    @Test func `Known series go on when the table is full, and new ones are refused`() {
        var table = SeriesTable<Int>(limit: 2)
        for name in ["a", "b"] { #expect(table.update(SeriesKey(name), initial: 0) { $0 += 1 }) }
        #expect(!table.update(SeriesKey("c"), initial: 0) { $0 += 1 })
        #expect(!table.update(SeriesKey("a", ["k": "v"]), initial: 0) { $0 += 1 }, "attributes make another series")
        #expect(table.update(SeriesKey("a"), initial: 0) { $0 += 1 })
        #expect(table.values == [SeriesKey("a"): 2, SeriesKey("b"): 1] && table.count == 2)
    }

    @Test func `Series that make several measurements count as many`() {
        var table = SeriesTable<Int>(limit: 5)
        #expect(table.update(SeriesKey("timer"), weight: 4, initial: 0) { _ in })
        #expect(!table.update(SeriesKey("other"), weight: 4, initial: 0) { _ in })
        #expect(table.update(SeriesKey("counter"), initial: 0) { _ in })
        #expect(table.count == 5)
    }

    @Test func `Long names and attributes are bounded together`() {
        var table = SeriesTable<Int>(limit: 10)
        let long = String(repeating: "x", count: 250)
        let accepted = (0..<10).count { table.update(SeriesKey("n\($0)", ["k": long]), initial: 0) { _ in } }
        #expect(accepted == 5, "5 of 253 bytes fit into 1280")
    }

    @Test func `What is let go of makes room`() {
        var table = SeriesTable<Int>(limit: 3)
        for value in 0..<3 { _ = table.update(SeriesKey("n\(value)"), initial: value) { _ in } }
        table.keep { _, value in
            value += 10
            return value != 11
        }
        #expect(table.values == [SeriesKey("n0"): 10, SeriesKey("n2"): 12] && table.count == 2)
        #expect(table.update(SeriesKey("new"), weight: 1, initial: 0) { _ in })
        #expect(!table.update(SeriesKey("newer"), initial: 0) { _ in })
        table.removeAll()
        #expect(table.count == 0 && table.values.isEmpty)
        #expect(table.update(SeriesKey("newer"), weight: 3, initial: 0) { _ in })
    }

    @Test func `The counts of a sample begin anew, and those of status go on`() {
        var tally = MetricTally()
        tally.refuse(3)
        tally.invalid("first")
        tally.invalid("second")
        tally.dropped(2)
        let own = tally.finish(series: 7, limit: 7, failure: nil, countsDrops: true)
        let values = Dictionary(uniqueKeysWithValues: own.map { ($0.name, $0.value) })
        #expect(
            values == [
                "ws1.metrics.up": .integer(1), "ws1.metrics.series": .integer(7), "ws1.metrics.refused": .integer(3),
                "ws1.metrics.invalid": .integer(2), "ws1.metrics.kernel_drops": .integer(2),
            ])
        #expect(tally.report.problem == "first")
        tally.refuse()
        _ = tally.finish(series: 7, limit: 7, failure: nil)
        #expect(tally.report.refused == 4 && tally.report.invalid == 2 && tally.report.kernelDrops == 2)
        #expect(tally.report.problem?.contains("Raise its limit") == true)
        let down = tally.finish(series: 0, limit: 7, failure: "gone")
        #expect(down.contains(MetricPoint("ws1.metrics.up", unit: "1", .integer(0))))
        #expect(down.contains(MetricPoint("ws1.metrics.refused", unit: "{value}", .integer(0))))
        #expect(tally.report.problem == "gone")
    }
}
