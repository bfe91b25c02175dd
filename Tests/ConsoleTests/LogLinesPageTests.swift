import Foundation
import JSON
import Testing

@testable import Console

@Suite struct LogLinesPageTests {
    private static let path = "/logs/view"

    private static func line(_ number: Int, _ fields: [String: JSONValue] = [:]) -> JSONValue {
        let line: JSONValue = [
            "id": .text("line\(number)"), "time": .text("2026-01-01T00:00:0\(number).123456Z"), "level": "warning",
            "category": "app.disk", "text": .text("message \(number)"),
            "metadata": "free=12 path=/var\\u{20}x raw=\\\\u{20}",
            "device": "a", "deviceName": "till 7", "chunk": "7", "line": JSONValue(number),
            "application": "com.example.till",
        ]
        return line.with(fields)
    }

    private static func lines(_ items: [JSONValue], next: JSONValue = .null) -> JSONValue {
        ["items": .array(items), "next": next, "newest": "n", "scannedBytes": 16_000_000]
    }

    private func harness(_ answer: JSONValue) throws -> ConsoleHarness {
        try ConsoleHarness([
            "GET /api/v1/logs/lines": answer, "GET /api/v1/devices/a": ["id": "a", "name": "till 7"],
            "GET /api/v1/devices/b": ["id": "b", "name": "till 8"],
        ])
    }

