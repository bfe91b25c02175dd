import Foundation
import JSON
import Testing

@testable import Console

@Suite struct ExplorePageTests {
    private static let id = "4dc66c57-2130-45b0-beae-c4a50c91faf7"
    private static let hostile = #"<script>alert(1)</script>"'{{x}}"# + "\u{202E}"

    private static func device(_ fields: [String: JSONValue] = [:]) -> JSONValue {
        let device: JSONValue = [
            "id": .text(id), "name": "till 7", "organization": "default", "test": false,
            "beacon": ["modules": ["system", "custom"]],
        ]
        return device.with(fields)
    }

    private static let catalog: JSONValue = [
        "items": [
            ["metric": "system.memory.limit", "module": "system", "description": "Memory there is"],
            ["metric": "system.cpu.utilization", "module": "system", "description": "Share of time"],
            ["metric": "network.rate", "module": "wlan2", "description": "Rate of the link"],
        ], "next": .null,
    ]

    private static let ofFleet: JSONValue = [
        "metric": "system.memory.limit", "unit": "By", "kind": "gauge", "aggregate": "mean",
        "from": "2026-01-01T03:00:00.000000Z", "stepSeconds": 900, "buckets": 1, "devices": 12,
        "series": [
            [
                "attributes": [:], "devices": [3], "min": [1], "p5": [1], "p25": [2], "p50": [4000], "p75": [5],
                "p95": [6], "max": [7], "mean": [4],
            ]
        ],
    ]

    private static func distribution(_ sets: [JSONValue] = [[:]]) -> JSONValue {
        [
            "metric": "system.memory.limit", "unit": "By", "kind": "gauge", "devices": 3,
            "distributions": .array(
                sets.map { set in
                    [
                        "attributes": set, "count": 3, "min": 1000, "p5": 1000, "p25": 2000, "p50": 2000, "p75": 3000,
                        "p95": 8000, "max": 9000, "mean": 3000,
                        "histogram": [
                            ["from": 1000, "to": 5000, "count": 2], ["from": 5000, "to": 9000, "count": 1],
                        ],
                    ]
                }),
        ]
    }

    private static let latest: JSONValue = [
        "items": [
            [
                "device": .text(id), "deviceName": "till 7", "time": "2026-01-02T03:00:00.000000Z",
                "module": "system", "unit": "By",
                "values": [["attributes": [:], "value": 8500]],
            ]
        ], "next": .null, "total": 1,
    ]

    private static let ofDevice: JSONValue = [
        "from": "2026-01-01T03:00:00.000000Z", "stepSeconds": 900, "buckets": 1,
        "series": [
            [
                "metric": "system.memory.limit", "unit": "By", "kind": "gauge", "module": "system", "attributes": [:],
                "values": ["mean": [7000], "rate": [.null]],
            ]
        ],
    ]

    private func harness(_ replies: [String: ConsoleHarness.Reply] = [:]) throws -> ConsoleHarness {
        let all: [String: JSONValue] = [
            "GET /api/v1/metrics-catalog": Self.catalog, "GET /api/v1/metrics/series": Self.ofFleet,
            "GET /api/v1/metrics/distribution": Self.distribution(), "GET /api/v1/metrics/latest": Self.latest,
            "GET /api/v1/devices": ["items": [], "next": .null, "total": 0],
            "GET /api/v1/devices/\(Self.id)": Self.device(),
            "GET /api/v1/devices/\(Self.id)/samples": ["items": [], "next": .null],
            "GET /api/v1/devices/\(Self.id)/samples/series": Self.ofDevice,
        ]
        return try ConsoleHarness(all.mapValues { ConsoleHarness.Reply(body: $0) }.merging(replies) { $1 })
    }

    private func page(_ harness: ConsoleHarness, _ query: FormFields = []) async throws -> String {
        let page = try await harness.page("/explore", harness.visit("/explore", query: query, base: "/proxy"))
        #expect(page.status == 200)
        return page.html
    }

