import BrowserTestKit
import JSON
import Testing

extension BrowserKitTests {
    /// Each kind of finding is found on a page that has it, and on no other.
    @Suite struct FindingTests {
        /// Forms, links, scripts, styles and pictures of its own, under a strict policy.
        private static let clean = Planted.page(
            """
            <p>Nothing is wrong with this page. <a href="/other">Another</a></p>
            <form action="/other"><label>Name <input name="name" autocomplete="off"></label><button>Go</button></form>
            <img src="/dot.svg" alt="A dot" width="10" height="10">
            """)

        private static let others: [String: PageServer.Answer] = [
            "/style.css": .init(headers: ["Content-Type": "text/css"], body: "h1 { color: #123 }"),
            "/script.js": .script("console.log('nothing'); fetch('/data').then(one => one.text())"),
            "/data": .init(body: "data"),
            "/dot.svg": .init(
                headers: ["Content-Type": "image/svg+xml"],
                body: "<svg xmlns='http://www.w3.org/2000/svg' width='10' height='10'><circle r='5'/></svg>"),
            "/other": Planted.page(title: "Other"),
        ]

        private static func findings(
            _ page: PageServer.Answer, waitingFor condition: String = "true",
            others: [String: PageServer.Answer] = others
        ) async throws -> [Finding] {
            try await Planted.show(page, others: others) { page, server in
                try await page.waitUntil(condition)
                return try await page.findings(allowedOrigin: server.origin)
            }
        }

        @Test func `A clean page has no findings or faults`() async throws {
            var page = Self.clean
            page.headers["Content-Security-Policy"] = "default-src 'self'; img-src 'self' data:; base-uri 'none'"
            page.body = page.body.replacing(
                "</head>",
                with: "<link rel=\"stylesheet\" href=\"/style.css\"><script src=\"/script.js\"></script></head>")
            #expect(
                try await Self.findings(page, waitingFor: "performance.getEntriesByType('resource').length >= 4") == [])
        }

        @Test func `Console errors and warnings are found`() async throws {
            let page = Planted.page(
                script: "console.log('a'); console.info('b'); console.error('bad', { a: 1 }, 2); console.warn('odd')")
            let findings = try await Self.findings(page)
            guard case .consoleError(let error) = findings.first, case .consoleWarning(let warning) = findings.last
            else {
                Issue.record("\(findings)")
                return
            }
            #expect(findings.count == 2)
            #expect(error.hasPrefix("bad Object 2 (http://127.0.0.1:"), "\(error)")
            #expect(warning.hasPrefix("odd (http://127.0.0.1:"), "\(warning)")
        }

        @Test func `Uncaught exceptions and rejections are found`() async throws {
            let page = Planted.page(
                script: """
                    setTimeout(() => { throw new Error('thrown') });
                    setTimeout(() => { throw 'a string' });
                    Promise.reject(new Error('rejected'));
                    try { throw new Error('caught') } catch {}
                    setTimeout(() => { document.title = 'done' }, 50);
                    """)
            let findings = try await Self.findings(page, waitingFor: "document.title === 'done'").map(\.description)
            #expect(findings.count == 3, "\(findings)")
            for word in ["Error: thrown", "a string", "Error: rejected"] {
                #expect(findings.contains { $0.hasPrefix("uncaught exception: \(word)") }, "\(word): \(findings)")
            }
        }

        @Test(arguments: [
            ("<p style=\"color: #123\">inline style</p>", "style-src-attr forbids inline code or style"),
            ("<script>document.title = 'inline'</script>", "script-src-elem forbids inline code or style"),
            ("<button onclick=\"go()\">handler</button>", "script-src-attr forbids inline code or style"),
            ("<script src=\"/eval.js\"></script>", "script-src forbids eval"),
            ("<iframe src=\"/other\" title=\"Frame\"></iframe>", "frame-src forbids "),
            ("<script src=\"/fetch.js\"></script>", "connect-src forbids "),
        ]) func `Violations of the policy are found`(body: String, expected: String) async throws {
            let others = Self.others.merging([
                "/eval.js": .script("try { eval('1') } catch {} document.title = 'done'"),
                "/fetch.js": .script("fetch('/data').catch(() => {}).then(() => { document.title = 'done' })"),
            ]) { $1 }
            let page = Planted.page(
                body, policy: "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:")
            let isDone =
                body.contains("src=\"/e") || body.contains("src=\"/fetch") ? "document.title === 'done'" : "true"
            let findings = try await Self.findings(page, waitingFor: isDone, others: others)
            let violations = findings.filter {
                if case .contentSecurityPolicy(let text) = $0 { text.hasPrefix(expected) } else { false }
            }
            #expect(violations.count == 1, "\(findings)")
            // Without the policy the same page is clean.
            #expect(try await Self.findings(Planted.page(body), waitingFor: isDone, others: others) == [])
        }

