import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct DevicePageTests {
    private static let id = "4dc66c57-2130-45b0-beae-c4a50c91faf7"
    private static let api = "/api/v1/devices/\(id)"
    private static let hostile =
        #"<script>alert(1)</script>"'{{x}}"# + "\u{202E}" + String(repeating: "w", count: 10_000)

    private static func device(_ fields: [String: JSONValue] = [:]) -> JSONValue {
        let device: JSONValue = [
            "id": .text(id), "organization": "default", "name": "till 7", "state": "reporting", "agentVersion": "1.0.0",
            "application": "com.example.app", "test": false, "createdAt": "2025-01-01T00:00:00.000000Z",
            "enrolledAt": "2025-01-01T00:00:00.000000Z", "lastSeenAt": "2026-01-02T03:04:00.000000Z",
            "lastBeaconAt": "2026-01-02T03:00:00.000000Z", "expectedBeaconSeconds": 900,
            "possibleSuccessors": ["5dc66c57-2130-45b0-beae-c4a50c91faf7"],
            "beacon": ["network": "ethernet", "modules": ["system"], "trigger": "schedule"],
            "verdicts": [
                "deviceCompliance": "non-compliant", "applicationCompliance": "compliant", "compromised": "yes",
                "reportedAt": "2026-01-02T03:00:00.000000Z",
                "rules": [["rule": "os", "state": "non-compliant", "actual": "11", "expected": ">= 12"]],
                "findings": [["detector": "tracer-attached", "verdict": "yes", "evidence": "TracerPid 42"]],
            ],
        ]
        return device.with(fields)
    }

    private static let empty: JSONValue = ["items": [], "next": .null]

    private static let series: JSONValue = [
        "from": "2026-01-01T03:00:00.000000Z", "stepSeconds": 900, "buckets": 2,
        "series": [
            [
                "metric": "system.memory.limit", "unit": "By", "kind": "up-down-counter", "attributes": [:],
                "values": ["mean": [4_000_000_000, .null], "rate": [.null, .null]],
            ]
        ],
    ]

    private func harness(
        _ device: JSONValue = device(), _ replies: [String: ConsoleHarness.Reply] = [:]
    ) throws -> ConsoleHarness {
        var all: [String: JSONValue] = [
            "GET \(Self.api)": device, "GET /api/v1/notices": Self.empty,
            "GET \(Self.api)/do-not-disturb": ["on": false, "allowed": true, "revision": 0],
            "GET \(Self.api)/samples/series": Self.series, "GET \(Self.api)/beacons": Self.empty,
            "GET \(Self.api)/commands": Self.empty, "GET \(Self.api)/uploads": Self.empty,
            "GET /api/v1/events": Self.empty, "GET /api/v1/audit": Self.empty,
            "GET /api/v1/profile-revisions/default": Self.empty, "GET \(Self.api)/samples": Self.empty,
            "GET \(Self.api)/positions": Self.empty,
            "GET /api/v1/metrics-catalog": [
                "items": [["metric": "system.memory.limit", "module": "system", "description": "Memory"]]
            ],
            "GET \(Self.api)/balance": ["closes": true, "streams": [], "totals": [:], "findings": []],
        ]
        all["POST \(Self.api)/commands"] = ["expiresAt": "2026-01-03T03:04:05.000000Z"]
        return try ConsoleHarness(all.mapValues { ConsoleHarness.Reply(body: $0) }.merging(replies) { $1 })
    }

    private func visit(
        _ harness: ConsoleHarness, _ tab: String = "", query: FormFields = [], form: FormFields = [],
        role: PersonRole = .administrator
    ) -> Visit {
        harness.visit(
            "/devices/\(Self.id)\(tab)", parameters: ["device": Self.id], query: query, form: form, role: role)
    }

    private func page(
        _ harness: ConsoleHarness, _ tab: String = "", query: FormFields = [], role: PersonRole = .administrator
    ) async throws -> String {
        let page = try await harness.page(
            "/devices/{device}\(tab)", visit(harness, tab, query: query, role: role))
        #expect(page.status == 200)
        return page.html
    }

    /// Sends a form, and gives the answer with the request that changed something.
    private func send(
        _ harness: ConsoleHarness, _ tab: String, _ form: FormFields
    ) async throws -> (response: Console.Response, change: APIRequest?) {
        let response = try await harness.console.answerForm(
            "/devices/{device}\(tab)", visit(harness, tab, form: form))
        return (response, harness.requests.last { $0.method != "GET" })
    }

    private static let tabs = ["", "/timeline", "/system", "/balance", "/commands", "/manage"]

    // MARK: Reading

    @Test(arguments: ["silent", "reporting"])
    func `A silent device without a notice says when notices begin`(state: String) async throws {
        let harness = try harness(Self.device(["state": .text(state)]))
        var console = harness.console
        console.silenceNoticesFrom = { ConsoleHarness.now + 60_000_000 }
        let visit = harness.visit("/devices/\(Self.id)", parameters: ["device": Self.id])
        let html = String(decoding: try await console.answer("/devices/{device}", visit).body, as: UTF8.self)
        #expect(html.contains("No notice about it is open."))
        #expect(html.contains("Notices about silent devices begin at") == (state == "silent"))
    }

    @Test func `A device that enrolled anew offers the logs of the former one`() async throws {
        let former = "3dc66c57-2130-45b0-beae-c4a50c91faf7"
        for (predecessors, isOffered) in [([JSONValue.text(former)], true), ([], false)] {
            let harness = try harness(Self.device(["possiblePredecessors": .array(predecessors)]))
            for tab in ["", "/manage"] {
                #expect(try await page(harness, tab).contains(former) == isOffered, "\(tab)")
            }
            #expect(try await page(harness).contains("/logs?device=\(former)") == isOffered)
        }
    }

    @Test func `The overview says how it is and what is known`() async throws {
        let html = try await page(try harness())
        for text in [
            "till 7", "reporting", "2026-01-02 03:15:00 UTC", "every 15 min", "compromised-yes", "TracerPid 42",
            "&gt;= 12", #"<td class="number" data-value="4e+09">4 GB</td>"#, #"<td class="number"></td>"#,
            #"data-chart="line" data-table="t-memory" data-unit="By""#, #"aria-current="page">Overview"#,
        ] { #expect(html.contains(text), "\(text)") }
    }

    @Test(arguments: tabs) func `Every page has the head and no markup of a device`(tab: String) async throws {
        let hostile = Self.hostile
        let text = JSONValue.text(hostile)
        let record: JSONValue = [
            "time": "2026-01-02T03:00:00.000000Z", "event": ["name": text, "value": text, "attributes": ["a": text]],
            "sample": [
                "adapters": [["name": text, "mac": text, "addresses": [["address": text]]]],
                "fileSystems": [["mountPoint": text, "device": text, "size": 5, "used": 1]],
                "interfaces": [["name": text, "ssid": .text(Data(hostile.utf8).base64EncodedString())]],
                "temperatures": [["sensor": text, "millidegrees": 42_000]],
            ],
        ]
        let list: JSONValue = ["items": [record], "next": .null]
        let command: JSONValue = [
            "kind": text, "state": text, "detail": text, "issuedBy": text, "arguments": ["text": text],
            "deviceInformation": ["attributes": ["a": text]], "issuedAt": "2026-01-02T03:00:00.000000Z",
            "wipeCertificate": [
                "isVerified": .boolean(false), "finding": text, "method": text, "provider": text,
                "keys": [["purpose": text, "fingerprint": text]], "file": text,
            ],
        ]
        let device = Self.device([
            "name": text, "agentVersion": text, "application": text,
            "beacon": ["userFullName": text, "modules": [text], "profileFindings": [text], "network": text],
            "identity": ["hostName": text],
            "verdicts": [
                "findings": [["detector": text, "evidence": text]], "rules": [["rule": text, "actual": text]],
            ],
        ])
        let harness = try harness(
            device,
            [
                "GET \(Self.api)/samples": .init(body: list), "GET /api/v1/events": .init(body: list),
                "GET \(Self.api)/commands": .init(body: ["items": [command], "next": .null]),
                "GET /api/v1/notices": .init(body: ["items": [["code": "x", "detail": text]], "next": .null]),
                "GET /api/v1/audit": .init(
                    body: ["items": [["actor": text, "subject": text, "detail": ["a": text]]], "next": .null]),
            ])
        let html = try await page(harness, tab)
        #expect(html.contains("&lt;script&gt;alert(1)"))
        #expect(!html.contains("<script>alert") && !html.contains("\u{202E}"))
        #expect(html.contains(#"<nav class="tabs""#) && html.contains(#"id="device-head""#))
    }

    @Test func `A wipe's certificate is shown with its verdict and its file`() async throws {
        for (isVerified, shown) in [(true, "verified: the device signed it"), (false, "not verified: it is wrong")] {
            let command: JSONValue = [
                "kind": "wipe", "state": "done", "issuedAt": "2026-01-02T03:00:00.000000Z",
                "wipeCertificate": [
                    "isVerified": .boolean(isVerified), "finding": "it is wrong", "method": "no keys",
                    "receivedAt": "2026-01-02T03:05:00.000000Z", "endedAt": "2026-01-02T03:04:05.000000Z",
                    "file": "the file",
                ],
            ]
            let harness = try harness(
                Self.device(), ["GET \(Self.api)/commands": .init(body: ["items": [command], "next": .null])])
            let html = try await page(harness, "/commands")
            for text in ["<dd>\(shown)", "<dd>no keys</dd>", ">the file</pre>", "2026-01-02T03:04:05"] {
                #expect(html.contains(text), "\(text)")
            }
            let overview = try await page(harness, "")
            #expect(overview.contains(">verified</span>") == isVerified)
            #expect(overview.contains(">not verified</span>: <span class=\"long\">it is wrong</span>") == !isVerified)
        }
        #expect(!(try await page(try harness(Self.device()), "")).contains("It was wiped"))
    }

    @Test func `The records of a test device are asked for`() async throws {
        for isTest in [true, false] {
            for tab in ["", "/timeline", "/system"] {
                let harness = try harness(Self.device(["test": .boolean(isTest)]))
                _ = try await page(harness, tab)
                let records = harness.requests.filter {
                    ["beacons", "events", "samples", "series"].contains($0.path.split(separator: "/").last)
                }
                #expect(!records.isEmpty)
                #expect(records.allSatisfy { ($0.query["test"] == "true") == isTest }, "\(tab)")
            }
        }
    }

    @Test func `Chosen metrics and range are asked for in whole buckets`() async throws {
        let harness = try harness()
        let html = try await page(
            harness, query: [("from", "2026-01-01T00:00:10Z"), ("to", "2026-01-01T01:00:00Z"), ("metric", "ws1.x")])
        let asked = try #require(harness.requests.first { $0.path.hasSuffix("/series") })
        #expect(asked.query.all("metric") == ["ws1.x"])
        #expect(asked.query["step"] == "60" && asked.query["from"] == "2026-01-01T00:00:00.000000Z")
        #expect(asked.query["to"] == "2026-01-01T01:00:00.000000Z")
        #expect(html.contains("ws1.x: no sample of this range has it."))
        #expect(html.contains(#"name="metric" value="ws1.x" checked"#))
    }

    @Test func `Metrics of a program's own modules can be chosen`() async throws {
        let sample: JSONValue = [
            "module": "printer", "sample": ["measurements": [["name": "printer.sheets"], ["name": "printer.jams"]]],
        ]
        let harness = try harness(
            Self.device(["beacon": ["modules": ["system", "custom"]]]),
            ["GET \(Self.api)/samples": .init(body: ["items": [sample], "next": .null])])
        let html = try await page(harness)
        #expect(html.contains("<legend>printer</legend>") && html.contains(#"name="metric" value="printer.jams""#))
        #expect(html.contains(#"name="metric" value="system.memory.limit" checked"#))
        #expect(!html.contains("<legend>custom</legend>"))
    }

    @Test func `A resource of OTLP has charts of what it sent, and its log records`() async throws {
        let point: JSONValue = [
            "otlp": ["metrics": [["name": "b.duration", "description": "How long"], ["name": "a.level"]]]
        ]
        let series: JSONValue = [
            "from": "2026-01-01T03:00:00.000000Z", "stepSeconds": 900, "buckets": 2,
            "series": [
                [
                    "metric": "b.duration", "unit": "s", "kind": "delta-histogram", "attributes": ["route": "/pay"],
                    "values": ["mean": [1, .null], "p50": [2, .null], "p95": [3, .null]],
                ],
                [
                    "metric": "a.level", "unit": "%", "kind": "gauge", "attributes": [:],
                    "values": ["mean": [70, .null]],
                ],
            ],
        ]
        let log: JSONValue = [
            "time": "2026-01-02T03:00:00.000000Z",
            "event": ["type": "otlp-log", "name": "ERROR", "value": "the till is stuck"],
        ]
        let harness = try harness(
            Self.device(["kind": "otlp", "state": "otlp", "beacon": .null]),
            [
                "GET \(Self.api)/samples": .init(body: ["items": [point, point], "next": .null]),
                "GET \(Self.api)/samples/series": .init(body: series),
                "GET /api/v1/events": .init(body: ["items": [log], "next": .null]),
            ])
        let html = try await page(harness)
        let asked = try #require(harness.requests.first { $0.path.hasSuffix("/series") })
        #expect(asked.query.all("metric") == ["a.level", "b.duration"])
        #expect(asked.query["aggregate"] == "mean,rate,p50,p95")
        for text in [
            "<legend>otlp</legend>", #"name="metric" value="a.level" checked"#, ">median</th>", ">95th percentile</th>",
            "ERROR: the till is stuck", "How long",
        ] { #expect(html.contains(text), "\(text)") }
        #expect(harness.requests.filter { $0.path == "/api/v1/events" }.map { $0.query["kind"] } == ["otlp-log"])
        // Nobody judges it, and percent are no share.
        #expect(!html.contains("Compliance and compromise") && html.contains(#"data-value="70">70 %</td>"#))
        // Its usual charts would be empty.
        #expect(!html.contains("system.memory.limit"))
    }

    @Test func `A resource of OTLP that sends no metrics has a page`() async throws {
        let html = try await page(try harness(Self.device(["kind": "otlp", "state": "otlp", "beacon": .null])))
        #expect(html.contains("It has sent no metrics lately.") && html.contains("No log record."))
    }

    @Test func `Charts that the API refuses leave the page`() async throws {
        let harness = try harness(
            Self.device(), ["GET \(Self.api)/samples/series": .refusal(400, "invalid-parameter", "`metric` is <odd>.")])
        let html = try await page(harness)
        #expect(html.contains("<code>metric</code> is &lt;odd&gt;.") && html.contains("every 15 min"))
    }

    @Test func `A time that is none is refused`() async throws {
        for tab in ["", "/timeline"] {
            let harness = try harness()
            let response = try await harness.page(
                "/devices/{device}\(tab)", visit(harness, tab, query: [("from", "<soon>")]))
            #expect(response.status == 400 && response.html.contains("&lt;soon&gt;"))
        }
    }

    @Test func `The timeline asks only for what is wanted and leads to older entries`() async throws {
        let cut: JSONValue = [
            "items": [
                ["time": "2026-01-02T03:00:00.000000Z", "event": ["name": "a"]],
                ["time": "2026-01-02T02:00:00.000000Z", "event": ["name": "b"]],
            ], "next": "more",
        ]
        let harness = try harness(Self.device(), ["GET /api/v1/events": .init(body: cut)])
        let html = try await page(harness, "/timeline", query: [("kind", "event")])
        #expect(Set(harness.requests.map(\.path)) == [Self.api, "/api/v1/events"])
        #expect(
            html.contains("2026-01-02T03:00:00.000000Z") && !html.contains(#"datetime="2026-01-02T02:00:00.000000Z""#))
        #expect(html.contains("kind=event&amp;to=2026-01-02T02%3A00%3A00.000001Z"))
    }

    @Test func `The audit trail is for administrators`() async throws {
        for role in [PersonRole.viewer, .operator, .administrator] {
            for tab in ["/timeline", "/manage"] {
                let harness = try harness()
                let html = try await page(harness, tab, role: role)
                let asked = harness.requests.filter { $0.path == "/api/v1/audit" }
                #expect(asked.map { $0.query["subject"] } == (role == .administrator ? [Self.id] : []))
                #expect(html.contains("shown to administrators") == (role != .administrator && tab == "/timeline"))
            }
        }
    }

    @Test func `The balance says whether it closes and why records were dropped`() async throws {
        func stream(_ closes: Bool) -> JSONValue {
            [
                "epoch": "e1", "stream": "sample", "produced": 10, "stored": 6, "waiting": 1, "rejected": ["policy": 1],
                "dropped": ["age-cap": 2], "lostAtCollector": 0, "closed": false, "closes": .boolean(closes),
            ]
        }
        let totals: JSONValue = [
            "recordsProduced": 10, "recordsStored": 6, "recordsRejected": 1, "recordsDropped": 2,
            "recordsLostAtCollector": 0, "recordsWaiting": 1, "leftOut": 0,
        ]
        func html(_ closes: Bool) async throws -> String {
            let body: JSONValue = [
                "closes": .boolean(closes), "totals": totals, "streams": [stream(closes)],
                "findings": closes
                    ? [] : [["epoch": "e1", "stream": "sample", "code": "device-claims", "message": "1 + 1"]],
            ]
            return try await page(
                try harness(Self.device(), ["GET \(Self.api)/balance": .init(body: body)]), "/balance")
        }
        let good = try await html(true)
        #expect(good.contains("The balance closes.") && good.contains("note good"))
        #expect(good.contains("10 produced = 6 stored + 1 rejected + 2 dropped + 0 lost at the collector + 1 waiting"))
        #expect(good.contains("It waited longer than the device keeps records."))
        #expect(good.contains("The organization refuses this kind, or devices may not send it."))
        let bad = try await html(false)
        #expect(bad.contains("The balance does not close") && bad.contains("1 + 1") && !bad.contains("note good"))
        #expect(try await page(try harness(), "/balance").contains("No record has arrived yet"))
    }

    @Test func `A balance of many epochs leads to its next page`() async throws {
        let stream: JSONValue = ["epoch": "e1", "stream": "event", "closes": true, "closed": true]
        let body: JSONValue = [
            "closes": true, "totals": ["streams": 300], "streams": [stream], "findings": [], "next": "e9",
        ]
        let html = try await page(
            try harness(Self.device(), ["GET \(Self.api)/balance": .init(body: body)]), "/balance")
        #expect(html.contains("/balance?cursor=e9") && html.contains("the sums above are of all"))
    }

    // MARK: Commands

    @Test(
        arguments: [
            ([("action", "send-beacon")], "{}"),
            (
                [("action", "change-log-level"), ("level", "verbose"), ("durationSeconds", "60"), ("application", "")],
                #"{"durationSeconds":3600,"level":"verbose"}"#
            ),
            (
                [
                    ("action", "request-logs"), ("mode", "snapshot"), ("captureSeconds", "10"), ("type", "crash"),
                    ("level", "error"), ("since", "2026-01-01T10:00"), ("maximumBytes", "5"), ("categories", "a, b*"),
                    ("includeVerboseRing", "on"),
                ],
                #"{"categories":["a","b*"],"includeVerboseRing":true,"level":"error","maximumBytes":5000000,"#
                    + #""mode":"snapshot","since":"2026-01-01T10:00:00.000000Z","type":"crash"}"#
            ),
            (
                [("action", "request-logs"), ("mode", "capture"), ("captureSeconds", "10"), ("level", "verbose")],
                #"{"captureSeconds":600,"level":"verbose","mode":"capture"}"#
            ),
            ([("action", "cancel"), ("command", "c1")], #"{"command":"c1"}"#),
            (
                [
                    ("action", "message"), ("isMessage", "yes"), ("messageText", "one\r\n<two>"),
                    ("payload", "AA\r\n=="), ("contentType", " image/png "),
                ],
                #"{"contentType":"image/png","payload":"AA==","text":"one\n<two>"}"#
            ),
            (
                [("action", "change-log-level"), ("level", "error"), ("durationSeconds", "soon")],
                #"{"durationSeconds":"soon","level":"error"}"#
            ),
        ] as [([(String, String)], String)])
    func `A form issues its command`(form: [(String, String)], arguments: String) async throws {
        let (response, change) = try await send(try harness(), "/commands", FormFields(form))
        #expect(response.status == 303)
        #expect(change?.method == "POST" && change?.path == "\(Self.api)/commands")
        #expect(change?.body?["kind"].text == form[0].1)
        #expect(change?.body?["arguments"].compactText == arguments)
    }

    @Test func `A waiting command is ended by whoever may request it`() async throws {
        func html(_ kind: String, _ state: String, _ role: PersonRole) async throws -> String {
            let command: JSONValue = [
                "id": "c1", "kind": .text(kind), "state": .text(state), "progress": 0, "arguments": [:],
                "issuedAt": "2026-01-02T03:00:00.000000Z", "issuedBy": "Ada",
            ]
            let list: JSONValue = ["items": [command], "next": .null]
            return try await page(
                try harness(Self.device(), ["GET \(Self.api)/commands": .init(body: list)]), "/commands", role: role)
        }
        let button = "Do not send it any more"
        #expect(try await html("send-beacon", "queued", .operator).contains(button))
        #expect(try await html("send-beacon", "done", .operator).contains(button) == false)
        #expect(try await html("send-beacon", "queued", .viewer).contains(button) == false)
        #expect(try await html("wipe", "queued", .operator).contains(button) == false)
        #expect(try await html("wipe", "queued", .administrator).contains(button))
        let ending = try harness(Self.device(), ["DELETE \(Self.api)/commands/c1": .init(body: ["state": "expired"])])
        let (response, change) = try await send(ending, "/commands", [("action", "end"), ("command", "c1")])
        #expect(response.status == 303 && change?.method == "DELETE" && change?.path == "\(Self.api)/commands/c1")
    }

    @Test func `A refused command shows the form as it was filled in`() async throws {
        let harness = try harness(
            Self.device(), ["POST \(Self.api)/commands": .refusal(409, "too-many-commands", "32 commands wait.")])
        let (response, _) = try await send(
            harness, "/commands", [("action", "request-logs"), ("mode", "capture"), ("text", "needle")])
        let html = String(decoding: response.body, as: UTF8.self)
        #expect(response.status == 409 && html.contains("32 commands wait."))
        #expect(html.contains(#"value="needle""#) && html.contains(#"value="capture" selected"#))
    }

    @Test func `Commands are live, and a request that has not ended can be cancelled`() async throws {
        func html(_ state: String, _ role: PersonRole) async throws -> String {
            let command: JSONValue = [
                "id": "c1", "kind": "request-logs", "state": .text(state), "progress": .real(0.25), "arguments": [:],
                "issuedAt": "2026-01-02T03:00:00.000000Z", "issuedBy": "Ada",
            ]
            let list: JSONValue = ["items": [command], "next": "n"]
            return try await page(
                try harness(Self.device(), ["GET \(Self.api)/commands": .init(body: list)]), "/commands", role: role)
        }
        let running = try await html("running", .operator)
        #expect(running.contains(#"data-live="commands:\#(Self.id)""#) && running.contains("25 %"))
        #expect(running.contains("Cancel this request") && running.contains("cursor=n"))
        #expect(try await html("done", .operator).contains("Cancel this request") == false)
        let viewer = try await html("running", .viewer)
        #expect(!viewer.contains("Cancel this request") && !viewer.contains("Send a beacon"))
    }

    // MARK: Managing

    @Test(
        arguments: [
            ([("action", "do-not-disturb"), ("on", "true")], "PUT", "/do-not-disturb", #"{"on":true}"#),
            ([("action", "do-not-disturb"), ("on", "false")], "PUT", "/do-not-disturb", #"{"on":false}"#),
            ([("action", "revoke")], "POST", "/revoke", #"{"closeEnrollmentToken":false}"#),
            (
                [("action", "revoke"), ("closeEnrollmentToken", "yes")], "POST", "/revoke",
                #"{"closeEnrollmentToken":true}"#
            ),
            ([("action", "reinstate")], "POST", "/reinstate", ""),
            ([("action", "predecessor"), ("predecessor", " p1 ")], "POST", "/predecessor", #"{"device":"p1"}"#),
            ([("action", "predecessor"), ("predecessor", "")], "POST", "/predecessor", #"{"device":null}"#),
        ] as [([(String, String)], String, String, String)])
    func `A decision goes to the API`(form: [(String, String)], method: String, path: String, body: String) async throws
    {
        let harness = try harness(Self.device(), ["\(method) \(Self.api)\(path)": .init(body: .null)])
        let (response, change) = try await send(harness, "/manage", FormFields(form))
        #expect(response.status == 303)
        #expect(change?.method == method && change?.path == Self.api + path)
        #expect(change?.body?.compactText ?? "" == body)
    }

    @Test func `A successor is set on the other device`() async throws {
        let other = "/api/v1/devices/5dc66c57-2130-45b0-beae-c4a50c91faf7/predecessor"
        let harness = try harness(Self.device(), ["POST \(other)": .init(body: .null)])
        let (response, change) = try await send(
            harness, "/manage", [("action", "successor"), ("successor", "5dc66c57-2130-45b0-beae-c4a50c91faf7")])
        #expect(response.status == 303 && change?.path == other)
        #expect(change?.body?["device"].text == Self.id)
    }

    @Test(arguments: ["wipe", "enterprise-wipe"]) func `A wipe needs the device's name`(kind: String) async throws {
        for name in ["till 8", "", "TILL 7"] {
            let (response, change) = try await send(
                try harness(), "/manage", [("action", "wipe"), ("kind", kind), ("confirmName", name)])
            #expect(response.status == 422 && change == nil, "\(name)")
        }
        let (response, change) = try await send(
            try harness(), "/manage",
            [("action", "wipe"), ("kind", kind), ("confirmName", " till  7 "), ("reason", "stolen")])
        #expect(response.status == 303)
        #expect(change?.path == "\(Self.api)/commands" && change?.body?["kind"].text == kind)
        #expect(change?.body?["arguments"].compactText == #"{"reason":"stolen"}"#)
    }

    /// A person types what the page shows.
    @Test func `A name with hidden characters is typed as it is shown`() async throws {
        let harness = try harness(Self.device(["name": .text("a\u{202E}b\nc")]))
        let (response, _) = try await send(
            harness, "/manage", [("action", "wipe"), ("kind", "wipe"), ("confirmName", #"a\u{202E}b c"#)])
        #expect(response.status == 303)
        let nameless = try self.harness(Self.device(["name": ""]))
        let (other, _) = try await send(
            nameless, "/manage", [("action", "wipe"), ("kind", "wipe"), ("confirmName", Self.id)])
        #expect(other.status == 303)
    }

    @Test func `A deletion asks first and then needs the name`() async throws {
        let plan: JSONValue = ["deleted": false, "logChunks": 12, "logRawBytes": 5_000_000, "confirm": "c-1"]
        let harness = try harness(Self.device(), ["DELETE \(Self.api)": .init(body: plan)])
        let (question, first) = try await send(harness, "/manage", [("action", "delete")])
        let html = String(decoding: question.body, as: UTF8.self)
        #expect(question.status == 200 && first?.query.isEmpty == true)
        #expect(html.contains("12 chunks, 5 MB") && html.contains(#"name="confirm" value="c-1""#))
        let (refused, same) = try await send(
            harness, "/manage", [("action", "delete"), ("confirm", "c-1"), ("confirmName", "till")])
        #expect(refused.status == 422 && same?.query.isEmpty == true)
        let (done, second) = try await send(
            harness, "/manage", [("action", "delete"), ("confirm", "c-1"), ("confirmName", "till 7")])
        #expect(done.status == 303 && second?.query["confirm"] == "c-1")
        #expect(done.headers.first { $0.name == "Location" }?.value == "/devices")
        #expect(done.note?.isEmpty == false)
    }

    @Test func `A role sees what it may do`() async throws {
        func shown(_ role: PersonRole) async throws -> [Bool] {
            let html = try await page(try harness(), "/manage", role: role)
            return ["Begin do-not-disturb", "Revoke", "Wipe the device", "Delete the device", "Make it the successor"]
                .map(
                    html.contains)
        }
        #expect(try await shown(.viewer) == [false, false, false, false, false])
        #expect(try await shown(.operator) == [true, false, false, false, false])
        #expect(try await shown(.administrator) == [true, true, true, true, true])
        let revoked = Self.device(["revokedAt": "2026-01-02T03:00:00.000000Z", "state": "revoked"])
        #expect(try await page(try harness(revoked), "/manage").contains(">Reinstate<"))
    }

    @Test(arguments: tabs) func `A device that is not the visitor's is not there`(tab: String) async throws {
        let harness = try ConsoleHarness([String: JSONValue]())
        let response = try await harness.page("/devices/{device}\(tab)", visit(harness, tab))
        #expect(response.status == 404)
        #expect(harness.requests.map(\.path) == [Self.api])
    }

    @Test(arguments: tabs) func `Links start with the proxy's prefix`(tab: String) async throws {
        let harness = try harness()
        let visit = harness.visit("/devices/\(Self.id)\(tab)", parameters: ["device": Self.id], base: "/t")
        let html = try await harness.page("/devices/{device}\(tab)", visit).html
        let links = html.matches(of: #/(?:href|src|action)="(?<to>[^"]*)"/#).map { String($0.output.to) }
        #expect(links.allSatisfy { $0.hasPrefix("/t/") || $0.hasPrefix("#") }, "\(links)")
    }
}
