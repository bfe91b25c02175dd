import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct AnalyticsPageTests {
    private static let id = "4dc66c57-2130-45b0-beae-c4a50c91faf7"
    private static let hostile =
        #"<script>alert(1)</script>"'{{x}}/"# + "\u{202E}" + String(repeating: "w", count: 9000)
    private static let summary = "GET /api/v1/events/summary"
    /// The range of a page without one, as the API is asked for it.
    private static let day = "from=2026-01-01T03%3A00%3A00.000000Z&to=2026-01-02T03%3A04%3A05.000000Z"
    private static let none: JSONValue = ["items": [], "next": .null]

    private static func group(_ key: String, _ count: Int, numeric: Int? = nil) -> JSONValue {
        let figures: JSONValue = ["min": 1, "p50": 42, "p95": 77, "max": 99, "mean": 50, "sum": 500]
        let gap = JSONValue.null
        return [
            "key": .text(key), "count": JSONValue(count), "devices": 2,
            "numeric": numeric.map { figures.with(["count": JSONValue($0)]) } ?? gap,
            "buckets": [
                "count": [JSONValue(count), 0], "devices": [2, 0], "p50": [42, gap], "p95": [77, gap], "min": [1, gap],
                "max": [99, gap], "mean": [50, gap], "sum": [500, gap],
            ],
        ]
    }

    private static func answer(_ groups: [JSONValue], by: String = "name") -> JSONValue {
        [
            "from": "2026-01-01T03:00:00.000000Z", "to": "2026-01-02T03:00:00.000000Z", "stepSeconds": 1800,
            "by": .text(by), "groups": .array(groups),
        ]
    }

    private static func view(_ groups: [JSONValue]) throws -> EventSummaryView {
        try FixtureDecoder.view(EventSummaryView.self, from: answer(groups))
    }

    private static func record(_ value: JSONValue, name: String = "sale", attributes: JSONValue = [:]) -> JSONValue {
        [
            "device": .text(id), "deviceName": "till 7", "time": "2026-01-02T01:00:00.000000Z",
            "receivedAt": "2026-01-02T03:00:00.000000Z",
            "application": "com.example.till",
            "event": [
                "type": "sdk-action", "name": .text(name), "value": value, "valueType": "string",
                "attributes": attributes, "succeeded": false, "durationMicroseconds": 1_500_000,
            ],
        ]
    }

    private func harness(
        _ groups: [JSONValue], events: [JSONValue] = [], _ replies: [String: ConsoleHarness.Reply] = [:]
    ) throws -> ConsoleHarness {
        let all: [String: ConsoleHarness.Reply] = [
            Self.summary: .init(body: Self.answer(groups)),
            "GET /api/v1/events": .init(body: ["items": .array(events), "next": .null]),
            "GET /api/v1/devices": .init(body: Self.none.with(["total": 0])),
            "GET /api/v1/devices/\(Self.id)": .init(
                body: ["id": .text(Self.id), "name": "till 7", "organization": "default", "test": true]),
            "GET /api/v1/organizations": .init(body: ["items": [["name": "default"]], "next": .null]),
            "GET /api/v1/profiles/default": .init(body: ["profile": ["analytics": ["enabled": true]]]),
        ]
        return try ConsoleHarness(all.merging(replies) { $1 })
    }

    private func page(
        _ harness: ConsoleHarness, event: String? = nil, _ query: FormFields = []
    ) async throws -> String {
        let path = event == nil ? "/analytics" : "/analytics/event"
        let page = try await harness.page(
            path, harness.visit(path, query: event.map { query.with("event", $0) } ?? query, base: "/proxy"))
        #expect(page.status == 200)
        return page.html
    }

    /// Without the values of form fields, which come back as they are.
    private static func shown(_ html: String) -> String { html.replacing(#/value="[^"]*"/#, with: "") }

    private func summaries(_ harness: ConsoleHarness) -> [FormFields] {
        harness.requests.filter { $0.path.hasSuffix("/summary") }.map(\.query)
    }

    // MARK: All events

    @Test func `Events are counted by name, and each name leads to them`() async throws {
        let harness = try harness([Self.group("a/b c", 3000, numeric: 10), Self.group("open", 1000)])
        let html = try await page(harness, [("type", "custom"), ("range", "7d")])
        #expect(html.contains("4,000 events with 2 names"))
        #expect(html.contains(#"href="/proxy/analytics/event?event=a%2Fb%20c&amp;type=custom&amp;range=7d">a/b c</a>"#))
        #expect(
            html.contains(#"<meter value="0.750" aria-label="Share">75 %</meter>"#)
                && html.contains(#"<td class="number">42</td>"#))
        #expect(summaries(harness)[0]["type"] == "custom" && summaries(harness)[0]["by"] == "name")
        // Begun at a whole step, so that a chart does not change by looking again.
        #expect(summaries(harness)[0]["step"] == "10800")
        #expect(summaries(harness)[0]["from"] == "2025-12-26T03:00:00.000000Z")
        #expect(html.contains(#"value="2025-12-26T03:00:00""#))
    }

    @Test func `A chosen range is used as it is`() async throws {
        let harness = try harness([Self.group("open", 1)])
        _ = try await page(harness, [("from", "2026-01-01T00:00:10Z"), ("to", "2026-01-01T01:00:00Z")])
        #expect(summaries(harness)[0]["from"] == "2026-01-01T00:00:10.000000Z")
    }

    @Test func `Beyond eight names, the rest is one column`() throws {
        let groups = (0..<10).map { Self.group("n\($0)", 10 - $0) }
        let table = try #require(EventCharts.counts(Self.view(groups), id: "x", title: "X"))
        #expect(table.columns.map(\.name) == (0..<7).map { "n\($0)" } + ["all others"])
        #expect(table.columns[7].values == [6, 0])
        let eight = EventCharts.counts(try Self.view(Array(groups.prefix(8))), id: "x", title: "X")
        #expect(eight?.columns.last?.name == "n7")
    }

    @Test func `Too many names for a chart leave the table`() async throws {
        let harness = try harness([])
        let bare = Self.answer(
            (0..<250).map { .object(Self.group("n\($0)", 1).members.filter { $0.key != "buckets" }) })
        harness.set(Self.summary, .refusal(400, "too-much", "No."))
        harness.set(
            Self.summary + "?\(Self.day)&by=name",
            .init(body: bare))
        let html = try await page(harness)
        #expect(html.contains("250 names") && html.contains("too many names for a chart"))
        #expect(html.contains("Left out: 50 names with fewer events.") && html.contains(">n199<"))
        #expect(!html.contains(">n200<"))
    }

    @Test func `What the API refuses leaves the filters`() async throws {
        let harness = try harness([])
        harness.set(Self.summary, .refusal(429, "busy", "Too many <requests>."))
        let html = try await page(harness, [("application", "x")])
        #expect(html.contains("Too many &lt;requests&gt;.") && html.contains(#"name="application" value="x""#))
    }

    @Test(
        arguments: [
            (["analytics": ["enabled": false]], "default: the profile switches analytics off. Devices refuse events."),
            (
                ["analytics": [:], "sampling": ["modules": ["system"]]],
                "default: the profile leaves out the module analytics. Devices refuse events without it."
            ),
            (
                [:],
                "Devices hold each event for 2 h, unless they are configured otherwise, before they send it."
            ),
            (
                ["analytics": ["holdSeconds": 600], "sampling": ["modules": ["analytics"]]],
                "default: analytics is on. Devices hold each event for 10 min before they send it."
            ),
            (["analytics": ["holdSeconds": 0]], "default: analytics is on, and events are sent at once."),
        ] as [(JSONValue, String)]) func `Without an event, the page says why`(profile: JSONValue, text: String)
        async throws
    {
        let harness = try harness(
            [], ["GET /api/v1/profiles/default": .init(body: ["profile": profile])])
        let html = try await page(harness)
        #expect(html.contains("There is no event here.") && html.contains(text))
        #expect(
            html.contains(#"href="/proxy/profiles/default""#) && html.contains("Events of test devices are left out."))
        #expect(!html.contains("Remove them"))
        let filtered = try await page(harness, [("value", "9"), ("test", "true")])
        #expect(filtered.contains(#"href="/proxy/analytics">Remove them</a>"#) && !filtered.contains("Include them"))
    }

    @Test func `A summary is a file with all names`() async throws {
        let harness = try harness((0..<250).map { Self.group("n\($0)", 1, numeric: $0 == 0 ? 1 : nil) })
        let csv = try await page(harness, [("format", "csv"), ("table", "names")])
        let lines = csv.split(separator: "\r\n")
        #expect(lines.count == 251)
        #expect(lines[0] == "Name,Events,Devices,Numbers,Mean,Least,Median,95th percentile,Greatest,Sum")
        #expect(lines[1] == "n0,1,2,1,50,1,42,77,99,500" && lines[2] == "n1,1,2,,,,,,,")
    }

    // MARK: One event

    @Test func `Numbers have their spread over time`() async throws {
        let harness = try harness([Self.group("sale", 10, numeric: 10)])
        let html = try await page(harness, event: "sale")
        #expect(html.contains(#"<table id="t-numbers">"#) && html.contains(#"<table id="t-counts">"#))
        #expect(summaries(harness).map { $0["by"] } == ["name", "application"])
        #expect(summaries(harness).allSatisfy { $0["name"] == "sale" })
    }

    @Test func `Texts are counted by value`() async throws {
        let harness = try harness([Self.group("sale", 10)])
        harness.set(
            Self.summary + "?name=sale&\(Self.day)&by=value&step=1800",
            .init(body: Self.answer([Self.group("cash", 6), Self.group("", 1)], by: "value")))
        let html = try await page(harness, event: "sale")
        #expect(!html.contains("t-numbers") && html.contains("3 events without value."))
        #expect(html.contains(#"href="/proxy/analytics/event?event=sale&amp;value=cash">only this</a>"#))
        #expect(html.contains("(empty)") && !html.contains(#"sale?value=">"#))
    }

    @Test func `Devices are called by their names`() async throws {
        let harness = try harness(
            [Self.group("sale", 10)], events: [Self.record("cash", attributes: ["shop": "7"])])
        harness.set(
            Self.summary + "?name=sale&\(Self.day)&by=device&step=1800",
            .init(body: Self.answer([Self.group(Self.id, 6).with(["deviceName": "till 7"])], by: "device")))
        let html = try await page(harness, event: "sale", [("by", "device")])
        #expect(html.components(separatedBy: #"href="/proxy/devices/\#(Self.id)">till 7</a>"#).count == 3)
        #expect(html.contains("shop: 7") && html.contains("failed 1.50 s") && html.contains("sdk action"))
        #expect(html.contains("device=\(Self.id)\">only this</a>"))
        // The page does not list a command for each row.
        #expect(!html.contains("api/v1/devices/\(Self.id)&#39;"))
    }

    @Test func `One device is meant with its test records`() async throws {
        let harness = try harness([Self.group("sale", 10)])
        let html = try await page(harness, event: "sale", [("device", Self.id)])
        #expect(summaries(harness).allSatisfy { $0["device"] == Self.id && $0["test"] == "true" })
        #expect(harness.requests.last?.query["test"] == "true" && html.contains("Only events of"))
    }

    @Test func `Single events come in pages`() async throws {
        let harness = try harness([Self.group("sale", 10)])
        harness.set("GET /api/v1/events", .init(body: ["items": [], "next": "c2"]))
        let html = try await page(harness, event: "sale", [("cursor", "c1")])
        #expect(harness.requests.last?.query["cursor"] == "c1" && harness.requests.last?.query["limit"] == "50")
        #expect(html.contains("cursor=c2") && html.contains("The next page goes on."))
    }

    @Test func `A file of single events is bounded`() async throws {
        let harness = try harness([])
        harness.set(
            "GET /api/v1/events",
            .init(body: ["items": .array(Array(repeating: Self.record("cash"), count: 10)), "next": "more"]))
        let visit = harness.visit("/analytics/event", query: [("event", "sale")])
        let query = try await EventQuery(visit, event: "sale")
        let rows = try await EventSummaries(query: query, api: visit.api, maximumEvents: 25).events()
        #expect(rows.count == 26 && harness.requests.count == 3)
        #expect(harness.requests.map { $0.query["cursor"] } == [nil, "more", "more"])
        // A filter that finds nothing does not read for ever.
        harness.set("GET /api/v1/events", .init(body: ["items": [], "next": "more"]))
        let none = try await EventSummaries(query: query, api: visit.api).events()
        #expect(none.count == 1 && harness.requests.count == 103)
    }

    @Test func `A file of single events has all their fields`() async throws {
        let harness = try harness([], events: [Self.record("=1+1")])
        let csv = try await page(harness, event: "sale", [("format", "csv"), ("table", "events")])
        let row =
            "2026-01-02T01:00:00.000000Z,2026-01-02T03:00:00.000000Z,\(Self.id),com.example.till,"
            + "sdk-action,sale,'=1+1,string,,,no,1.5\r\n"
        #expect(csv.hasSuffix(row), "\(csv)")
    }

    @Test func `What a device sends stays text`() async throws {
        let event = Self.record(
            .text(Self.hostile), name: Self.hostile, attributes: ["\(Self.hostile)": .text(Self.hostile)])
        let harness = try harness([Self.group(Self.hostile, 10)], events: [event])
        for name in [nil, Self.hostile] {
            let html = try await page(harness, event: name)
            #expect(html.contains("&lt;script&gt;alert(1)"))
            #expect(!html.contains("<script>alert") && !Self.shown(html).contains("\u{202E}"))
        }
    }
}
