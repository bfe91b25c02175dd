import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct JobsPageTests {
    private static let job: JSONValue = [
        "id": "j-1", "action": "command", "kind": "request-logs", "startedBy": "Ada <ada>",
        "arguments": ["level": "error", "maximumBytes": 5_000_000, "categories": ["net", "disk"]],
        "startedAt": "2026-01-02T03:00:00.000000Z", "state": "running", "devices": 3000, "done": 1190, "refused": 10,
        "waiting": 1800, "filter": ["state": "silent", "test": true],
    ]
    private static let path = "/jobs/{job}"
    private static let results: JSONValue = [
        "items": [
            [
                "device": "d-1", "name": "kiosk <1>", "result": "refused", "code": "device-left",
                "detail": "The device has left.", "at": "2026-01-02T03:00:01.000000Z",
            ],
            ["device": "d-2", "result": "done", "command": "c-1"],
        ], "next": "n2",
    ]

    private static func harness(_ job: JSONValue = job) throws -> ConsoleHarness {
        try ConsoleHarness([
            "GET /api/v1/device-jobs": ["items": [job], "next": .null], "GET /api/v1/device-jobs/j-1": job,
            "GET /api/v1/device-jobs/j-1/devices": results,
        ])
    }

    private static func visit(
        _ harness: ConsoleHarness, query: FormFields = [], form: FormFields = [], role: PersonRole = .operator
    ) -> Visit {
        harness.visit("/jobs/j-1", parameters: ["job": "j-1"], query: query, form: form, role: role, base: "/t")
    }

    @Test func `The list says how far each job is`() async throws {
        let harness = try Self.harness()
        let html = try await harness.page("/jobs", harness.visit("/jobs", base: "/t")).html
        #expect(html.contains(#"<a href="/t/jobs/j-1">Request logs</a>"#))
        #expect(html.contains(#"<progress max="3000" value="1200""#) && html.contains("Ada &lt;ada&gt;"))
        #expect(html.contains(#"data-live="jobs""#) && html.contains(#"href="/t/jobs" aria-current="page""#))
        let empty = try ConsoleHarness(["GET /api/v1/device-jobs": ["items": [], "next": .null]])
        #expect(try await empty.page("/jobs", empty.visit("/jobs")).html.contains(#"<a href="/devices">the list</a>"#))
    }

    @Test func `A job shows what, who and what became of each device`() async throws {
        let harness = try Self.harness()
        let html = try await harness.page(Self.path, Self.visit(harness)).html
        #expect(html.contains("1,200 of 3,000 devices: 1,190 done, 10 refused, 1,800 waiting."))
        #expect(html.contains(#"<a href="/t/devices?state=silent&amp;test=true">state silent; test devices too</a>"#))
        #expect(html.contains("5 MB") && html.contains("net, disk"))
        #expect(html.contains("kiosk &lt;1&gt;") && html.contains("The device has left. <code>device-left</code>"))
        #expect(html.contains("/t/devices/d-2/commands") && html.contains("/t/jobs/j-1?cursor=n2"))
    }

    @Test func `Results are filtered and keep the filter in CSV`() async throws {
        let harness = try Self.harness()
        let html = try await harness.page(Self.path, Self.visit(harness, query: [("result", "refused")])).html
        #expect(harness.requests.last?.query == [("result", "refused")])
        #expect(html.contains(#"href="/t/jobs/j-1?result=refused" aria-current="page">refused 10</a>"#))
        #expect(html.contains("/t/jobs/j-1?result=refused&amp;format=csv"))
        harness.set(
            "GET /api/v1/device-jobs/j-1/devices?result=refused&limit=1000&cursor=n2",
            .init(body: ["items": [["device": "d-3", "result": "refused"]], "next": .null]))
        let csv = try await harness.console.answer(
            Self.path, Self.visit(harness, query: [("result", "refused"), ("format", "csv")]))
        let rows = try await harness.rows(of: csv)
        #expect(rows.count == 4 && rows[0] == "device,name,result,code,detail,command,at")
        #expect(rows[3] == "d-3,,refused,,,,")
    }

    @Test func `Cancelling asks first`() async throws {
        let harness = try Self.harness()
        let question = try await harness.console.answerForm(
            Self.path, Self.visit(harness, form: [("action", "ask-cancel")]))
        let html = String(decoding: question.body, as: UTF8.self)
        #expect(html.contains("Cancel this job?") && html.contains("1,800"))
        #expect(harness.requests.allSatisfy { $0.method == "GET" })
        harness.set("POST /api/v1/device-jobs/j-1/cancel", .init(body: ["state": "cancelled"]))
        let done = try await harness.console.answerForm(
            Self.path, Self.visit(harness, form: [("action", "cancel")]))
        #expect(done.status == 303 && harness.requests.last?.path == "/api/v1/device-jobs/j-1/cancel")
    }

    /// The role that the action itself needs.
    @Test(arguments: [
        ("request-logs", "running", PersonRole.viewer, false), ("request-logs", "running", .operator, true),
        ("wipe", "running", .operator, false), ("wipe", "preparing", .administrator, true),
        ("wipe", "done", .administrator, false), ("future-kind", "running", .operator, false),
    ]) func `Whoever may do the action may cancel it`(kind: String, state: String, role: PersonRole, canCancel: Bool)
        async throws
    {
        let harness = try Self.harness(Self.job.with(["kind": .text(kind), "state": .text(state)]))
        let html = try await harness.page(Self.path, Self.visit(harness, role: role)).html
        #expect(html.contains("ask-cancel") == canCancel)
    }

    @Test(arguments: [
        ("do-not-disturb", true, "Begin do-not-disturb"), ("do-not-disturb", false, "End do-not-disturb"),
    ])
    func `Do not disturb says which way it is switched`(action: String, isOn: Bool, title: String) async throws {
        let job: JSONValue = [
            "id": "j-1", "action": .text(action), "on": .boolean(isOn), "startedBy": "Ada", "state": "done",
            "startedAt": "2026-01-02T03:00:00.000000Z", "devices": 1, "done": 1, "refused": 0, "waiting": 0,
        ]
        let harness = try Self.harness(job)
        let html = try await harness.page(Self.path, Self.visit(harness)).html
        #expect(html.contains(title) && html.contains("selected one by one"))
    }
}
