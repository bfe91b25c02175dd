import Testing

@testable import Collector
@testable import LogArchive

@Suite("Applications as labels of a metric")
struct LogUsageSeriesTests {
    private static func row(_ organization: String, _ application: String, _ bytes: Int, test: Bool = false)
        -> LogUsageRow
    {
        LogUsageRow(
            organization: organization, application: application, test: test, chunks: 1, rawBytes: bytes,
            quotaBytes: 100)
    }

    @Test func `An organization has a bounded number of series, and no byte is left out`() {
        let rows =
            (1...500).map { Self.row("default", "invented-\($0)", $0) } + [
                Self.row("default", "other", 7), Self.row("west", "a", 1),
            ]
        let series = LogUsageSeries.of(rows)
        let own = series.filter { $0.organization == "default" }
        #expect(own.count == LogUsageSeries.named + 1)
        #expect(
            own.reduce(0) { $0 + $1.rawBytes }
                == rows.filter { $0.organization == "default" }.reduce(0) { $0 + $1.rawBytes })
        #expect(
            own.contains { $0.application == "invented-500" && $0.quotaBytes == 100 }
                && !own.contains { $0.application == "invented-1" })
        #expect(own.filter { $0.application == "other" }.map(\.quotaBytes) == [nil])
        #expect(series.filter { $0.organization == "west" }.map(\.application) == ["a"])
        #expect(Set(series.map { $0.labels.map(\.1) }).count == series.count, "no two series are the same")
    }

    @Test func `Test devices are separate`() {
        let series = LogUsageSeries.of([Self.row("default", "a", 1), Self.row("default", "a", 2, test: true)])
        #expect(series.map(\.rawBytes) == [1, 2] && series.map(\.test) == [false, true])
    }
}
