import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct LogRequestsPageTests {
    private static let path = "/request-logs"
    private static let empty: JSONValue = ["items": [], "next": .null]

    private static func device(_ id: String, _ fields: [String: JSONValue] = [:]) -> JSONValue {
        let device: JSONValue = [
            "id": .text(id), "name": .text("till \(id)"), "state": "reporting",
            "lastSeenAt": "2026-01-02T03:04:00.000000Z", "lastBeaconAt": "2026-01-02T03:00:00.000000Z",
            "expectedBeaconSeconds": 900,
        ]
        return device.with(fields)
    }

    private static let command: JSONValue = [
        "id": "c1", "device": "a", "kind": "request-logs", "state": "running", "progress": .real(0.5),
        "issuedAt": "2026-01-02T03:01:00.000000Z", "issuedBy": "ada", "expiresAt": "2026-01-03T03:01:00.000000Z",
        "arguments": ["mode": "capture", "level": "error", "captureSeconds": 600, "categories": ["net*", "disk"]],
        "uploads": [
            ["state": "open", "chunks": 4, "storedChunks": 1, "rawBytes": 4_000_000, "storedRawBytes": 1_000_000]
        ],
    ]

    private func harness(_ replies: [String: ConsoleHarness.Reply] = [:]) throws -> ConsoleHarness {
        let all: [String: JSONValue] = [
            "GET /api/v1/devices/a": Self.device("a"), "GET /api/v1/devices/b": Self.device("b"),
            "GET /api/v1/devices/a/commands": [
                "items": [Self.command, ["id": "c2", "kind": "send-beacon", "state": "done"]], "next": .null,
            ],
            "GET /api/v1/devices/b/commands": Self.empty, "GET /api/v1/device-jobs": Self.empty,
            "GET /api/v1/device-commands": Self.empty,
            "POST /api/v1/devices/a/commands": ["id": "c3"],
        ]
        return try ConsoleHarness(all.mapValues { ConsoleHarness.Reply(body: $0) }.merging(replies) { $1 })
    }

    private func page(
        _ harness: ConsoleHarness, _ query: FormFields = [], role: PersonRole = .operator
    ) async throws -> String {
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: query, role: role))
        #expect(page.status == 200)
        return page.html
    }

    private func send(_ harness: ConsoleHarness, _ form: FormFields) async throws -> (Console.Response, String) {
        let response = try await harness.console.answerForm(
            Self.path, harness.visit(Self.path, form: form, role: .operator))
        return (response, String(decoding: response.body, as: UTF8.self))
    }

    @Test func `A request shows its progress and where its lines are`() async throws {
        let html = try await page(try harness(), [("device", "a")])
        for text in [
            "till a", #"<progress max="1" value="0.500">"#, "1 of 4 chunks", #"data-live="commands:a""#,
            "2026-01-02 03:15:00 UTC", "Cancel this request",
            "/logs/view?device=a&amp;level=error&amp;category=net%2A%2Cdisk&amp;from=2026-01-02T03%3A01%3A00.000000Z",
        ] { #expect(html.contains(text), "\(text)") }
        #expect(!html.contains("send beacon"), "other commands are not requests for logs")
    }

    @Test(
        arguments: [
            (["state": "silent"], "overdue"), (["state": "off"], "Telemetry is switched off"),
            (["state": "left"], "has left"),
            (["expectedBeaconSeconds": .null], "no schedule of beacons"),
            ([:], "at the latest with the beacon expected"),
        ] as [([String: JSONValue], String)]) func `It says when a device answers`(
            fields: [String: JSONValue], text: String
        ) async throws
    {
        let harness = try harness(["GET /api/v1/devices/a": .init(body: Self.device("a", fields))])
        let html = try await page(harness, [("device", "a")])
        #expect(html.contains(text))
    }

    @Test func `The lines of a test device are asked for`() async throws {
        let harness = try harness(["GET /api/v1/devices/a": .init(body: Self.device("a", ["test": true]))])
        #expect(
            try await page(harness, [("device", "a")]).contains("/logs/view?device=a&amp;test=true&amp;level=error"))
    }

    @Test func `One device gets a command`() async throws {
        let harness = try harness()
        let (response, _) = try await send(
            harness,
            [
                ("action", "request-logs"), ("device", "a"), ("mode", "capture"), ("captureSeconds", "10"),
                ("type", "all"), ("level", "error"), ("maximumBytes", "5"), ("categories", "net*, disk"),
                ("text", "full"), ("since", ""), ("until", ""),
            ])
        #expect(response.status == 303 && response.headers.first?.value == "/request-logs?device=a")
        #expect(response.note == "The request waits for the device.")
        let asked = try #require(harness.requests.last)
        #expect(asked.method == "POST" && asked.path == "/api/v1/devices/a/commands")
        #expect(
            asked.body == [
                "kind": "request-logs",
                "arguments": [
                    "mode": "capture", "captureSeconds": 600, "type": "all", "level": "error",
                    "maximumBytes": 5_000_000, "categories": ["net*", "disk"], "text": "full",
                ],
            ])
    }

    @Test func `Several devices are asked by one job after a question`() async throws {
        let harness = try harness(["POST /api/v1/device-jobs": .init(body: ["devices": 2, "confirm": "c0ffee"])])
        let form: FormFields = [
            ("action", "request-logs"), ("device", "a"), ("device", "b"), ("mode", "snapshot"), ("level", "warning"),
        ]
        let (question, html) = try await send(harness, form)
        let body: JSONValue = [
            "action": "command", "kind": "request-logs", "devices": ["a", "b"],
            "arguments": ["mode": "snapshot", "level": "warning"],
        ]
        #expect(question.status == 200 && harness.requests.last?.body == body)
        #expect(html.contains("Request logs of 2 devices?"))
        let fields = SentForm.fields(of: String(html[try #require(html.firstRange(of: "<main")).lowerBound...]))
        harness.set("POST /api/v1/device-jobs", .init(status: 202, body: ["id": "j1"]))
        let (done, _) = try await send(harness, fields)
        #expect(done.status == 303 && done.headers.first?.value == "/request-logs?job=j1")
        #expect(done.note == "The request goes to 2 devices.")
        #expect(harness.requests.last?.body == body.with(["confirm": "c0ffee"]))
    }

    @Test func `A request without a device is refused`() async throws {
        let harness = try harness()
        let (response, html) = try await send(harness, [("action", "request-logs"), ("mode", "snapshot")])
        #expect(response.status == 422 && html.contains("The device is missing"))
        #expect(harness.requests.allSatisfy { $0.method == "GET" })
    }

    @Test func `A request is cancelled at its device`() async throws {
        let harness = try harness()
        let (response, _) = try await send(harness, [("action", "cancel"), ("device", "a"), ("command", "c1")])
        #expect(response.status == 303)
        #expect(harness.requests.last?.path == "/api/v1/devices/a/commands")
        #expect(harness.requests.last?.body == ["kind": "cancel", "arguments": ["command": "c1"]])
    }

    @Test func `A job shows what came of it on each device`() async throws {
        let job: JSONValue = [
            "id": "j1", "kind": "request-logs", "state": "running", "devices": 3, "done": 1, "refused": 1,
            "waiting": 1, "startedBy": "ada", "startedAt": "2026-01-02T03:01:00.000000Z",
            "arguments": ["level": "error"],
        ]
        let results: JSONValue = [
            "items": [
                ["device": "a", "name": "till a", "result": "done", "command": "c1"],
                ["device": "b", "name": "till b", "result": "refused", "detail": "The device has <left>."],
                ["device": "c", "result": "waiting"],
            ], "next": .null,
        ]
        let harness = try harness([
            "GET /api/v1/device-jobs": .init(
                body: ["items": [job, ["id": "j2", "kind": "send-beacon"]], "next": .null]),
            "GET /api/v1/device-jobs/j1": .init(body: job), "GET /api/v1/device-jobs/j1/devices": .init(body: results),
            "GET /api/v1/devices/a/commands/c1": .init(body: Self.command),
            "POST /api/v1/device-jobs/j1/cancel": .init(body: job),
        ])
        let list = try await page(harness)
        #expect(list.contains("/request-logs?job=j1") && !list.contains("job=j2"))
        let html = try await page(harness, [("job", "j1")])
        for text in [
            "1 asked, 1 not asked yet, 1 refused",
            #"data-live="commands:a,commands:b,commands:c""#, "Show the lines", "The device has &lt;left&gt;.",
            "Ask no further",
        ] { #expect(html.contains(text), "\(text)") }
        let (response, _) = try await send(harness, [("action", "cancel-job"), ("job", "j1")])
        #expect(response.status == 303 && harness.requests.last?.path == "/api/v1/device-jobs/j1/cancel")
    }

    @Test func `Viewers see requests and make none`() async throws {
        let html = try await page(try harness(), [("device", "a")], role: .viewer)
        #expect(html.contains("1 of 4 chunks") && !html.contains("Request the logs") && !html.contains("Cancel this"))
    }

    @Test func `Without devices, it lists the requests to all`() async throws {
        let gone = Self.command.with(["device": "gone", "uploads": []])
        let harness = try harness([
            "GET /api/v1/device-commands": .init(body: ["items": [Self.command, gone], "next": "more"])
        ])
        let html = try await page(harness)
        #expect(harness.requests.contains { $0.query == [("kind", "request-logs"), ("limit", "20")] })
        #expect(
            html.contains("till a") && html.contains("Show the lines") && html.contains("/request-logs?cursor=more"))
        #expect(html.contains(#"/devices/gone/commands">gone</a>"#), "a deleted device is named by its id")
        #expect(html.contains(#"data-live="logs""#))
        #expect(!html.contains("What to request"), "there is no device to request of")
    }

    @Test func `Without requests, the page says what to do`() async throws {
        let html = try await page(try harness())
        #expect(html.contains("Choose a device above to request its logs."))
    }
}
