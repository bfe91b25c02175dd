import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct LogsPageTests {
    private static let path = "/logs"
    private static let device = "4dc66c57-2130-45b0-beae-c4a50c91faf7"
    private static let digest = String(repeating: "ab", count: 32)

    private static let chunk: JSONValue = [
        "id": "7", "device": .text(device), "application": "com.example.till", "type": "application",
        "rawBytes": 4_998_211, "levels": ["error": 12, "warning": 0, "information": 51_182, "verbose": 0],
        "firstTime": "2026-01-01T00:00:00.000000Z", "lastTime": "2026-01-01T01:00:00.000000Z",
        "receivedAt": "2026-01-01T02:00:00.000000Z", "sha256": .text(digest),
    ]
    private static let facets: JSONValue = [
        "chunks": 1234, "lines": 51_194, "bytes": 4_998_211, "applicationCount": 103, "deviceCount": 1,
        "applications": [["application": "com.example.till", "lines": 51_000], ["lines": 194]],
        "types": [["type": "application", "lines": 51_194]], "levels": [["level": "error", "lines": 12]],
        "devices": [["device": .text(device), "name": "till 7", "lines": 51_194]],
    ]
    private static let histogram: JSONValue = [
        "from": "2026-01-01T00:00:00.000000Z", "stepSeconds": 60, "exact": false,
        "countedFrom": "2026-01-01T00:01:00.000000Z",
        "buckets": [
            "error": [.null, 12], "warning": [.null, 0], "information": [.null, 51_182], "verbose": [.null, 0],
        ],
        "total": ["error": 12, "warning": 0, "information": 51_182, "verbose": 0],
    ]
    private static let plan: JSONValue = [
        "deleted": false, "chunks": 2, "devices": 1, "lines": 51_194, "rawBytes": 9_000_000, "confirm": "c0ffee",
    ]

    private func harness(_ replies: [String: ConsoleHarness.Reply] = [:]) throws -> ConsoleHarness {
        let all: [String: JSONValue] = [
            "GET /api/v1/logs": ["items": [Self.chunk], "next": "more"], "GET /api/v1/logs/facets": Self.facets,
            "GET /api/v1/logs/histogram": Self.histogram,
            "GET /api/v1/devices/\(Self.device)": ["id": .text(Self.device), "name": "till 7", "state": "reporting"],
        ]
        return try ConsoleHarness(all.mapValues { ConsoleHarness.Reply(body: $0) }.merging(replies) { $1 })
    }

    @Test func `Chunks have their digest, their lines and a file`() async throws {
        let harness = try harness()
        let page = try await harness.page(Self.path, harness.visit(Self.path, base: "/t"))
        #expect(page.status == 200)
        for text in [
            Self.digest, "till 7", "51,182 information", "12 error", "5.00 MB", "com.example.till",
            #"href="/t/logs/view?ids=7""#, #"href="/t/data/api/v1/logs/content?ids=7&amp;order=number""#,
            #"href="/t/devices/\#(Self.device)""#, #"href="/t/logs?cursor=more""#, "1,234",
        ] { #expect(page.html.contains(text), "\(text)") }
        #expect(!page.html.contains("0 warning"), "a level without lines is left out")
    }

    @Test func `The histogram is a table of levels that zooms`() async throws {
        let harness = try harness()
        let html = try await harness.page(Self.path, harness.visit(Self.path)).html
        #expect(html.contains(#"data-chart="stacked" data-table="t-histogram""#))
        #expect(html.contains(#"data-from="from" data-to="to""#) && html.contains(#"data-color="red">error"#))
        #expect(html.contains(#"<td class="number"></td>"#), "what was not counted is a gap")
        #expect(html.contains(#"<td class="number">51,182</td>"#) && html.contains("A bar is 60 s."))
        #expect(html.contains("spread evenly") && html.contains("are not counted"))
    }

    @Test func `Logs that cannot be counted leave the page`() async throws {
        let harness = try harness(["GET /api/v1/logs/histogram": .refusal(400, "too-much", "Ask for <less>.")])
        let page = try await harness.page(Self.path, harness.visit(Self.path))
        #expect(page.status == 200 && page.html.contains("Ask for &lt;less&gt;.") && page.html.contains(Self.digest))
    }

    @Test func `The filter of the address is that of the API`() async throws {
        let harness = try harness()
        let query: FormFields = [
            ("device", Self.device), ("device", "b"), ("device", Self.device), ("application", "com.example.till"),
            ("level", "error"), ("text", "disk"), ("from", "2026-01-01T00:00"), ("to", ""), ("unknown", "x"),
        ]
        let html = try await harness.page(Self.path, harness.visit(Self.path, query: query)).html
        let asked = Dictionary(uniqueKeysWithValues: harness.requests.map { ($0.path, $0.query) })
        let histogram = try #require(asked["/api/v1/logs/histogram"])
        #expect(histogram.all("device") == [Self.device, "b"] && histogram["text"] == "disk")
        #expect(histogram["from"] == "2026-01-01T00:00:00.000000Z" && histogram["to"] == nil)
        #expect(histogram["unknown"] == nil)
        #expect(asked["/api/v1/logs"]?["text"] == nil, "whole chunks are not searched")
        #expect(html.contains("may hold such lines") && !html.contains("delete-listed"))
    }

    @Test func `A range back from now is a time for the API`() async throws {
        let harness = try harness()
        let html = try await harness.page(Self.path, harness.visit(Self.path, query: [("range", "1h")])).html
        let asked = try #require(harness.requests.first { $0.path.hasSuffix("/facets") })
        #expect(asked.query == [("from", "2026-01-02T02:04:05.000000Z")])
        #expect(html.contains(#"<a href="/logs?range=1h" aria-current="true">1 hour</a>"#))
    }

    @Test func `Facets are links that filter and undo it`() async throws {
        let harness = try harness()
        let query: FormFields = [("device", Self.device), ("application", "com.example.till")]
        let html = try await harness.page(Self.path, harness.visit(Self.path, query: query)).html
        #expect(
            html.contains(#"<a href="/logs?device=\#(Self.device)&amp;application=com.example.till&amp;level=error">"#))
        #expect(html.contains(#"<a href="/logs?device=\#(Self.device)" aria-current="true"><span>com.example.till"#))
        #expect(html.contains(#"<a href="/logs?application=com.example.till" aria-current="true"><span>till 7"#))
        #expect(html.contains("<span>without a bundle id</span>") && html.contains("101 more with fewer lines"))
    }

    @Test func `A search for devices adds them to the address`() async throws {
        let found: JSONValue = ["items": [["id": .text(Self.device)], ["id": "b"]], "total": 2, "next": .null]
        let harness = try harness(["GET /api/v1/devices": .init(body: found)])
        let query: FormFields = [("find", "till"), ("device", "b"), ("level", "error")]
        let answer = try await harness.console.answer(Self.path, harness.visit(Self.path, query: query))
        #expect(answer.status == 303)
        #expect(answer.headers.first?.value == "/logs?level=error&device=b&device=\(Self.device)")
        harness.set(
            "GET /api/v1/devices", .init(body: found.with(["items": [["id": "t", "test": true]], "total": 1])))
        let test = try await harness.console.answer(Self.path, harness.visit(Self.path, query: [("find", "x")]))
        #expect(test.headers.first?.value == "/logs?device=t&test=true", "logs of test devices are shown only if asked")
        harness.set("GET /api/v1/devices", .init(body: ["items": [], "total": 0, "next": .null]))
        let none = try await harness.page(Self.path, harness.visit(Self.path, query: query))
        #expect(none.status == 422 && none.html.contains("No device matches “till”."))
        harness.set("GET /api/v1/devices", .init(body: ["items": [], "total": 51, "next": "x"]))
        let many = try await harness.page(Self.path, harness.visit(Self.path, query: query))
        #expect(many.status == 422 && many.html.contains("51 devices found"))
    }

    @Test func `Lines of several sources name theirs in a file with its device and time`() async throws {
        let harness = try harness()
        func link(_ query: FormFields) async throws -> Substring {
            let html = try await harness.page(Self.path, harness.visit(Self.path, query: query)).html
            return try #require(html.firstMatch(of: #/<a class="button" href="([^"]*)" download="[^"]*"/#)).output.0
        }
        let all = try await link([])
        #expect(all.contains("label=source") && all.contains(#"download="logs-20260102T030405Z.txt""#))
        #expect(try await link([("application", "com.example.till")]).contains("label=source"))
        let device = try await link([("device", Self.device)])
        #expect(device.contains("label=source") && device.contains("logs-\(Self.device)-20260102T030405Z.txt"))
        let one = try await link([("device", Self.device), ("application", "com.example.till")])
        #expect(!one.contains("label="))
    }

    // MARK: Selected and listed

    @Test func `Selected chunks are one file`() async throws {
        let harness = try harness()
        let query: FormFields = [("do", "download"), ("chunk", "7"), ("chunk", "9"), ("level", "error")]
        let answer = try await harness.console.answer(Self.path, harness.visit(Self.path, query: query, base: "/t"))
        #expect(
            answer.status == 303 && answer.headers.first?.value == "/t/data/api/v1/logs/content?ids=7%2C9&label=source")
        let none = try await harness.page(Self.path, harness.visit(Self.path, query: [("do", "download")]))
        #expect(none.status == 422 && none.html.contains("No chunk is selected"))
    }

    @Test(arguments: [
        ([("do", "delete"), ("chunk", "7"), ("chunk", "9"), ("level", "error")], [("ids", "7,9")]),
        (
            [("do", "delete-listed"), ("application", "com.example.till"), ("range", "1h")],
            [("application", "com.example.till"), ("from", "2026-01-02T02:04:05.000000Z")]
        ),
    ]) func `Deleting says how much and asks`(query: [(String, String)], selection: [(String, String)]) async throws {
        let harness = try harness(["DELETE /api/v1/logs": .init(body: Self.plan)])
        let visit = harness.visit(Self.path, query: FormFields(query), organization: "west")
        let html = try await harness.page(Self.path, visit).html
        let asked = try #require(harness.requests.last)
        #expect(asked.method == "DELETE" && asked.query == FormFields(selection))
        #expect(html.contains("Delete 9 MB of logs?") && html.contains("51,194"))
        let hidden = SentForm.fields(of: String(html[try #require(html.firstRange(of: "<main")).lowerBound...]))
        let form = FormFields(hidden.fields.filter { $0.name != "formToken" }.map { ($0.name, $0.value) })
        #expect(
            Set(form.fields.map { "\($0.name)=\($0.value)" })
                == Set((selection + [("action", "delete"), ("confirm", "c0ffee")]).map { "\($0.0)=\($0.1)" }))
        harness.set("DELETE /api/v1/logs", .init(body: Self.plan.with(["deleted": true])))
        let done = try await harness.console.answerForm(
            Self.path, harness.visit(Self.path, query: FormFields(query), form: form, organization: "west"))
        #expect(done.status == 303 && done.headers.first?.value.contains("do=") == false)
        #expect(harness.requests.last?.query == FormFields(selection).with("confirm", "c0ffee"))
    }

    @Test func `Nothing is deleted without confirmation or by words`() async throws {
        let harness = try harness(["DELETE /api/v1/logs": .init(body: Self.plan)])
        let form: FormFields = [("action", "delete"), ("ids", "7")]
        let unconfirmed = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
        #expect(unconfirmed.status == 422)
        let words: FormFields = [("do", "delete-listed"), ("text", "disk")]
        #expect(try await harness.page(Self.path, harness.visit(Self.path, query: words)).status == 422)
        #expect(harness.requests.allSatisfy { $0.method == "GET" })
    }

    @Test func `What is listed of all organizations is not deleted`() async throws {
        let harness = try harness(["DELETE /api/v1/logs": .init(body: Self.plan)])
        for (query, isRefused) in [
            ([("do", "delete-listed"), ("range", "1h")] as FormFields, true),
            ([("do", "delete-listed"), ("device", "4dc66c57-2130-45b0-beae-c4a50c91faf7")], false),
            ([("do", "delete"), ("chunk", "7")], false),
        ] {
            let page = try await harness.page(Self.path, harness.visit(Self.path, query: query))
            #expect((page.status == 422) == isRefused && page.html.contains("Logs of all organizations") == isRefused)
        }
    }

    @Test func `Viewers do not see how to delete`() async throws {
        let harness = try harness()
        for role in [PersonRole.viewer, .operator] {
            let html = try await harness.page(Self.path, harness.visit(Self.path, role: role)).html
            #expect(html.contains("Delete all listed") == (role == .operator))
            #expect(html.contains(#"value="delete""#) == (role == .operator))
        }
    }

    @Test func `An empty list says where logs come from`() async throws {
        let harness = try harness([
            "GET /api/v1/logs": .init(body: ["items": [], "next": .null]),
            "GET /api/v1/logs/facets": .init(body: ["chunks": 0]),
            "GET /api/v1/logs/histogram": .init(body: ["total": ["error": 0]]),
        ])
        let html = try await harness.page(Self.path, harness.visit(Self.path)).html
        #expect(html.contains("No log has arrived yet.") && html.contains(#"href="/request-logs""#))
        #expect(!html.contains("t-histogram"))
        let filtered = try await harness.page(Self.path, harness.visit(Self.path, query: [("application", "x")])).html
        #expect(filtered.contains("No log matches these filters."))
    }

    @Test func `Values of devices stay text`() async throws {
        let hostile = JSONValue.text(#"<script>alert(1)</script>"'{{x}}\#u{202E}"#)
        let harness = try harness([
            "GET /api/v1/logs": .init(
                body: ["items": [Self.chunk.with(["application": hostile, "fileName": hostile])], "next": .null]),
            "GET /api/v1/logs/facets": .init(
                body: Self.facets.with([
                    "applications": [["application": hostile, "lines": 1]],
                    "devices": [["device": .text(Self.device), "name": hostile, "lines": 1]],
                ])),
        ])
        let html = try await harness.page(Self.path, harness.visit(Self.path)).html
        #expect(html.contains("&lt;script&gt;alert(1)"))
        #expect(!html.contains("<script>alert"))
    }
}
