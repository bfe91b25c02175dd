import BrowserTestKit
import Foundation
import JSON
import Testing

extension BrowserKitTests {
    @Suite struct DocumentTests {
        @Test func `A document reports its status and headers`() async throws {
            let answers: [String: PageServer.Answer] = [
                "/": Planted.page("<a href=\"/missing\">gone</a>"),
                "/moved": .init(status: 302, headers: ["Location": "/"]),
                "/missing": .html("<title>Gone</title>", status: 404, headers: ["X-Reason": "gone"]),
            ]
            try await PageServer.serving(answers) { server in
                try await Browser.current.withPage { page in
                    let moved = try await page.navigate(to: "\(server.origin)/moved")
                    #expect(moved.status == 200 && moved.url == "\(server.origin)/")
                    let missing = try await page.follow("a")
                    #expect(missing.status == 404 && missing.headers["x-reason"] == "gone")
                    #expect(try await page.url == "\(server.origin)/missing")
                    #expect(try await page.reload().status == 404)
                    #expect(try await page.navigate(to: "\(server.origin)/").status == 200)
                    #expect(try await page.navigate(to: "\(server.origin)/#there").status == nil)
                }
            }
        }

        @Test func `A document that cannot be loaded is an error`() async throws {
            try await Browser.current.withPage { page in
                let error = await #expect(throws: BrowserError.self) {
                    try await page.navigate(to: "http://console.example/")
                }
                #expect(error?.code == .notLoaded)
                #expect(error?.description == "http://console.example/ could not be loaded: net::ERR_NAME_NOT_RESOLVED")
            }
            let page = Planted.page("<a href=\"http://console.example/\">elsewhere</a>")
            try await Planted.show(page) { page, _ in
                let error = await #expect(throws: BrowserError.self) { try await page.follow("a") }
                #expect(error?.code == .notLoaded)
                #expect(error?.description == "http://console.example/ could not be loaded: net::ERR_NAME_NOT_RESOLVED")
            }
        }

        @Test func `Scripts can be switched off`() async throws {
            let page = Planted.page(
                "<noscript><p id=without>without</p></noscript><a href=\"/other\">on</a><button>b</button>",
                script: "document.title = 'with'")
            try await Planted.show(page, others: ["/other": Planted.page(title: "Other")]) { page, server in
                #expect(try await page.evaluate("document.title") == "with")
                try await page.setScripting(false)
                try await page.navigate(to: "\(server.origin)/")
                #expect(try await page.evaluate("document.title") == "Planted")
                #expect(try await page.text(of: "#without") == "without")
                // Everything else works as with scripts.
                try await page.waitUntil("document.querySelector('noscript') !== null")
                #expect(try await page.overflowingElements() == [])
                #expect(try await page.screenshot().isEmpty == false)
                #expect(try await page.findings(allowedOrigin: server.origin) == [])
                let error = await #expect(throws: BrowserError.self) { try await page.accessibilityViolations() }
                #expect(error?.description == "axe-core cannot check a page whose scripts are off")
                try await page.follow("a")
                #expect(try await page.text(of: "h1") == "Other")
                try await page.setScripting(true)
                try await page.navigate(to: "\(server.origin)/")
                #expect(try await page.evaluate("document.title") == "with")
            }
        }

        @Test func `Cookies are reported`() async throws {
            var planted = Planted.page()
            planted.headers["Set-Cookie"] = "session=abc; HttpOnly; SameSite=Strict; Path=/; Max-Age=3600"
            try await Planted.show(planted) { page, _ in
                let cookies = try await page.cookies()
                #expect(cookies.map(\.name) == ["session"] && cookies.map(\.value) == ["abc"])
                #expect(cookies.first?.isHTTPOnly == true && cookies.first?.isSecure == false)
                #expect(cookies.first?.sameSite == "Strict" && cookies.first?.path == "/")
                #expect((cookies.first?.expires ?? 0) > Date().timeIntervalSince1970 + 3000)
            }
        }

