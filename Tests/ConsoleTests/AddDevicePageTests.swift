import Foundation
import JSON
import Testing

@testable import Console

@Suite struct AddDevicePageTests {
    private static let path = "/add-device"
    private static let token: JSONValue = [
        "id": "t1", "kind": "enrollment", "name": "tills", "organization": "west", "state": "good", "uses": 1,
        "maximumUses": 5, "expiresAt": "2026-02-01T00:00:00.000000Z", "createdAt": "2026-01-01T00:00:00.000000Z",
    ]
    private static let devices: JSONValue = [
        "items": [
            ["id": "d1", "name": "<i>till</i>", "state": "reporting", "enrolledAt": "2026-01-02T00:00:00.000000Z"]
        ],
        "next": .null, "total": 1,
    ]

    private static func harness() throws -> ConsoleHarness {
        try ConsoleHarness([
            "GET /api/v1/tokens": ["items": [token], "next": .null], "GET /api/v1/devices": devices,
            "GET /api/v1/organizations": ["items": [["name": "east"], ["name": "west"]], "next": .null],
        ])
    }

    private static func form(_ changes: (String, String?)...) -> FormFields {
        var form: FormFields = [
            ("action", "create"), ("organization", "west"), ("maximumUses", "5"), ("expires", "86400"),
            ("expiresAt", ""), ("name", "tills"), ("address", "https://c.example/t"), ("pinned", "yes"),
        ]
        for (name, value) in changes { form = form.with(name, value) }
        return form
    }

    /// The page after the form was sent.
    private static func made(
        _ form: FormFields, pins: Int = 2, authorities: Int = 0
    ) async throws -> (body: JSONValue?, html: String) {
        let harness = try harness()
        let url = "\(form["address"] ?? "")#pin=a&token=secret&version=1"
        harness.set(
            "POST /api/v1/tokens",
            .init(
                status: 201,
                body: token.with([
                    "token": "secret", "enrollmentURL": .text(url), "enrollmentPins": JSONValue(pins),
                    "enrollmentAuthorities": JSONValue(authorities),
                ])))
        let response = try await harness.console.answerForm(path, harness.visit(path, form: form, base: "/t"))
        return (harness.requests.first?.body, String(decoding: response.body, as: UTF8.self))
    }

    @Test func `The form starts with one device and the address that the browser sees`() async throws {
        let harness = try Self.harness()
        let page = try await harness.page(
            Self.path, harness.visit(Self.path, query: [("organization", "west")], base: "/t"))
        #expect(page.html.contains(#"name="address" value="https://collector.example/t""#))
        #expect(page.html.contains(#"name="maximumUses" value="1""#))
        #expect(page.html.contains(#"<option value="west" selected>"#))
        #expect(page.html.contains(#"<option value="2592000" selected>"#))
        #expect(!page.html.contains(#"name="pinned" value="yes" checked"#), "a proxy stands before the collector")
        let direct = try await harness.page(Self.path, harness.visit(Self.path))
        #expect(direct.html.contains(#"name="pinned" value="yes" checked"#))
    }

