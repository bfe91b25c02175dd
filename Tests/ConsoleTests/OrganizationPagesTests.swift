import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite("Organizations, their log quotas and assignments") struct OrganizationPagesTests {
    private static let west: JSONValue = [
        "name": "west", "devices": 12, "testDevices": 300, "profileRevision": 7,
        "createdAt": "2026-01-01T00:00:00.000000Z",
    ]
    private static let parameters = ["organization": "west"]
    private static let quotas = "/organizations/{organization}/log-quotas"
    private static let assignments = "/organizations/{organization}/assignments"

    // MARK: Organizations

    @Test func `Only an administrator of all organizations is offered to make one`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/organizations": ["items": [Self.west], "next": .null]])
        let path = "/organizations"
        let page = try await harness.page(path, harness.visit(path, base: "/t"))
        #expect(page.html.contains("Create the organization"))
        #expect(page.html.contains(#"href="/t/organizations/west""#))
        #expect(page.html.contains(#"href="/t/devices?organization=west""#))
        for (role, organization) in [(PersonRole.viewer, nil), (.administrator, "west")] {
            let page = try await harness.page(
                path, harness.visit(path, role: role, organization: organization))
            #expect(page.status == 200 && !page.html.contains("Create the organization"))
        }
    }

    @Test func `A new organization's page is shown`() async throws {
        let harness = try ConsoleHarness(["POST /api/v1/organizations": Self.west])
        let visit = harness.visit("/organizations", form: [("action", "create"), ("name", " west ")])
        let response = try await harness.console.answerForm("/organizations", visit)
        #expect(harness.requests.map(\.body) == [["name": "west"]])
        #expect(response.status == 303)
        #expect(response.headers.contains { $0.value == "/organizations/west" })
        #expect(response.note?.isEmpty == false)
    }

    @Test func `A refused name is shown again`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/organizations": ["items": [], "next": .null]])
        harness.set("POST /api/v1/organizations", .refusal(422, "invalid-field", "It cannot be."))
        let visit = harness.visit("/organizations", form: [("action", "create"), ("name", "a<b")])
        let response = try await harness.console.answerForm("/organizations", visit)
        let html = String(decoding: response.body, as: UTF8.self)
        #expect(response.status == 422 && html.contains("It cannot be.") && html.contains(#"value="a&lt;b""#))
    }

    @Test func `Storage is for people of all organizations`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/organizations/west": Self.west])
        let path = "/organizations/{organization}"
        let own = try await harness.page(
            path, harness.visit("/organizations/west", parameters: Self.parameters, organization: "west"))
        #expect(own.status == 200 && !own.html.contains(#"href="/storage""#) && own.html.contains(#"href="/tokens""#))
        let all = try await harness.page(path, harness.visit("/organizations/west", parameters: Self.parameters))
        #expect(all.html.contains(#"href="/storage""#))
    }

    // MARK: Log quotas

    private static func quotaHarness() throws -> ConsoleHarness {
        try ConsoleHarness([
            "GET /api/v1/log-quotas/west": [
                "items": [
                    ["application": "", "bytes": 5_000_000], ["application": "com.example.idle", "bytes": 2_500_000],
                ],
                "next": .null,
            ],
            "GET /api/v1/logs/usage": [
                "items": [
                    [
                        "organization": "west", "application": "com.example.till", "chunks": 4, "rawBytes": 160_000_000,
                        "quotaBytes": 200_000_000,
                    ],
                    ["organization": "west", "chunks": 1, "rawBytes": 1_000_000, "quotaBytes": 5_000_000],
                    [
                        "organization": "east", "application": "com.example.secret", "chunks": 1, "rawBytes": 1,
                        "quotaBytes": 2,
                    ],
                ], "next": .null,
            ],
        ])
    }

    private static func quotaVisit(
        _ harness: ConsoleHarness, query: FormFields = [], form: FormFields = [], role: PersonRole = .administrator
    ) -> Visit {
        harness.visit(
            "/organizations/west/log-quotas", parameters: parameters, query: query, form: form, role: role)
    }

    @Test func `Usage and quotas of the organization are one table`() async throws {
        let harness = try Self.quotaHarness()
        let page = try await harness.page(Self.quotas, Self.quotaVisit(harness))
        #expect(page.html.contains("com.example.till") && page.html.contains("160 MB") && page.html.contains("80 %"))
        #expect(page.html.contains("com.example.idle"), "a quota without logs")
        #expect(page.html.contains("without a bundle id"))
        #expect(!page.html.contains("com.example.secret"), "another organization's")
        #expect(page.html.components(separatedBy: ">default</span>").count == 2)
        #expect(page.html.components(separatedBy: ">high</span>").count == 2)
        let viewer = try await harness.page(Self.quotas, Self.quotaVisit(harness, role: .viewer))
        #expect(viewer.html.contains("com.example.till") && !viewer.html.contains("Set a quota"))
    }

    @Test func `The form shows the present quota of the application that was chosen`() async throws {
        let harness = try Self.quotaHarness()
        let idle = try await harness.page(
            Self.quotas, Self.quotaVisit(harness, query: [("application", "com.example.idle")]))
        #expect(idle.html.contains(#"name="amount" value="2.5""#) && idle.html.contains("Return to the default"))
        let till = try await harness.page(
            Self.quotas, Self.quotaVisit(harness, query: [("application", "com.example.till")]))
        #expect(till.html.contains(#"name="amount" value="200""#) && !till.html.contains("Return to the default"))
    }

    @Test(
        arguments: [
            (
                [("action", "set"), ("application", "com/example"), ("amount", "1.5"), ("unit", "1000000000")],
                "PUT /api/v1/log-quotas/west/com%2Fexample", ["bytes": 1_500_000_000]
            ),
            (
                [("action", "set"), ("application", ""), ("amount", "7"), ("unit", "1000000")],
                "PUT /api/v1/log-quotas/west", ["bytes": 7_000_000]
            ),
            (
                [("action", "reset"), ("application", "com.example"), ("amount", ""), ("unit", "1000000")],
                "DELETE /api/v1/log-quotas/west/com.example", nil
            ),
        ] as [([(String, String)], String, JSONValue?)])
    func `A quota is set and returned`(form: [(String, String)], request: String, body: JSONValue?) async throws {
        let harness = try Self.quotaHarness()
        harness.set(request, .init(body: ["items": [], "next": .null]))
        let response = try await harness.console.answerForm(
            Self.quotas, Self.quotaVisit(harness, form: FormFields(form)))
        #expect(response.status == 303)
        #expect(harness.requests.map { "\($0.method) \($0.path)" } == [request])
        #expect(harness.requests.first?.body == body)
    }

    @Test(arguments: ["", "a lot", "nan", "inf", "1e300"]) func `An amount that is none is refused`(amount: String)
        async throws
    {
        let harness = try Self.quotaHarness()
        let form: FormFields = [("action", "set"), ("application", "a"), ("amount", amount), ("unit", "1000000")]
        let response = try await harness.console.answerForm(Self.quotas, Self.quotaVisit(harness, form: form))
        #expect(response.status == 422)
        #expect(harness.requests.allSatisfy { $0.method == "GET" })
    }

    // MARK: Assignments

    private static func assignmentHarness(list: Bool = true) throws -> ConsoleHarness {
        let harness = try ConsoleHarness(["GET /api/v1/organizations/west": west])
        if list {
            harness.set(
                "GET /api/v1/assignments/west",
                .init(
                    entityTag: #""4""#,
                    body: [
                        "organization": "west", "revision": 4, "changedAt": "2026-01-01T00:00:00.000000Z",
                        "groups": [["name": "tills", "devices": ["d1", "d2"]]],
                        "applications": [
                            ["application": "com.example.<till>", "group": "tills"], ["application": "com.example.all"],
                        ],
                    ]))
        }
        return harness
    }

    private static func assignmentVisit(
        _ harness: ConsoleHarness, form: FormFields = [], role: PersonRole = .administrator
    ) -> Visit {
        harness.visit("/organizations/west/assignments", parameters: parameters, form: form, role: role)
    }

    private static let saved: FormFields = [
        ("action", "save"), ("tag", #""4""#), ("application", "com.example.till"), ("group", " tills "),
        ("application", ""), ("group", ""), ("application", "com.example.all"), ("group", ""),
        ("groupName", "tills"), ("groupDevices", "d1\r\nd2, d3\r\n"), ("groupName", ""), ("groupDevices", ""),
    ]

    @Test func `The list is a form for administrators and a table for others`() async throws {
        let harness = try Self.assignmentHarness()
        let page = try await harness.page(Self.assignments, Self.assignmentVisit(harness))
        #expect(page.html.contains(#"name="application" value="com.example.&lt;till&gt;""#))
        #expect(page.html.contains(#"name="tag" value="&quot;4&quot;""#))
        #expect(page.html.contains("\nd1\nd2</textarea>"))
        let viewer = try await harness.page(Self.assignments, Self.assignmentVisit(harness, role: .viewer))
        #expect(viewer.html.contains("com.example.&lt;till&gt;") && viewer.html.contains("group tills"))
        #expect(!viewer.html.contains("<textarea"))
    }

    @Test func `Rows become the list, and empty ones are left out`() async throws {
        let harness = try Self.assignmentHarness()
        harness.set("PUT /api/v1/assignments/west", .init(body: [:]))
        let response = try await harness.console.answerForm(
            Self.assignments, Self.assignmentVisit(harness, form: Self.saved))
        #expect(response.status == 303)
        let put = try #require(harness.requests.first { $0.method == "PUT" })
        #expect(put.ifMatch == #""4""#)
        #expect(
            put.body == [
                "applications": [
                    ["application": "com.example.till", "group": "tills"], ["application": "com.example.all"],
                ], "groups": [["name": "tills", "devices": ["d1", "d2", "d3"]]],
            ])
    }

    @Test func `A lost update is refused, and the changes stay in the form`() async throws {
        let harness = try Self.assignmentHarness()
        harness.set("PUT /api/v1/assignments/west", .refusal(412, "precondition-failed", "Revision 4 is the newest."))
        let visit = Self.assignmentVisit(harness, form: Self.saved.with("tag", #""3""#))
        let response = try await harness.console.answerForm(Self.assignments, visit)
        let html = String(decoding: response.body, as: UTF8.self)
        #expect(response.status == 412 && html.contains("Revision 4 is the newest."))
        #expect(html.contains("\nd1\nd2\nd3</textarea>"))
        #expect(html.contains(#"name="tag" value="&quot;3&quot;""#), "saving again is refused again")
        #expect(html.contains("Show the newest list"))
    }

    @Test func `An organization without a list gets a first one`() async throws {
        let harness = try Self.assignmentHarness(list: false)
        let page = try await harness.page(Self.assignments, Self.assignmentVisit(harness))
        #expect(page.status == 200 && page.html.contains("keeps no list"))
        harness.set("PUT /api/v1/assignments/west", .init(body: [:]))
        _ = try await harness.console.answerForm(
            Self.assignments, Self.assignmentVisit(harness, form: Self.saved.with("tag")))
        #expect(harness.requests.last?.ifMatch == nil)
    }

    @Test func `An unknown organization is not shown as an empty one`() async throws {
        let harness = try ConsoleHarness([String: JSONValue]())
        let page = try await harness.page(Self.assignments, Self.assignmentVisit(harness))
        #expect(page.status == 404)
    }
}
