import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct DevicesPageTests {
    private static let path = "/devices"
    private static let hostile = #"<img src=x onerror="1">"# + "\u{202E}"
    private static let device: JSONValue = [
        "id": "d-1", "name": .text(hostile), "state": "silent", "lastSeenAt": "2026-01-01T00:00:00.000000Z",
        "organization": "west", "agentVersion": "1.2.0", "application": "", "test": false, "profileRevision": 7,
        "enrolledAt": "2025-12-01T00:00:00.000000Z",
        "operatingSystem": ["name": "linux", "distribution": "debian", "version": "12"],
        "verdicts": [
            "deviceCompliance": "compliant", "applicationCompliance": "non-compliant", "compromised": "no",
        ],
        "beacon": ["model": "Kiosk", "queue": [["waiting": 3], ["waiting": 4]]],
    ]
    private static let list: JSONValue = ["items": .array([device]), "next": "c2", "total": 12_345]
    private static let facets: JSONValue = [
        "total": 12_345,
        "facets": [
            "state": ["values": [["value": "reporting", "devices": 9000], ["value": "silent", "devices": 345]]],
            "agentVersion": [
                "values": .array((0..<100).map { ["value": .text("1.\($0).0"), "devices": 2] }),
                "further": ["values": 20, "devices": 20],
            ],
            "application": ["values": [["value": .null, "devices": 4], ["value": "com.example", "devices": 1]]],
        ],
    ]

    private static func harness() throws -> ConsoleHarness {
        try ConsoleHarness([
            "GET /api/v1/devices": list, "GET /api/v1/devices/facets": facets,
            "GET /api/v1/organizations": ["items": [["name": "east"], ["name": "west"]], "next": .null],
        ])
    }

    private static func page(
        _ query: FormFields = [], role: PersonRole = .administrator, organization: String? = nil
    ) async throws -> String {
        let harness = try harness()
        return try await harness.page(
            path, harness.visit(path, query: query, role: role, organization: organization, base: "/t")
        ).html
    }

    /// The addresses of links whose text contains this text.
    private static func addresses(_ html: String, _ text: String) -> [String] {
        html.matches(of: #/<a [^>]*href="([^"]*)"[^>]*>(.*?)<\/a>/#.dotMatchesNewlines()).filter {
            $0.output.2.contains(text)
        }.map { String($0.output.1).replacing("&amp;", with: "&") }
    }

    // MARK: The list

    @Test func `A device is shown with the usual columns and its texts as text`() async throws {
        let html = try await Self.page()
        #expect(html.contains("12,345"))
        #expect(html.contains("&lt;img src=x onerror=&quot;1&quot;&gt;\\u{202E}") && !html.contains("<img"))
        for text in ["debian 12", "state silent", "state non-compliant", "2026-01-01 00:00:00 UTC", ">west<"] {
            #expect(html.contains(text), "\(text)")
        }
        #expect(!html.contains("Kiosk"))
        #expect(html.contains("/t/devices?cursor=c2"))
        #expect(!(try await Self.page(organization: "west")).contains(">west<"), "everything is of one organization")
    }

    @Test(arguments: [[("columns", "model,waiting")], [("columns", "model"), ("columns", "waiting")]])
    func `Chosen columns stay in every address`(query: [(String, String)]) async throws {
        let html = try await Self.page(FormFields(query + [("state", "silent")]))
        #expect(html.contains("Kiosk") && html.contains(#"<td class="number">7</td>"#))
        #expect(!html.contains("debian 12"))
        let links =
            Self.addresses(html, "Next page") + Self.addresses(html, "remove this filter")
            + Self.addresses(html, "Name") + Self.addresses(html, "CSV") + Self.addresses(html, "com.example")
        #expect(links.count == 5)
        #expect(links.allSatisfy { $0.contains("columns=model") && $0.contains("waiting") }, "\(links)")
    }

    @Test func `Column heads sort and say the order`() async throws {
        let html = try await Self.page([("sort", "-lastSeen"), ("cursor", "c1"), ("q", "kiosk")])
        #expect(html.contains(#"aria-sort="descending"><a href="/t/devices?q=kiosk&amp;sort=lastSeen">Last seen</a>"#))
        #expect(html.contains(#"<a href="/t/devices?q=kiosk&amp;sort=name">Name</a>"#))
        #expect(Self.addresses(html, "First page") == ["/t/devices?q=kiosk&sort=-lastSeen"])
        #expect(try await Self.page().contains(#"aria-sort="ascending"><a href="/t/devices?sort=-name">Name"#))
    }

    @Test func `CSV has all pages with the chosen columns and the ID`() async throws {
        let harness = try Self.harness()
        let query = "/api/v1/devices?state=silent&limit=1000"
        harness.set("GET \(query)&cursor=c2", .init(body: ["items": [["id": "d-2", "name": "=1+1"]], "next": .null]))
        let response = try await harness.console.answer(
            Self.path,
            harness.visit(Self.path, query: [("state", "silent"), ("columns", "os,id"), ("format", "csv")]))
        let rows = try await harness.rows(of: response)
        #expect(rows[0] == "id,name,os")
        #expect(rows[1].hasPrefix("d-1,") && rows[1].hasSuffix(",debian 12"))
        #expect(rows[2...] == ["d-2,'=1+1,"])
        #expect(response.headers.contains { $0.value.contains("devices.csv") })
    }

    @Test func `Empty lists say what to do`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/devices": ["items": [], "next": .null, "total": 0]])
        func html(_ query: FormFields, _ role: PersonRole) async throws -> String {
            try await harness.page(Self.path, harness.visit(Self.path, query: query, role: role)).html
        }
        #expect(try await html([], .administrator).contains(#"href="/add-device""#))
        #expect(try await html([], .viewer).contains("An administrator adds devices"))
        let filtered = try await html([("state", "silent")], .viewer)
        #expect(filtered.contains("No device matches these filters.") && !filtered.contains("All 0 as CSV"))
    }

    // MARK: Filters

    @Test func `A facet's value sets and removes its filter`() async throws {
        let html = try await Self.page([("state", "late,silent"), ("cursor", "c1"), ("application", "none")])
        #expect(Self.addresses(html, "reporting") == ["/t/devices?application=none&state=late%2Csilent%2Creporting"])
        #expect(Self.addresses(html, "com.example") == ["/t/devices?state=late%2Csilent&application=com.example"])
        #expect(Self.addresses(html, "not reported") == ["/t/devices?state=late%2Csilent"])
        #expect(html.contains("9,000"))
        // The facet's link and the chip.
        #expect(Self.addresses(html, "silent").filter { $0 == "/t/devices?application=none&state=late" }.count == 2)
    }

    @Test func `Filters are chips that can be removed`() async throws {
        let html = try await Self.page([("q", "<b>"), ("enrollmentToken", "t1"), ("test", "true"), ("sort", "id")])
        let chips = Self.addresses(html, "remove this filter")
        #expect(
            chips == [
                "/t/devices?q=%3Cb%3E&test=true&sort=id", "/t/devices?enrollmentToken=t1&test=true&sort=id",
                "/t/devices?q=%3Cb%3E&enrollmentToken=t1&sort=id",
            ])
        #expect(html.contains("<strong>&lt;b&gt;</strong>"))
        #expect(Self.addresses(html, "Clear all").first == "/t/devices?sort=id")
    }

    @Test func `A facet of many values is short until somebody asks`() async throws {
        let html = try await Self.page([("agentVersion", "1.99.0")])
        #expect(Self.addresses(html, "1.7.0</span>").count == 1 && Self.addresses(html, "1.8.0</span>").isEmpty)
        #expect(Self.addresses(html, "1.99.0</span>").count == 1, "what is chosen is there")
        let rest = Self.addresses(html, "91 more")
        #expect(rest == ["/t/devices?agentVersion=1.99.0&facet=agentVersion#facets"])
        let whole = try await Self.page([("facet", "agentVersion")])
        #expect(Self.addresses(whole, "1.8.0</span>").count == 1 && whole.contains("rarer values (20)"))
    }

    @Test func `Organizations are chosen by people of all of them`() async throws {
        #expect(Self.addresses(try await Self.page(), "east") == ["/t/devices?organization=east"])
        #expect(Self.addresses(try await Self.page(organization: "west"), "east").isEmpty)
    }

    @Test func `Test devices are shown on demand`() async throws {
        #expect(Self.addresses(try await Self.page(), "Show test devices") == ["/t/devices?test=true"])
        #expect(Self.addresses(try await Self.page([("test", "true")]), "Leave test devices out") == ["/t/devices"])
    }

    // MARK: Roles

    @Test(arguments: [PersonRole.viewer, .operator, .administrator])
    func `A role is offered what it may do`(role: PersonRole) async throws {
        let html = try await Self.page(role: role)
        #expect(html.contains(#"name="device""#) == (role >= .operator))
        #expect(html.contains(#"value="send-beacon""#) == (role >= .operator))
        for action in ["revoke", "reinstate", "wipe", "enterprise-wipe", "delete"] {
            #expect(html.contains(#"value="\#(action)""#) == (role == .administrator), "\(action)")
        }
    }
}