        @Test func `A policy that only reports is heard`() async throws {
            var page = Planted.page("<p style=\"color: #123\">inline style</p>")
            page.headers["Content-Security-Policy-Report-Only"] = "style-src 'self'"
            let findings = try await Self.findings(page)
            #expect(
                findings.contains {
                    if case .contentSecurityPolicy(let text) = $0 { text.hasPrefix("style-src-attr") } else { false }
                }, "\(findings)")
        }

        /// None of these leaves the machine: the browser looks up no names and knows no way to other addresses.
        @Test(arguments: [
            ("<img src=\"http://console.example/dot.png\" alt=\"\">", "GET http://console.example/dot.png (Image)"),
            ("<link rel=\"stylesheet\" href=\"https://192.0.2.1/a.css\">", "GET https://192.0.2.1/a.css (Stylesheet)"),
            ("<img src=\"/away\" alt=\"\">", "GET http://192.0.2.1/redirected (Image)"),
            ("<script>fetch('http://192.0.2.1/f').catch(() => {})</script>", "GET http://192.0.2.1/f (Fetch)"),
            ("<script>navigator.sendBeacon('http://192.0.2.1/b', '')</script>", "POST http://192.0.2.1/b (Ping)"),
            ("<script>new WebSocket('ws://192.0.2.1/w')</script>", "GET ws://192.0.2.1/w (WebSocket)"),
            ("<script>new EventSource('http://192.0.2.1/e')</script>", "GET http://192.0.2.1/e (EventSource)"),
            ("<script>new Worker('/worker.js')</script>", "GET http://192.0.2.1/from-worker (Fetch)"),
            (
                "<iframe src=\"http://localhost:9/frame\" title=\"F\"></iframe>",
                "GET http://localhost:9/frame (Document)"
            ),
        ]) func `Requests to other origins are found`(body: String, expected: String) async throws {
            let others = [
                "/worker.js": PageServer.Answer.script("fetch('http://192.0.2.1/from-worker').catch(() => {})"),
                "/away": PageServer.Answer(status: 302, headers: ["Location": "http://192.0.2.1/redirected"]),
            ]
            try await Planted.show(Planted.page(body), others: others) { page, server in
                let deadline = ContinuousClock.now + .seconds(30)
                var findings: [Finding] = []
                // A worker asks when it has started, which the page does not report.
                repeat {
                    findings = try await page.findings(allowedOrigin: server.origin)
                } while !findings.contains(.foreignRequest(expected)) && ContinuousClock.now < deadline
                #expect(findings.contains(.foreignRequest(expected)), "\(findings)")
            }
        }

        @Test func `An origin is more than a prefix`() async throws {
            try await Planted.show(Planted.page()) { page, server in
                // With one digit less it is another port.
                let findings = try await page.findings(allowedOrigin: String(server.origin.dropLast()))
                #expect(findings == [.foreignRequest("GET \(server.origin)/ (Document)")])
            }
        }

        @Test func `Blocked requests are findings, too`() async throws {
            let page = Planted.page(
                "<img src=\"http://console.example/a.png\" alt=\"\">", policy: "default-src 'none'; img-src data:")
            let findings = try await Self.findings(page)
            #expect(findings.contains(.foreignRequest("GET http://console.example/a.png (Image)")), "\(findings)")
            #expect(findings.contains(.failedRequest("GET http://console.example/a.png: blocked (csp)")), "\(findings)")
        }

        @Test func `Failed requests are found`() async throws {
            let page = Planted.page(
                """
                <img src="/gone.png" alt="">
                <script>
                fetch('/refused').then(() => fetch('http://127.0.0.1:1/')).catch(() => { document.title = 'done' })
                </script>
                """)
            let others = ["/refused": PageServer.Answer(status: 403)]
            try await Planted.show(page, others: others) { page, server in
                try await page.waitUntil("document.title === 'done'")
                let findings = try await page.findings(allowedOrigin: server.origin)
                #expect(findings.contains(.failedRequest("GET \(server.origin)/gone.png: status 404")), "\(findings)")
                #expect(findings.contains(.failedRequest("GET \(server.origin)/refused: status 403")), "\(findings)")
                #expect(
                    findings.contains(.failedRequest("GET http://127.0.0.1:1/: net::ERR_UNSAFE_PORT")), "\(findings)")
            }
        }

        @Test func `Only an expected status of a document is fine`() async throws {
            let page = PageServer.Answer.html(
                Planted.page("<img src=\"/gone.png\" alt=\"\">").body, status: 404)
            try await Planted.show(page) { page, server in
                let document = Finding.failedRequest("GET \(server.origin)/: status 404")
                let picture = Finding.failedRequest("GET \(server.origin)/gone.png: status 404")
                let statuses: [Set<Int>: [Finding]] = [
                    []: [document, picture], [403]: [document, picture], [404]: [picture],
                ]
                for (expected, findings) in statuses {
                    let found = try await page.findings(allowedOrigin: server.origin, expectedStatuses: expected)
                    #expect(found == findings)
                }
                page.forgetFindings()
                #expect(try await page.findings(allowedOrigin: server.origin) == [])
            }
        }

        @Test func `What a page gives up is not a failure`() async throws {
            let page = Planted.page(
                script: """
                    const stop = new AbortController();
                    fetch('/never', { signal: stop.signal }).catch(() => { document.title = 'stopped' });
                    setTimeout(() => stop.abort(), 50);
                    """)
            let findings = try await Self.findings(
                page, waitingFor: "document.title === 'stopped'", others: ["/never": .never])
            #expect(findings == [])
        }

        /// What the browser knows about a page without running any rule.
        @Test func `Messages of the browser are found`() async throws {
            let findings = try await Self.findings(
                .html("<html lang=en><title>Old</title><link rel=icon href='data:,'><p>No doctype"))
            #expect(
                findings.contains {
                    if case .browserMessage(let text) = $0 { text.hasPrefix("QuirksModeIssue") } else { false }
                }, "\(findings)")
        }

        @Test func `Dialogs are dismissed and reported`() async throws {
            try await Planted.show(Planted.page(script: "answer = confirm('Delete all?')")) { page, server in
                let findings = try await page.findings(allowedOrigin: server.origin)
                #expect(findings == [.dialog("confirm \"Delete all?\"")])
                #expect(try await page.evaluate("answer") == false)
            }
        }

        /// The policy of a worker is that of its script's answer.
        @Test func `Violations of a worker's policy are found`() async throws {
            let worker = PageServer.Answer(
                headers: ["Content-Type": "text/javascript", "Content-Security-Policy": "connect-src 'none'"],
                body: "fetch('/data').catch(() => {}).then(() => postMessage(1))")
            let page = Planted.page(
                script: "new Worker('/worker.js').onmessage = () => { document.title = 'done' }")
            let findings = try await Self.findings(
                page, waitingFor: "document.title === 'done'", others: ["/worker.js": worker])
            #expect(
                findings.contains {
                    if case .contentSecurityPolicy(let text) = $0 { text.hasPrefix("connect-src") } else { false }
                }, "\(findings)")
        }

        @Test func `Frames and workers are heard, too`() async throws {
            let worker = PageServer.Answer.script("console.error('from the worker'); postMessage(1)")
            let page = Planted.page(
                script: "new Worker('/worker.js').onmessage = () => { document.title = 'done' }")
            let findings = try await Self.findings(
                page, waitingFor: "document.title === 'done'", others: ["/worker.js": worker])
            #expect(findings.count == 1 && findings[0].description.contains("from the worker"), "\(findings)")
        }
    }
}