    private func page(
        _ harness: ConsoleHarness, _ query: FormFields = [], base: String = ""
    ) async throws -> String {
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: query, base: base))
        #expect(page.status == 200)
        return page.html
    }

    private func asked(_ harness: ConsoleHarness) throws -> FormFields {
        try #require(harness.requests.first { $0.path == "/api/v1/logs/lines" }).query
    }

    /// The messages in the order of the page.
    private func messages(_ html: String) -> [String] {
        html.matches(of: #/<span class="message">(.*?)</span>/#).map { String($0.output.1) }
    }

    @Test func `A line has its level as text, its details and an address`() async throws {
        let harness = try harness(Self.lines([Self.line(1, ["unformatted": "at f()\nat g()"])]))
        let html = try await page(harness, base: "/t")
        for text in [
            #"<span class="state level-warning">warning</span>"#, "2026-01-01 00:00:01.123456", "app.disk",
            #"href="/t/logs/view?around=line1#hit""#, "<dt>free</dt><dd>12</dd>", "<dt>path</dt><dd>/var x</dd>",
            #"<dt>raw</dt><dd>\\u{20}</dd>"#,
            "at f()\nat g()", #"href="/t/logs?ids=7""#, "till 7",
        ] { #expect(html.contains(text), "\(text)") }
        #expect(!html.contains(#"<span class="badge">till 7"#), "lines of one device do not repeat its name")
    }

    @Test func `Lines of several devices name them`() async throws {
        let harness = try harness(Self.lines([Self.line(2, ["device": "b", "deviceName": "till 8"]), Self.line(1)]))
        let html = try await page(harness, [("device", "a"), ("device", "b")])
        #expect(try asked(harness).all("device") == ["a", "b"])
        #expect(html.contains(#"<span class="badge">till 8</span>"#) && html.contains(#"<span class="badge">till 7"#))
    }

    @Test func `Devices of one name are distinguished`() async throws {
        let harness = try harness(Self.lines([Self.line(2, ["device": "b"]), Self.line(1)]))
        let html = try await page(harness)
        #expect(html.contains(">till 7 (a)<") && html.contains(">till 7 (b)<"))
        #expect(harness.requests.map(\.path) == ["/api/v1/logs/lines"], "names come with the lines")
    }

    @Test func `Searched words are marked, and the rest stays text`() async throws {
        let harness = try harness(Self.lines([Self.line(1, ["text": "Disk <b> full, DISK é disk"])]))
        let html = try await page(harness, [("text", "disk")])
        #expect(
            html.contains("<mark>Disk</mark> &lt;b&gt; full, <mark>DISK</mark> é <mark>disk</mark>")
                && html.contains("app.<mark>disk</mark>"))
    }

    @Test(arguments: [
        ("aXbxc", "x", ["a", "X!", "b", "x!", "c"]), ("xx", "x", ["x!", "x!"]), ("abc", "d", ["abc"]),
        ("é É", "É", ["é ", "É!"]), ("aaa", "aa", ["aa!", "a"]), ("", "x", []), ("abc", "", ["abc"]),
    ]) func `Parts are found as the API finds them`(text: String, word: String, parts: [String]) {
        #expect(LogLine.parts(of: text, searchedFor: word).map { $0.text + ($0.isMarked ? "!" : "") } == parts)
    }

    @Test func `A long line is cut in the list and whole at its address`() async throws {
        let long = Self.line(1, ["text": .text(String(repeating: "w", count: 9000))])
        var html = try await page(try harness(Self.lines([long])))
        #expect(html.contains("… 8,000 characters more") && messages(html).first?.count == LogLine.maximumShown)
        let context: JSONValue = ["items": [long], "line": "line1", "hasEarlier": false, "hasLater": false]
        html = try await page(try harness(context), [("around", "line1")])
        #expect(messages(html).first?.count == 9000)
    }

    @Test func `Values of devices stay text, and control characters are seen`() async throws {
        let hostile = JSONValue.text("<script>alert(1)</script>\"'{{x}}\u{202E}\u{1B}[31m")
        let line = Self.line(
            1,
            [
                "text": hostile, "category": hostile, "metadata": hostile, "unformatted": hostile,
                "application": hostile,
            ])
        for query: FormFields in [[], [("text", "alert")], [("around", "line1")]] {
            let html = try await page(try harness(Self.lines([line])), query)
            #expect(html.contains("&lt;script&gt;") && !html.contains("<script>alert"))
            #expect(!html.contains("\u{202E}") && !html.contains("\u{1B}"))
        }
    }

    // MARK: Paging

    @Test func `The newest lines come first and lead to older ones`() async throws {
        let harness = try harness(Self.lines([Self.line(2), Self.line(1)], next: "onward"))
        let html = try await page(harness, [("level", "error")])
        #expect(try asked(harness) == [("level", "error"), ("order", "newest"), ("limit", "100")])
        #expect(messages(html) == ["message 2", "message 1"])
        #expect(html.contains("/logs/view?level=error&amp;toward=older&amp;cursor=onward\">Older lines"))
        #expect(!html.contains("Newer lines") && !html.contains("Newest lines"))
    }

    @Test func `An older page leads back by time`() async throws {
        let harness = try harness(Self.lines([Self.line(2), Self.line(1)], next: "onward"))
        let html = try await page(harness, [("toward", "older"), ("cursor", "here")])
        #expect(try asked(harness)["cursor"] == "here")
        #expect(html.contains("/logs/view?at=2026-01-01T00%3A00%3A02.123456Z&amp;toward=newer\">Newer lines"))
        #expect(html.contains("href=\"/logs/view\">Newest lines"))
    }

    @Test func `A newer page is read forwards and shown in the order of the page`() async throws {
        let harness = try harness(Self.lines([Self.line(1), Self.line(2)], next: "onward"))
        let query: FormFields = [("toward", "newer"), ("at", "2026-01-01T00:00:01.123456Z"), ("from", "2025-01-01")]
        let html = try await page(harness, query)
        #expect(try asked(harness)["order"] == "oldest")
        #expect(try asked(harness)["from"] == "2026-01-01T00:00:01.123456Z")
        #expect(messages(html) == ["message 2", "message 1"])
        #expect(html.contains("cursor=onward\">Newer lines"))
        #expect(html.contains("at=2026-01-01T00%3A00%3A01.123456Z&amp;toward=older\">Older lines"))
    }

    @Test func `A page toward older lines has the line where it begins`() async throws {
        let harness = try harness(Self.lines([Self.line(1)]))
        _ = try await page(harness, [("toward", "older"), ("at", "2026-01-01T00:00:01.123456Z")])
        #expect(try asked(harness)["to"] == "2026-01-01T00:00:01.123457Z")
    }

    @Test func `The oldest lines can come first`() async throws {
        let harness = try harness(Self.lines([Self.line(1), Self.line(2)], next: "onward"))
        let html = try await page(harness, [("order", "oldest")])
        #expect(messages(html) == ["message 1", "message 2"] && !html.contains(">Follow<"))
        #expect(html.contains("order=oldest&amp;toward=newer&amp;cursor=onward\">Newer lines"))
    }

    @Test func `A rare word is searched further, and the page says how far`() async throws {
        let nothing = Self.lines([], next: "onward").with(["through": "2026-01-01T00:00:00.000000Z"])
        let harness = try harness(nothing)
        let html = try await page(harness, [("text", "rare")])
        #expect(harness.requests.filter { $0.path == "/api/v1/logs/lines" }.count == 4)
        #expect(html.contains("64 MB of text were read") && html.contains("cursor=onward\">Search older lines"))
    }

    // MARK: Following

    @Test func `Following reloads the newest lines when logs arrive`() async throws {
        let harness = try harness(Self.lines([Self.line(1)]))
        var html = try await page(harness, [("device", "a")])
        #expect(html.contains("follow=yes\">Follow") && !html.contains("data-live"))
        html = try await page(harness, [("device", "a"), ("device", "b"), ("follow", "yes")])
        #expect(html.contains(#"data-live="logs:a,logs:b""#) && html.contains("Stop following"))
        html = try await page(harness, [("follow", "yes")])
        #expect(html.contains(#"data-live="logs""#))
        html = try await page(harness, [("follow", "yes"), ("cursor", "here")])
        #expect(!html.contains("data-live"), "an older page stays as it is")
    }

    // MARK: Around a line

    @Test func `A line is shown among its neighbours`() async throws {
        let context: JSONValue = [
            "items": [Self.line(1), Self.line(2), Self.line(3)], "line": "line2", "hasEarlier": true,
            "hasLater": false,
        ]
        let harness = try harness(context)
        let html = try await page(harness, [("around", "line2"), ("text", "message"), ("device", "a")])
        #expect(try asked(harness) == [("around", "line2"), ("lines", "20")])
        #expect(html.contains(#"class="line level-of-warning hit" id="hit""#))
        #expect(html.matches(of: #/ id="hit"/#).count == 1)
        #expect(html.contains(#"href="/logs/view?device=a&amp;text=message">Lines that match"#))
        #expect(html.contains("Earlier lines of this log") && !html.contains("Later lines of this log"))
        #expect(html.contains("around=line2&amp;lines=100#hit"))
    }

    @Test func `A line that is gone is reported`() async throws {
        let harness = try ConsoleHarness([
            "GET /api/v1/logs/lines": .refusal(404, "not-found", "The line is not stored any more.")
        ])
        let page = try await harness.page(Self.path, harness.visit(Self.path, query: [("around", "x")]))
        #expect(page.status == 404 && page.html.contains("The line is not stored any more."))
    }
}