    private func asked(_ harness: ConsoleHarness, _ end: String) -> FormFields? {
        harness.requests.first { $0.path.hasSuffix(end) }?.query
    }

    @Test func `Without a metric, all are offered by module`() async throws {
        let html = try await page(harness(), [("range", "7d"), ("attribute", "a:b"), ("by", "os")])
        #expect(html.contains("Choose a metric") && html.contains(#"<details class="picker" open>"#))
        #expect(html.contains(#"aria-label="Module wlan2""#))
        // The range and the comparison stay; attributes belong to one metric.
        #expect(html.contains(#"href="/proxy/explore?metric=network.rate&amp;by=os&amp;range=7d""#))
        #expect(!html.contains("Over time</h2>"))
    }

    @Test func `The fleet is shown as percentiles and as a distribution with the devices at its end`() async throws {
        let harness = try harness()
        let html = try await page(
            harness, [("metric", "system.memory.limit"), ("by", "os"), ("sample", "50"), ("attribute", "x:y")])
        let series = try #require(asked(harness, "/metrics/series"))
        #expect(series["by"] == "os" && series["sample"] == "50" && series["attribute"] == "x:y")
        #expect(series["step"] == "900" && series["from"] == "2026-01-01T03:00:00.000000Z" && series["test"] == nil)
        #expect(html.contains(#"<th scope="col" class="number">Median</th>"#) && html.contains(#"data-value="4000""#))
        #expect(html.contains("Newest values of 3 devices") && html.contains("1 kB to 5 kB"))
        // Without a choice: from the 95th percentile on.
        let latest = try #require(asked(harness, "/metrics/latest"))
        #expect(latest["atLeast"] == "8000" && latest["sort"] == "-value" && latest["attribute"] == "x:y")
        #expect(html.contains("Devices from 8 kB on"))
        #expect(html.contains(#"href="/proxy/devices/\#(Self.id)?metric=system.memory.limit#charts">till 7</a>"#))
        #expect(html.contains("device=\(Self.id)"))
        #expect(html.contains("atLeast=1000&amp;atMost=4999.999999999999&amp;sort=-value#devices"))
    }

    @Test func `A chosen bar lists its devices`() async throws {
        let harness = try harness()
        let html = try await page(
            harness, [("metric", "system.memory.limit"), ("atLeast", "1000"), ("atMost", "5000"), ("sort", "value")])
        let latest = try #require(asked(harness, "/metrics/latest"))
        #expect(latest["atLeast"] == "1000" && latest["atMost"] == "5000" && latest["sort"] == "value")
        #expect(html.contains("Devices from 1 kB to 5 kB") && html.contains("least first"))
    }

    @Test func `Values of several sets of attributes are not compared by themselves`() async throws {
        let harness = try harness([
            "GET /api/v1/metrics/distribution": .init(body: Self.distribution([["s": "a"], ["s": "b", "c": "0"]]))
        ])
        let html = try await page(harness, [("metric", "system.memory.limit")])
        #expect(!html.contains("left out"))
        #expect(asked(harness, "/metrics/latest") == nil && html.contains("Choose the lowest or highest 5 %"))
        // The way to the devices of one set leaves out the others.
        #expect(html.contains("attribute=s%3Aa&amp;attribute=c%3A&amp;"))
    }

    @Test func `A device is found by words and keeps its ID in each address`() async throws {
        let harness = try harness([
            "GET /api/v1/devices": .init(
                body: ["items": [Self.device(["test": true])], "next": .null, "total": 1])
        ])
        let html = try await page(
            harness, [("metric", "system.memory.limit"), ("device", "till"), ("range", "1h"), ("by", "os")])
        let series = try #require(asked(harness, "/samples/series"))
        #expect(series["metric"] == "system.memory.limit" && series["aggregate"] == "mean,rate")
        #expect(series["test"] == "true" && series["by"] == nil)
        #expect(html.contains(#"data-value="7000""#) && html.contains("Over time on"))
        #expect(html.contains(#"href="/proxy/devices/\#(Self.id)?metric=system.memory.limit&amp;range=1h#charts""#))
        #expect(html.contains("The same metric over the fleet") && html.contains("device=\(Self.id)"))
        #expect(asked(harness, "/metrics/distribution") == nil)
    }

