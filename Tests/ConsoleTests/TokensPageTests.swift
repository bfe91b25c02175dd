import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct TokensPageTests {
    private static let path = "/tokens"
    private static let tokens: JSONValue = [
        "items": [
            [
                "id": "t1", "kind": "enrollment", "name": "<b>image</b>", "organization": "west", "state": "good",
                "createdAt": "2026-01-01T00:00:00.000000Z", "expiresAt": "2026-01-06T03:04:05.000000Z", "uses": 3,
                "maximumUses": 100,
            ],
            [
                "id": "t2", "kind": "person", "name": "Grace", "role": "viewer", "state": "good",
                "createdAt": "2026-01-01T00:00:00.000000Z", "expiresAt": "2026-03-01T00:00:00.000000Z",
            ],
            [
                "id": "t3", "kind": "person", "name": "", "role": "operator", "state": "revoked",
                "createdAt": "2026-01-01T00:00:00.000000Z", "revokedAt": "2026-01-02T00:00:00.000000Z",
            ],
        ], "next": .null,
    ]
    private static let organizations: JSONValue = ["items": [["name": "east"], ["name": "west"]], "next": .null]

    private static func harness() throws -> ConsoleHarness {
        try ConsoleHarness(["GET /api/v1/tokens": tokens, "GET /api/v1/organizations": organizations])
    }

    @Test func `Each token is listed with its end and the way to revoke it`() async throws {
        let harness = try Self.harness()
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: [("kind", "enrollment")]))
        #expect(harness.requests.first?.target == "/api/v1/tokens?kind=enrollment")
        #expect(page.html.contains("&lt;b&gt;image&lt;/b&gt;"))
        #expect(page.html.contains("3 of 100"))
        // Four days before its end; the other one has two months.
        #expect(page.html.contains("in 4 days"))
        #expect(page.html.components(separatedBy: "badge warn").count == 2)
        #expect(page.html.contains("/tokens?revoke=t1") && page.html.contains("/tokens?revoke=t2"))
        #expect(!page.html.contains("revoke=t3"), "it is revoked")
    }

    @Test func `An access token is made with what the form says and shown once`() async throws {
        let harness = try Self.harness()
        harness.set(
            "POST /api/v1/tokens",
            .init(status: 201, body: ["id": "t9", "name": "Ada", "role": "viewer", "token": "ws1p_secret"]))
        let form: FormFields = [
            ("action", "create-access"), ("name", " Ada "), ("role", "viewer"), ("organization", "west"),
            ("expires", "604800"), ("expiresAt", ""),
        ]
        let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form, base: "/t"))
        #expect(
            harness.requests.first?.body
                == [
                    "kind": "person", "name": "Ada", "role": "viewer", "organization": "west",
                    "expiresInSeconds": 604_800,
                ])
        let html = String(decoding: response.body, as: UTF8.self)
        #expect(html.contains("aria-label=\"The secret of the token\">ws1p_secret</pre>"))
        #expect(html.contains("https://collector.example/t/sign-in</pre>"), "a link has no token")
        #expect(!html.contains("POST"), "the request with which it was made is not one to repeat")
    }

    @Test func `A day overrides a lifetime, and nothing chosen means the API's defaults`() async throws {
        let harness = try Self.harness()
        for form: FormFields in [
            [
                ("action", "create-access"), ("name", "a"), ("role", "viewer"), ("organization", ""),
                ("expires", "3600"), ("expiresAt", "2026-05-01"),
            ],
            [("action", "create-access"), ("name", "a"), ("role", "viewer"), ("organization", ""), ("expires", "")],
        ] { _ = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form)) }
        let bodies = harness.requests.filter { $0.method == "POST" }.map(\.body)
        #expect(
            bodies == [
                ["kind": "person", "name": "a", "role": "viewer", "expiresAt": "2026-05-01"],
                ["kind": "person", "name": "a", "role": "viewer"],
            ])
    }

    @Test func `A refused form is shown again as it was filled in`() async throws {
        let harness = try Self.harness()
        harness.set("POST /api/v1/tokens", .refusal(403, "forbidden", "It would outlive yours."))
        let form: FormFields = [
            ("action", "create-access"), ("name", "\"Ada\""), ("role", "operator"), ("organization", "west"),
        ]
        let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
        let html = String(decoding: response.body, as: UTF8.self)
        #expect(response.status == 403)
        #expect(html.contains("It would outlive yours."))
        #expect(html.contains(#"value="&quot;Ada&quot;""#))
        #expect(html.contains(#"<option value="operator" selected>"#))
        #expect(html.contains(#"<option value="west" selected>"#))
        #expect(html.contains(#"<details class="card" open>"#))
    }

    @Test func `Only a person of all organizations is offered all of them`() async throws {
        let harness = try Self.harness()
        let all = try await harness.page(Self.path, harness.visit(Self.path))
        #expect(all.html.contains(">all organizations</option>") && all.html.contains(#"<option value="east">"#))
        let west = try await harness.page(Self.path, harness.visit(Self.path, organization: "west"))
        #expect(!west.html.contains(">all organizations</option>") && !west.html.contains(#"<option value="east">"#))
        #expect(west.html.contains(#"<option value="west">"#))
    }

    @Test func `Revoking asks first and names the token`() async throws {
        let harness = try Self.harness()
        let question = try await harness.page(Self.path, harness.visit(Self.path, query: [("revoke", "t1")]))
        #expect(question.html.contains("Devices that have enrolled go on."))
        #expect(question.html.contains("&lt;b&gt;image&lt;/b&gt;"))
        #expect(question.html.contains(#"<input type="hidden" name="token" value="t1">"#))
        #expect(question.html.contains(#"name="formToken" value="form-token""#))
        #expect(harness.requests.allSatisfy { $0.method == "GET" })

        harness.set("DELETE /api/v1/tokens/t1", .init(status: 204, body: .null))
        let form: FormFields = [("action", "revoke"), ("token", "t1")]
        let response = try await harness.console.answerForm(
            Self.path, harness.visit(Self.path, query: [("revoke", "t1")], form: form))
        #expect(response.status == 303)
        #expect(
            response.headers.contains { $0.name == "Location" && $0.value == "/tokens" })
        #expect(response.note == "The token is revoked.")
    }

    @Test func `A token of somebody else cannot be asked about`() async throws {
        let harness = try Self.harness()
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: [("revoke", "t77")]))
        #expect(page.status == 404)
        #expect(page.html.contains("You see no token with this id."))
    }

    @Test func `Operators and viewers have no such page`() async throws {
        let harness = try Self.harness()
        let page = try await harness.page(Self.path, harness.visit(Self.path, role: .operator))
        #expect(page.status == 403)
        #expect(harness.requests.isEmpty)
    }
}
