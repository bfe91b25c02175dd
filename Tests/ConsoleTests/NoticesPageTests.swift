import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct NoticesPageTests {
    private static let path = "/notices"

    private func harness(_ items: JSONValue...) throws -> ConsoleHarness {
        try ConsoleHarness([
            "GET /api/v1/notices": ["items": .array(items), "next": "42", "openCount": 3],
            "POST /api/v1/notices/7/mute": HomePageTests.notice(),
            "POST /api/v1/notices/7/unmute": HomePageTests.notice(),
        ])
    }

    private func page(
        _ harness: ConsoleHarness, query: FormFields = [], role: PersonRole = .operator
    ) async throws -> String {
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: query, role: role))
        #expect(page.status == 200)
        return page.html
    }

    @Test func `A notice says what to do and is live`() async throws {
        let html = try await page(try harness(HomePageTests.notice()))
        for text in [
            "3 open", "disk low", "× 2", "1 GB is free.", "Free disk space.", #"data-live="notices""#,
            "about /var/lib/ws1", "2026-01-02 01:00:00 UTC",
        ] { #expect(html.contains(text), "\(text)") }
    }

    @Test func `Code, times and sizes of a notice are shown as such`() async throws {
        let reported = HomePageTests.notice().with([
            "detail": "`ws1log <x>` shows 31214 bytes since 2026-11-28T02:07:00.000000Z."
        ])
        let html = try await page(try harness(reported))
        #expect(html.contains("<code>ws1log &lt;x&gt;</code> shows 31.2 kB since 2026-11-28 02:07:00 UTC."))
    }

    @Test func `A notice leads to its section of the runbook`() async throws {
        let harness = try harness(HomePageTests.notice())
        let html = try await page(harness)
        #expect(html.contains(#"href="/runbook#a-full-disk-at-the-collector""#))
        let runbook = try await harness.page("/runbook", harness.visit("/runbook", role: .viewer))
        #expect(runbook.status == 200 && runbook.html.contains(#"<h2 id="a-full-disk-at-the-collector">"#))
    }

    @Test func `Filters go to the API and stay on the next page`() async throws {
        let harness = try harness(HomePageTests.notice())
        let html = try await page(harness, query: [("open", "true"), ("code", "disk-low"), ("x", "y")])
        #expect(harness.requests.map(\.target) == ["/api/v1/notices?open=true&code=disk-low"])
        #expect(html.contains(#"<option value="disk-low" selected>disk low</option>"#))
        #expect(html.contains("/notices?open=true&amp;code=disk-low&amp;x=y&amp;cursor=42"))
        let nothing = try await page(try self.harness(), query: [("code", "disk-low")])
        #expect(nothing.contains("No notice matches these filters."))
    }

    @Test func `The codes are those of the API`() throws {
        #expect(try OpenAPIText.values(of: "Notice", "code") == NoticesPage.codes.sorted())
    }

    @Test(arguments: [
        ("3600", ["until": "2026-01-02T04:04:05.000000Z"] as JSONValue?), ("", nil),
    ]) func `A notice is muted for the chosen time`(seconds: String, body: JSONValue?) async throws {
        let harness = try harness(HomePageTests.notice())
        let html = try await page(harness)
        let start = try #require(html.firstRange(of: #"<form method="post" class="filters">"#)).lowerBound
        let form = SentForm.fields(of: String(html[start...])).with("seconds", seconds)
        #expect(form["action"] == "mute" && form["notice"] == "7")
        let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
        #expect(response.status == 303)
        #expect(harness.requests.last?.path == "/api/v1/notices/7/mute" && harness.requests.last?.body == body)
    }

    @Test func `A muted notice says by whom and can be unmuted`() async throws {
        let muted = HomePageTests.notice([
            "muted": [
                "by": .text(HomePageTests.hostile), "at": "2026-01-02T01:00:00.000000Z",
                "until": "2026-01-03T01:00:00.000000Z",
            ]
        ])
        let harness = try harness(muted)
        let html = try await page(harness)
        #expect(html.contains("Muted by") && html.contains("2026-01-03 01:00:00 UTC") && html.contains(">Unmute<"))
        #expect(!html.contains("<script>alert"))
        let form: FormFields = [("action", "unmute"), ("notice", "7")]
        let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
        #expect(response.status == 303 && harness.requests.last?.path == "/api/v1/notices/7/unmute")
    }

    @Test func `A viewer reads and does not mute`() async throws {
        let html = try await page(try harness(HomePageTests.notice()), role: .viewer)
        #expect(html.contains("1 GB is free.") && !html.contains("Mute"))
    }

    @Test(arguments: ["0", "-5", "31708801", "soon"]) func `A duration that is none is not sent`(seconds: String)
        async throws
    {
        let harness = try harness(HomePageTests.notice())
        let form: FormFields = [("action", "mute"), ("notice", "7"), ("seconds", seconds)]
        let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
        #expect(response.status == 422 && harness.requests.allSatisfy { $0.method == "GET" })
    }
}
