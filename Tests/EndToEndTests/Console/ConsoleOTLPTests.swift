import AsyncHTTPClient
import BrowserTestKit
import Foundation
import JSON
import NIOCore
import NIOHTTP1
import Testing

/// A resource of OTLP in the console: its charts and its log records.
@Suite("OTLP in the console", .serialized, .browser) struct ConsoleOTLPTests {
    @Test func `Its page has charts of what it sent, and its log records are readable`() async throws {
        try await ConsoleScene.run(simulated: 1) { scene in
            let device = try await scene.sendOTLP()
            try await scene.withPage { page in
                let address = "\(scene.origin)/devices/\(device)"
                try await page.navigate(to: "\(address)?range=1h")
                #expect(
                    try await page.texts(of: ".charts .figure-of h3") == [
                        "shop.level", "shop.queue", "shop.request.duration", "shop.sales",
                    ])
                // The table is folded, so nothing of it is visible.
                let heads = try await page.evaluate(
                    "[...document.querySelectorAll('#t-metric-2 thead th')].map(head => head.textContent)",
                    as: [String].self)
                #expect(
                    Set(heads.dropFirst()) == [
                        "/pay median", "/pay 95th percentile", "/stock median", "/stock 95th percentile",
                    ], "\(heads)")
                #expect(try await page.texts(of: "#t-metric-0 tbody tr").count > 10)
                // Charts are drawn, each with a line.
                try await page.waitUntil("document.querySelectorAll('.figure-of .chart canvas').length >= 4")
                let happened = try await page.texts(of: "#marks .what")
                #expect(happened.contains { $0.contains("ERROR: the till is stuck") }, "\(happened)")
                #expect(happened.contains { $0.contains("till.opened: ") && $0.contains("WARN") }, "\(happened)")
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])

                // One of its metrics, chosen.
                try await page.navigate(to: "\(address)?range=1h&metric=shop.level")
                #expect(try await page.texts(of: ".charts .figure-of h3") == ["shop.level"])
                try await page.follow(".figure-of .links a")
                #expect(try await page.url.contains("/explore"))
                #expect(try await page.texts(of: ".charts .figure-of h3") == ["shop.level"])
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])

                try await page.navigate(to: "\(address)/timeline?kind=event")
                #expect(try await page.texts(of: "#marks li").count == 3)
                #expect(try await page.findings(allowedOrigin: scene.origin) == [])
            }
        }
    }
}

extension ConsoleScene {
    /// Sends the metrics of half an hour and three log records as OTLP.
    /// - Returns: the id of the resource.
    func sendOTLP() async throws -> String {
        struct Token: Decodable { var token: String }
        let made = try await deployment.request(
            "/tokens", .POST, body: #"{"kind": "otlp", "organization": "default", "name": "shop"}"#)
        let token = try JSONDecoder().decode(Token.self, from: made).token
        func text(_ key: String, _ value: String) -> JSONValue {
            ["key": .text(key), "value": ["stringValue": .text(value)]]
        }
        let resource: JSONValue = [
            "attributes": [
                text("host.id", "till-7"), text("host.name", "till 7"), text("service.name", "shop"),
                text("telemetry.sdk.name", "opentelemetry"), text("telemetry.sdk.language", "python"),
            ]
        ]
        func send(_ path: String, _ body: JSONValue) async throws {
            var request = HTTPClientRequest(url: deployment.collectorURL + path)
            request.method = .POST
            request.headers.add(name: "authorization", value: "Bearer \(token)")
            request.headers.add(name: "content-type", value: "application/json")
            request.headers.add(name: "connection", value: "close")
            request.body = .bytes(ByteBuffer(bytes: try JSONEncoder().encode(body)))
            let response = try await HTTPClient.shared.execute(request, timeout: .seconds(30))
            let answer = String(buffer: try await response.body.collect(upTo: 1 << 20))
            guard response.status == .ok, answer == "{}" else {
                throw EndToEndError("\(path): \(response.status) \(answer)")
            }
        }
        let now = Int64(Date().timeIntervalSince1970)
        func nanoseconds(_ second: Int64) -> JSONValue { .text("\(second)000000000") }
        var metrics: [JSONValue] = []
        func add(
            _ name: String, _ unit: String, _ kind: String, _ members: [String: JSONValue], _ points: [JSONValue]
        ) {
            metrics.append(
                .object([
                    "name": .text(name), "unit": .text(unit), "description": "What a shop's till says of itself",
                    kind: .object(members.merging(["dataPoints": .array(points)]) { $1 }),
                ]))
        }
        let start = nanoseconds(now - 3600)
        let minutes = Array<Int64>(0...30)
        func points(_ values: (Int64) -> [String: JSONValue]) -> [JSONValue] {
            minutes.map { minute in
                let time = nanoseconds(now - 60 * (30 - minute))
                return .object(values(minute).merging(["startTimeUnixNano": start, "timeUnixNano": time]) { $1 })
            }
        }
        add(
            "shop.level", "%", "gauge", [:],
            points { ["asDouble": .real(50 + 30 * sin(Double($0) / 5)), "attributes": [text("shelf", "left")]] }
                + points { ["asDouble": .real(40 + 20 * cos(Double($0) / 4)), "attributes": [text("shelf", "right")]] })
        add(
            "shop.queue", "{person}", "sum", ["aggregationTemporality": 2],
            points { ["asInt": .text("\($0 % 7)")] })
        add(
            "shop.sales", "{sale}", "sum", ["aggregationTemporality": 2, "isMonotonic": .boolean(true)],
            points { ["asInt": .text("\($0 * $0)")] })
        let routes = ["/pay", "/stock"]
        add(
            "shop.request.duration", "s", "histogram", ["aggregationTemporality": 2],
            routes.enumerated().flatMap { place, route in
                points { minute in
                    let counts = [60 * minute, 30 * minute + minute * minute * Int64(place), minute * minute / 2, 0]
                    return [
                        "count": .text("\(counts.reduce(0, +))"), "sum": .real(Double(counts[1])),
                        "explicitBounds": [.real(0.1), .real(0.5), .real(2)],
                        "bucketCounts": .array(counts.map { .text("\($0)") }),
                        "attributes": [text("http.route", route)],
                    ]
                }
            })
        let scope: JSONValue = ["name": "shop.meter"]
        let scopeMetrics: JSONValue = ["scope": scope, "metrics": .array(metrics)]
        try await send(
            "/v1/metrics", ["resourceMetrics": [["resource": resource, "scopeMetrics": [scopeMetrics]]]])
        let logs: [JSONValue] = [
            [
                "timeUnixNano": nanoseconds(now - 300), "severityNumber": 17, "severityText": "ERROR",
                "body": ["stringValue": "the till is stuck"], "attributes": [text("till", "7")],
            ],
            [
                "timeUnixNano": nanoseconds(now - 200), "severityNumber": 13, "severityText": "WARN",
                "eventName": "till.opened", "body": ["kvlistValue": ["values": [text("by", "Ada")]]],
            ],
            ["timeUnixNano": nanoseconds(now - 100), "severityNumber": 9, "body": ["stringValue": "the till is shut"]],
        ]
        let scopeLogs: JSONValue = ["scope": scope, "logRecords": .array(logs)]
        try await send("/v1/logs", ["resourceLogs": [["resource": resource, "scopeLogs": [scopeLogs]]]])
        return try #require(try await deployment.devices("state=otlp").first)
    }
}
