import CollectorStore
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

    @Test func countsByNameWithDistinctDevicesAndNumbers() throws {
        let view = EventSummaryView(try summary(by: .name), isStepped: true)
        #expect(view.groups.map(\.key) == ["sale", "open"])
        let sale = try #require(view.groups.first)
        #expect(sale.count == 3 && sale.devices == 2)
        let numeric = try #require(sale.numeric)
        #expect(numeric.count == 2 && numeric.sum == 8 && numeric.mean == 4 && numeric.min == 3 && numeric.max == 5)
        let buckets = try #require(sale.buckets)
        #expect(buckets.count == [2, 1] && buckets.devices == [2, 1] && buckets.sum == [8, nil])
        #expect(view.groups[1].numeric == nil && view.groups[1].count == 1, "outside the window is not counted")
    }

    @Test(arguments: [(EventSummary.Grouping.device, [2, 2]), (.application, [1, 1, 2]), (.value, [1, 1, 1])])
    func countsByOtherProperties(grouping: EventSummary.Grouping, counts: [Int]) throws {
        let view = EventSummaryView(try summary(by: grouping), isStepped: false)
        #expect(view.groups.map(\.count).sorted() == counts)
        #expect(view.groups.allSatisfy { $0.buckets == nil })
    }

    @Test func moreGroupsThanAnAnswerHoldsAreRefused() throws {
        var summary = EventSummary(window: SeriesWindow(from: 0, to: 10, step: 10), by: .name)
        #expect(throws: EventSummary.Overflow.self) {
            for number in 0...EventSummary.maximumGroups {
                try summary.add(Self.event("e\(number)", nil), of: Self.devices[0], application: "", at: 1)
            }
        }
    }

    @Test(arguments: [
        (WireValue.OneOf_Value.integer(42), "42", true), (.real(42), "42", true), (.text("42"), "42", true),
        (.integer(42), "43", false),
        (.boolean(true), "true", true), (.date(0), "1970-01-01T00:00:00Z", true), (.text("a"), "A", false),
    ])
    func aValueIsFoundByItsText(value: WireValue.OneOf_Value, text: String, isFound: Bool) {
        #expect(EventFilter(value: text).admits(Self.event("e", value)) == isFound)
    }

    @Test func filtersHoldTogether() {
        let event = Self.event("sale", .integer(1))
        #expect(EventFilter(name: "sale", type: .custom, value: "1").admits(event))
        #expect(!EventFilter(name: "sale", type: .launch).admits(event))
        #expect(!EventFilter(name: "open").admits(event))
        #expect(!EventFilter(value: "1").admits(Self.event("sale", nil)))
    }
}
