import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite("The console's pages and what is around them") struct ConsoleTests {
    private static func list(_ items: JSONValue...) -> JSONValue {
        ["items": .array(items), "next": .null, "total": 1]
    }

    @Test func `A page shows texts as texts, whatever they are`() async throws {
        let hostile = #"<script>alert(1)</script>"'&{{x}}"# + "\u{202E}"
        let harness = try ConsoleHarness([
            "GET /api/v1/devices": Self.list(["id": "d1", "name": .text(hostile), "state": "reporting"])
        ])
        let page = try await harness.page("/devices", harness.visit("/devices", query: [("q", hostile)]))
        #expect(page.status == 200)
        #expect(!page.html.contains("<script>alert"))
        #expect(page.html.contains("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&amp;{{x}}\\u{202E}"))
    }

    @Test func `A page names the requests it shows`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/devices": Self.list()])
        let visit = harness.visit("/devices", query: [("q", "it's")])
        let page = try await harness.page("/devices", visit)
        let command = visit.api.requests[0].curl(origin: "https://collector.example", base: "/t")
        #expect(
            command
                == #"""
                curl -H "Authorization: Bearer $WS1_TOKEN" \#
                'https://collector.example/t/api/v1/devices?q=it%27s&sort=name&limit=100'
                """#
        )
        #expect(page.html.contains("api/v1/devices?q=it%27s"))
    }

    @Test func `Links start with the proxy's prefix`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/devices": Self.list(["id": "d1"])])
        let page = try await harness.page("/devices", harness.visit("/devices", base: "/telemetry"))
        let links = page.html.matches(of: #/(?:href|src|action)="(?<to>[^"]*)"/#).map { String($0.output.to) }
        #expect(links.count > 10)
        #expect(links.allSatisfy { $0.hasPrefix("/telemetry/") || $0.hasPrefix("#") }, "\(links)")
    }

    @Test func `A role sees the pages it may use`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/audit": Self.list()])
        let viewer = try await harness.page("/audit", harness.visit("/audit", role: .viewer))
        #expect(viewer.status == 403)
        #expect(viewer.html.contains("needs the role administrator"))
        #expect(!viewer.html.contains(#"href="/audit""#))
        #expect(harness.requests.isEmpty)
        let administrator = try await harness.page("/audit", harness.visit("/audit"))
        #expect(administrator.status == 200)
        #expect(administrator.html.contains(#"href="/audit" aria-current="page""#))
    }

    @Test func `A refusal of the API is the page's status and text`() async throws {
        let harness = try ConsoleHarness([
            "GET /api/v1/devices": .refusal(503, "store-unavailable", "The disk is <full>.")
        ])
        let page = try await harness.page("/devices", harness.visit("/devices"))
        #expect(page.status == 503)
        #expect(page.html.contains("The disk is &lt;full&gt;."))
    }

    @Test func `An unknown form is refused`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/devices": Self.list()])
        let visit = harness.visit("/devices", form: [("action", "explode")])
        let response = try await harness.console.answerForm("/devices", visit)
        #expect(response.status == 400)
    }

    @Test func `The sign-in form keeps the redirect`() throws {
        let harness = try ConsoleHarness([String: JSONValue]())
        let page = harness.console.signIn(next: "/devices?q=\"x\"", present: nil, problem: nil, base: "/t")
        let html = String(decoding: page.body, as: UTF8.self)
        #expect(html.contains(#"action="/t/sign-in""#))
        #expect(html.contains(#"value="/devices?q=&quot;x&quot;""#))
    }

    @Test func `Every template that a page or a template names is missed at the start`() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "assets-\(UUID())").path
        try FileManager.default.copyItem(atPath: ConsoleHarness.assets, toPath: directory)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        _ = try Assets(directory: directory)
        let templates = "\(directory)/templates"
        let names = try FileManager.default.contentsOfDirectory(atPath: templates)
        #expect(names.count > 50)
        for name in names {
            let path = "\(templates)/\(name)"
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            try FileManager.default.removeItem(atPath: path)
            #expect {
                try Assets(directory: directory)
            } throws: { error in
                "\(error)".contains("\(path) is missing")
            }
            try bytes.write(to: URL(fileURLWithPath: path))
        }
    }

    /// A name that is not in the list would be an empty page.
    @Test func `The list of templates has each that the sources name`() throws {
        let sources = URL(fileURLWithPath: ConsoleHarness.assets).deletingLastPathComponent()
        let files = try #require(FileManager.default.enumerator(atPath: sources.path)).compactMap { $0 as? String }
        var named: Set<String> = []
        for file in files where file.hasSuffix(".swift") {
            let text = try String(contentsOf: sources.appending(path: file), encoding: .utf8)
            // Also behind a point, which is inside of a word by the rules of Unicode.
            let calls = #/\b(?:View|view|answer|html)\(\s*(?:status: [^"]*?,\s*)?"([a-z-]+)"/#.wordBoundaryKind(.simple)
            named.formUnion(text.matches(of: calls).map { String($0.output.1) })
        }
        #expect(named == Set(Assets.pages))
    }

    @Test func `A page reports what a form has done and not what a link says`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/tokens": ["items": [], "next": .null]])
        var visit = harness.visit("/tokens", query: [("done", "All devices are wiped.")], organization: "west")
        let asked = try await harness.console.answer("/tokens", visit)
        #expect(!String(decoding: asked.body, as: UTF8.self).contains("All devices are wiped.") && !asked.saysNote)
        visit.note = "The token is <revoked>."
        let told = try await harness.console.answer("/tokens", visit)
        #expect(String(decoding: told.body, as: UTF8.self).contains("The token is &lt;revoked&gt;.") && told.saysNote)
    }

    @Test func `Missing assets are a clear error`() {
        #expect {
            try Assets(directory: "/nowhere")
        } throws: { error in
            "\(error)".contains("/nowhere/static is missing") && "\(error)".contains("--assets")
        }
    }
}