        @Test func `Pages share nothing, but tabs do`() async throws {
            var page = Planted.page()
            page.headers["Set-Cookie"] = "who=first"
            let answers = ["/": Planted.page(), "/in": page]
            try await PageServer.serving(answers) { server in
                try await Browser.current.withPage { first in
                    try await first.navigate(to: "\(server.origin)/in")
                    try await first.evaluate("localStorage.setItem('a', 'b')")
                    try await Browser.current.withPage { second in
                        try await second.navigate(to: "\(server.origin)/?second")
                        #expect(try await second.cookies().isEmpty)
                        #expect(try await second.evaluate("localStorage.length") == 0)
                    }
                    try await first.withTab { tab in
                        try await tab.navigate(to: "\(server.origin)/?tab")
                        #expect(try await tab.cookies().map(\.value) == ["first"])
                    }
                    try await first.navigate(to: "\(server.origin)/?first")
                }
                let cookies = server.requests.reduce(into: [:]) { $0[$1.path] = $1.cookie ?? "none" }
                #expect(
                    cookies == ["/in": "none", "/?second": "none", "/?tab": "who=first", "/?first": "who=first"])
            }
        }

        @Test func `A download is handed over`() async throws {
            let page = Planted.page("<a href=\"/table\">table</a>")
            let table = PageServer.Answer(
                headers: ["Content-Type": "text/csv", "Content-Disposition": "attachment; filename=\"devices.csv\""],
                body: "a,b\n1,2\n")
            try await Planted.show(page, others: ["/table": table]) { page, server in
                let download = try await page.downloading { try await page.click("a") }
                #expect(download.name == "devices.csv" && download.data == Data("a,b\n1,2\n".utf8))
                #expect(try await page.findings(allowedOrigin: server.origin) == [])
            }
        }

        @Test func `A script's value comes back`() async throws {
            try await Browser.current.withPage { page in
                let object = try await page.evaluate("({ a: [1, 2.5, 'x', null, true], b: undefined })")
                #expect(object == ["a": [1, .real(2.5), "x", .null, true]])
                let promise = "new Promise(done => setTimeout(() => done('late'), 10))"
                #expect(try await page.evaluate(promise) == "late")
                #expect(try await page.evaluate("'\\u0000\\u202E\\\"'") == "\u{0}\u{202E}\"")
                // Half a surrogate pair cannot be said in UTF-8.
                let halves = "'\\ud83d\\ude00 \\ud83d \\ude00 \\\\ud83d'"
                #expect(try await page.evaluate(halves) == "\u{1F600} \u{FFFD} \u{FFFD} \\ud83d")
                // Many reads of the connection, and many writes.
                let long = String(repeating: "x", count: 3_000_000)
                #expect(try await page.evaluate("'\(long)'", as: String.self) == long)
                let error = await #expect(throws: BrowserError.self) { try await page.evaluate("nothing.there") }
                #expect(error?.code == .script)
                #expect(error?.description.hasPrefix("ReferenceError: nothing is not defined") == true)
            }
        }

        @Test func `The person's time zone and preferences are the page's`() async throws {
            let wishes = """
                [
                    new Date(0).getTimezoneOffset(), matchMedia('(prefers-color-scheme: dark)').matches,
                    matchMedia('(prefers-reduced-motion: reduce)').matches,
                    matchMedia('(hover: none) and (pointer: coarse)').matches, document.documentElement.clientWidth
                ]
                """
            let browser = try Browser.current
            let phone = try await browser.withPage(viewport: .phone) { page in try await page.evaluate(wishes) }
            // A page without `<meta name="viewport">`.
            #expect(phone == [0, false, true, true, 980])
            let wide = try await browser.withPage(
                viewport: .wide, dark: true, reducedMotion: false, timeZone: "Asia/Kolkata"
            ) { page in try await page.evaluate(wishes) }
            #expect(wide == [-330, true, false, false, 1920])
        }
    }
}