    @Test func `Of several devices, one is chosen`() async throws {
        let other = Self.device(["id": "5dc66c57-2130-45b0-beae-c4a50c91faf7", "name": .text(Self.hostile)])
        let harness = try harness([
            "GET /api/v1/devices": .init(body: ["items": [Self.device(), other], "next": .null, "total": 30])
        ])
        let html = try await page(harness, [("metric", "system.memory.limit"), ("device", "till")])
        #expect(html.contains("30 devices found. These are the first."))
        #expect(html.contains(#"/proxy/explore?metric=system.memory.limit&amp;device=\#(Self.id)">till 7</a>"#))
        #expect(html.contains("&lt;script&gt;") && !html.contains("<script>alert") && !html.contains("\u{202E}"))
        #expect(asked(harness, "series") == nil)
    }

    @Test func `A program's own metric is asked for with its module`() async throws {
        let sample: JSONValue = ["module": "printer", "sample": ["measurements": [["name": "sheets"]]]]
        let harness = try harness([
            "GET /api/v1/devices": .init(body: ["items": [Self.device()], "next": .null, "total": 1]),
            "GET /api/v1/devices/\(Self.id)/samples": .init(body: ["items": [sample], "next": .null]),
        ])
        let html = try await page(harness, [("metric", "sheets")])
        #expect(asked(harness, "/metrics/series")?["module"] == "printer")
        #expect(html.contains("/proxy/explore?metric=sheets&amp;module=printer"))
        let named = try self.harness()
        _ = try await page(named, [("metric", "sheets"), ("module", "scanner"), ("application", "com.example.till")])
        #expect(asked(named, "/metrics/series")?["module"] == "scanner")
        #expect(asked(named, "/metrics/series")?["application"] == "com.example.till")
    }

    @Test func `Too much says what to do`() async throws {
        let harness = try harness([
            "GET /api/v1/metrics/series": .refusal(400, "too-much", "Ask for a `sample` of about 10 <devices>.")
        ])
        let html = try await page(harness, [("metric", "system.memory.limit")])
        #expect(html.contains("about 10 &lt;devices&gt;.") && html.contains("a sample of devices above"))
        #expect(html.contains("All metrics by module"))
    }

    @Test func `Nothing found says what to do`() async throws {
        let harness = try harness([
            "GET /api/v1/metrics/series": .init(body: Self.ofFleet.with(["series": []])),
            "GET /api/v1/metrics/distribution": .init(body: Self.distribution([])),
        ])
        let html = try await page(harness, [("metric", "system.memory.limit")])
        #expect(html.contains("No sample of this range") && html.contains(#"href="/proxy/profiles""#))
        #expect(html.contains("Test devices are left out") && !html.contains("Newest values"))
        #expect(asked(harness, "/metrics/series")?["test"] == nil)
        _ = try await page(harness, [("metric", "system.memory.limit"), ("test", "true")])
        #expect(harness.requests.last { $0.path.hasSuffix("/series") }?.query["test"] == "true")
    }

    @Test(
        arguments: [
            ("series", "Chart,Time,Median (By),"),
            ("distribution", "Attributes,From,To,Unit,Devices\r\n,1000,5000,By,2\r\n"),
            ("devices", "Device,Name,Time,Attributes,Value,Unit\r\n\(id),till 7,2026-01-02T03:00:00.000000Z,,8500,By"),
        ]) func `What is shown is a file`(table: String, begin: String) async throws
    {
        let harness = try harness()
        let csv = try await page(
            harness, [("metric", "system.memory.limit"), ("format", "csv"), ("table", table)])
        #expect(csv.hasPrefix(begin))
    }
}