    @Test func `The token is made with the limits of the form`() async throws {
        let made = try await Self.made(Self.form())
        #expect(
            made.body
                == [
                    "kind": "enrollment", "name": "tills", "organization": "west", "maximumUses": 5,
                    "expiresInSeconds": 86_400, "address": "https://c.example/t",
                ])
        let other = try await Self.made(
            Self.form(("unlimited", "yes"), ("pinned", nil), ("expiresAt", "2026-05-01"), ("name", "")))
        #expect(
            other.body
                == [
                    "kind": "enrollment", "organization": "west", "unlimited": true, "expiresAt": "2026-05-01",
                    "address": "https://c.example/t", "pinned": false,
                ])
    }

    @Test func `There is a line each for the packages, the container and the library`() async throws {
        let html = try await Self.made(Self.form()).html
        let url = "https://c.example/t#pin=a&amp;token=secret&amp;version=1"
        let variable = "WS1_ENROLLMENT=&#39;\(url)&#39;"
        #expect(html.contains(">\(variable) apt-get install -y ./ws1agent_*.deb</pre>"))
        #expect(html.contains(">\(variable) dnf install -y ./ws1agent-*.rpm</pre>"))
        #expect(html.contains(">tar -xzf ws1agent-*.tar.gz &amp;&amp; \(variable) ws1agent-*/install</pre>"))
        #expect(html.contains("-v ws1agent:/data -e \(variable) ws1agent</pre>"))
        #expect(html.contains("enrollmentURL: &quot;\(url)&quot;)</pre>"))
        #expect(html.contains("The lines pin the collector"))
        #expect(!html.contains("PLAINTEXT") && !html.contains("Anybody on the way"))
    }

    @Test func `The page says whether the lines bring the collector's authority`() async throws {
        for pins in [0, 2] {
            let brought = try await Self.made(Self.form(), pins: pins, authorities: 1).html
            #expect(brought.contains(pins == 0 ? "and the one in them" : "and bring its certificate authority"))
            let plain = try await Self.made(Self.form(), pins: pins).html
            #expect(!plain.contains("the one in them") && !plain.contains("bring its certificate authority"))
        }
    }

    @Test func `Plain HTTP to another machine is reported and allowed on the device`() async throws {
        let exposed = try await Self.made(Self.form(("address", "http://c.example:8420")), pins: 0).html
        for line in ["apt-get install", "dnf install", "ws1agent-*/install"] {
            #expect(exposed.contains("&#39; WS1_ALLOW_PLAINTEXT=true \(line)"), "\(line)")
        }
        #expect(exposed.contains("&#39; -e WS1_ALLOW_PLAINTEXT=true ws1agent</pre>"))
        #expect(exposed.contains("configuration.allowsPlaintext = true"))
        #expect(exposed.contains("Anybody on the way can read"))
        for address in ["http://127.0.0.1:8420", "http://localhost:8420", "http://[::1]:8420"] {
            let local = try await Self.made(Self.form(("address", address)), pins: 0).html
            #expect(!local.contains("PLAINTEXT") && local.contains("Other machines cannot reach"), "\(address)")
        }
    }

    @Test func `An address cannot leave the quotes of a shell`() async throws {
        let html = try await Self.made(Self.form(("address", "https://c.example/';reboot;'"))).html
        #expect(html.contains(#"WS1_ENROLLMENT=&#39;https://c.example/&#39;\&#39;&#39;;reboot;&#39;\&#39;&#39;#pin"#))
    }

    @Test func `Without pins, the page says how to get them`() async throws {
        let html = try await Self.made(Self.form(), pins: 0).html
        #expect(html.contains("The lines pin no key") && html.contains("enrollment-file"))
    }

    @Test func `The devices of a token are a live part of a page with an address`() async throws {
        let harness = try Self.harness()
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: [("token", "t1")], base: "/t"))
        #expect(
            harness.requests.map(\.target).contains(
                "/api/v1/devices?enrollmentToken=t1&test=true&sort=-enrolled&limit=100"))
        #expect(page.html.contains(#"<section id="enrolled" data-live="devices""#))
        #expect(page.html.contains("&lt;i&gt;till&lt;/i&gt;"))
        #expect(page.html.contains("1 of 5"))
        #expect(page.html.contains("was shown when it was made"))
        #expect(!page.html.contains("WS1_ENROLLMENT"))
        // The answer to the form has the same live part and this address.
        let made = try await Self.made(Self.form()).html
        #expect(made.contains(#"data-address="/t/add-device?token=t1""#))
        #expect(made.contains(#"<section id="enrolled" data-live="devices""#))
    }

    @Test func `The page waits for the first device and then leads to it`() async throws {
        let harness = try Self.harness()
        let query: FormFields = [("token", "t1")]
        let here = try await harness.page(Self.path, harness.visit(Self.path, query: query, base: "/t"))
        #expect(here.html.contains(#"<a href="/t/devices/d1">&lt;i&gt;till&lt;/i&gt;</a> has enrolled."#))
        #expect(here.html.contains("Its first records are on their way") && !here.html.contains("Waiting for"))
        harness.set("GET /api/v1/devices", .init(body: ["items": [], "next": .null, "total": 0]))
        let waiting = try await harness.page(Self.path, harness.visit(Self.path, query: query, base: "/t"))
        #expect(waiting.html.contains("Waiting for the first device") && !waiting.html.contains("has enrolled."))
        // Both are inside the part that is loaded again.
        let live = try #require(waiting.html.range(of: #"data-live="devices""#))
        #expect(waiting.html[live.upperBound...].contains("Waiting for the first device"))
    }

    @Test func `A refused form keeps what was filled in`() async throws {
        let harness = try Self.harness()
        harness.set("POST /api/v1/tokens", .refusal(422, "invalid-field", "address is none."))
        let form = Self.form(("address", "ftp://x\""), ("unlimited", "yes"), ("pinned", nil))
        let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
        let html = String(decoding: response.body, as: UTF8.self)
        #expect(response.status == 422 && html.contains("address is none."))
        #expect(html.contains(#"value="ftp://x&quot;""#) && html.contains(#"name="unlimited" value="yes" checked"#))
        #expect(!html.contains(#"name="pinned" value="yes" checked"#))
    }

    @Test func `A token of another organization is not there`() async throws {
        let harness = try Self.harness()
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: [("token", "t2")]))
        #expect(page.status == 404)
        #expect(!harness.requests.contains { $0.path == "/api/v1/devices" })
    }
}
