import CollectorAPI
import Testing
import WireModel

@testable import Collector

@Suite("Summaries of events")
struct EventSummaryTests {
    private static let second: Int64 = 1_000_000

    private static func event(_ name: String, _ value: WireValue.OneOf_Value?) -> WireEvent {
        var event = WireEvent()
        event.type = .custom
        event.name = name
        event.value.value = value
        return event
    }

    private static let devices = [DeviceID(high: 1, low: 1), DeviceID(high: 2, low: 2)]

    private func summary(by grouping: EventSummary.Grouping) throws -> EventSummary {
        var summary = EventSummary(
            window: SeriesWindow(from: 0, to: 20 * Self.second, step: 10 * Self.second), by: grouping)
        try summary.add(Self.event("sale", .integer(3)), of: Self.devices[0], application: "till", at: 1 * Self.second)
        try summary.add(Self.event("sale", .real(5)), of: Self.devices[1], application: "till", at: 2 * Self.second)
        try summary.add(
            Self.event("sale", .text("void")), of: Self.devices[1], application: "shop", at: 12 * Self.second)
        try summary.add(Self.event("open", nil), of: Self.devices[0], application: "", at: 3 * Self.second)
        try summary.add(Self.event("open", .boolean(true)), of: Self.devices[0], application: "", at: 99 * Self.second)
        return summary
    }

    @Test func `Events are counted by name with distinct devices and numbers`() throws {
        let view = EventSummaryView(try summary(by: .name), isStepped: true)
        #expect(view.groups.map(\.key) == ["sale", "open"])
        let sale = try #require(view.groups.first)
        #expect(sale.count == 3 && sale.devices == 2)
        let numeric = try #require(sale.numeric)
        #expect(numeric.p50 == 3 && numeric.p95 == 5 && view.percentileDigits == nil)
        #expect(numeric.count == 2 && numeric.sum == 8 && numeric.mean == 4 && numeric.min == 3 && numeric.max == 5)
        let buckets = try #require(sale.buckets)
        #expect(buckets.count == [2, 1] && buckets.devices == [2, 1] && buckets.sum == [8, nil])
        #expect(buckets.p50 == [3, nil] && buckets.p95 == [5, nil])
        #expect(view.groups[1].numeric == nil && view.groups[1].count == 1, "outside the window is not counted")
    }

    @Test(arguments: [(EventSummary.Grouping.device, [2, 2]), (.application, [1, 1, 2]), (.value, [1, 1, 1])])
    func `Events are counted by other properties`(grouping: EventSummary.Grouping, counts: [Int]) throws {
        let view = EventSummaryView(try summary(by: grouping), isStepped: false)
        #expect(view.groups.map(\.count).sorted() == counts)
        #expect(view.groups.allSatisfy { $0.buckets == nil })
    }

    @Test func `More groups than an answer holds are refused`() throws {
        var summary = EventSummary(window: SeriesWindow(from: 0, to: 10, step: 10), by: .name)
        #expect(throws: EventSummary.Overflow.self) {
            for number in 0...EventSummary.maximumGroups {
                try summary.add(Self.event("e\(number)", nil), of: Self.devices[0], application: "", at: 1)
            }
        }
    }

    /// Numbers 1 to `count` in two buckets, each twice.
    private func numbers(_ count: Int, most: Int) throws -> EventSummaryView {
        var summary = EventSummary(
            window: SeriesWindow(from: 0, to: 20 * Self.second, step: 10 * Self.second), by: .name, maximumNumbers: most
        )
        for number in (1...count).shuffled() {
            for _ in 0..<2 {
                try summary.add(
                    Self.event("n", .integer(Int64(number))), of: Self.devices[0], application: "",
                    at: number.isMultiple(of: 2) ? 1 : 11 * Self.second)
            }
        }
        return EventSummaryView(summary, isStepped: true)
    }

    @Test func `Percentiles are values until there are too many different ones`() throws {
        let exact = try #require(try numbers(2000, most: 2000).groups.first)
        #expect(exact.numeric?.p50 == 1000 && exact.numeric?.p95 == 1900 && exact.numeric?.count == 4000)
        #expect(exact.buckets?.p50 == [1000, 999] && exact.buckets?.p95 == [1900, 1899])
        let three = try numbers(20_000, most: 4000)
        #expect(three.percentileDigits == 3 && three.groups.first?.numeric?.p50 == 10_000)
        #expect(three.groups.first?.numeric?.p95 == 19_000 && three.groups.first?.numeric?.max == 20_000)
        let two = try numbers(20_000, most: 500)
        #expect(two.percentileDigits == 2 && two.groups.first?.numeric?.p95 == 19_000)
        #expect(throws: EventSummary.Overflow.self) { try numbers(20_000, most: 100) }
    }

    @Test(
        arguments: [
            (1234.5, 3, 1230), (-1235, 3, -1240), (0.0012345, 2, 0.0012), (0, 3, 0), (9996, 3, 10_000), (7, 3, 7),
            (.leastNonzeroMagnitude, 3, .leastNonzeroMagnitude),
            (-.greatestFiniteMagnitude, 15, -.greatestFiniteMagnitude),
        ] as [(Double, Int, Double)])
    func `Numbers are rounded to their first digits`(_ number: Double, _ digits: Int, _ expected: Double) {
        #expect(abs(NumberCounts.rounded(number, to: digits) - expected) <= abs(expected) * 1e-12)
    }

    @Test(arguments: [
        (WireValue.OneOf_Value.integer(42), "42", true), (.real(42), "42", true), (.text("42"), "42", true),
        (.integer(42), "43", false),
        (.boolean(true), "true", true), (.date(0), "1970-01-01T00:00:00Z", true), (.text("a"), "A", false),
    ])
    func `A value is found by its text`(value: WireValue.OneOf_Value, text: String, isFound: Bool) {
        #expect(EventFilter(value: text).admits(Self.event("e", value)) == isFound)
    }

    @Test func `Filters hold together`() {
        let event = Self.event("sale", .integer(1))
        #expect(EventFilter(name: "sale", type: .custom, value: "1").admits(event))
        #expect(!EventFilter(name: "sale", type: .launch).admits(event))
        #expect(!EventFilter(name: "open").admits(event))
        #expect(!EventFilter(value: "1").admits(Self.event("sale", nil)))
    }
}
