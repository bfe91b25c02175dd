import Foundation
import JSON
import Testing

@testable import Console

@Suite struct AuditPageTests {
    private static let path = "/audit"
    private static let entry: JSONValue = [
        "id": "9", "time": "2026-01-02T01:00:00.000000Z", "actor": .text(HomePageTests.hostile),
        "role": "administrator",
        "organization": "north", "action": "device-revoke", "subject": .text(HomePageTests.device),
        "detail": ["reason": .text(HomePageTests.hostile)], "outcome": "done",
    ]

    private func harness(_ items: JSONValue...) throws -> ConsoleHarness {
        try ConsoleHarness(["GET /api/v1/audit": ["items": .array(items), "next": .null]])
    }

    @Test func `An entry says when, who and what`() async throws {
        let harness = try harness(Self.entry)
        let page = try await harness.page(Self.path, harness.visit(Self.path))
        for text in [
            "2026-01-02 01:00:00 UTC", "device revoke", #"href="/devices/\#(HomePageTests.device)""#, "north",
            #"<span class="state done">done</span>"#,
        ] { #expect(page.html.contains(text), "\(text)") }
        #expect(!page.html.contains("<script>alert") && !page.html.contains("\u{202E}"))
    }

    @Test func `The time of a browser is made one of the API`() async throws {
        let harness = try harness()
        let query: FormFields = [("from", "2026-01-01T12:00"), ("to", "2026-01-02T00:00:30"), ("action", "sign-in")]
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: query))
        #expect(
            harness.requests.map(\.query.fields)
                == [
                    FormFields([
                        ("action", "sign-in"), ("from", "2026-01-01T12:00:00.000000Z"),
                        ("to", "2026-01-02T00:00:30.000000Z"),
                    ]).fields
                ])
        #expect(
            page.html.contains(#"<option value="sign-in" selected>"#)
                && page.html.contains(#"value="2026-01-01T12:00""#))
        #expect(page.html.contains("No entry matches these filters."))
        let wrong = try await harness.page(Self.path, harness.visit(Self.path, query: [("from", "noon")]))
        #expect(wrong.status == 400)
    }

    @Test func `All that match comes as CSV`() async throws {
        let harness = try ConsoleHarness([
            "GET /api/v1/audit": ["items": [Self.entry], "next": "n"],
            "GET /api/v1/audit?actor=ann&limit=1000&cursor=n": [
                "items": [Self.entry.with(["actor": "=cmd", "detail": ["a": "1", "b": "2"]])], "next": .null,
            ],
        ])
        let visit = harness.visit(Self.path, query: [("actor", "ann"), ("format", "csv")])
        let response = try await harness.console.answer(Self.path, visit)
        let lines = String(decoding: response.body, as: UTF8.self).split(separator: "\r\n")
        #expect(response.contentType.hasPrefix("text/csv") && lines.count == 3)
        #expect(lines[0] == "time,actor,role,token,organization,action,subject,outcome,job,detail")
        #expect(lines[2].contains(",'=cmd,administrator,") && lines[2].hasSuffix(#""a: 1; b: 2""#))
    }

    @Test func `The actions are those of the API`() throws {
        #expect(try OpenAPIText.values(of: "AuditAction") == AuditPage.actions.sorted())
    }
}
