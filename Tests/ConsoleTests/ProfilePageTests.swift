import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite("Profiles, their revisions and the editor") struct ProfilePageTests {
    private static let page = "/profiles/{organization}"
    private static let edit = "/profiles/{organization}/edit"
    private static let revisions = "/api/v1/profile-revisions/west"
    private static let validate = "POST /api/v1/profile-revisions/west/validate"

    private static func revision(_ number: Int, _ profile: JSONValue, application: String? = nil) -> JSONValue {
        var revision: JSONValue = [
            "organization": "west", "revision": JSONValue(number), "createdAt": "2026-01-01T00:00:00.000000Z",
            "author": "<b>Grace</b>", "profile": profile,
        ]
        if let application { revision = revision.with(["application": .text(application)]) }
        return revision
    }

    private static let valid: JSONValue = [
        "from": 7, "changes": [["path": "/beaconSeconds", "from": 60, "to": 90]], "findings": [],
        "effective": ["beaconSeconds": 90],
    ]

    private static func harness() throws -> ConsoleHarness {
        let harness = try ConsoleHarness([
            validate: valid,
            "GET \(revisions)": [
                "items": [revision(7, .null), revision(3, .null)], "next": .null,
            ],
            "GET \(revisions)/adoption": [
                "items": [
                    [
                        "revision": 7, "newestRevision": 7, "devices": 3,
                        "findings": ["certificate-pins-refused": 2],
                    ],
                    ["application": "com.example.till", "revision": 3, "newestRevision": 7, "devices": 1],
                    ["application": "com.example.till", "newestRevision": 7, "devices": 4],
                ],
                "next": .null,
            ],
            "GET /api/v1/devices": ["items": [], "next": .null, "total": 1234],
        ])
        harness.set(
            "GET /api/v1/profiles/west", .init(entityTag: #""7""#, body: revision(7, ["beaconSeconds": 60])))
        return harness
    }

    private static func visit(
        _ harness: ConsoleHarness, _ path: String = "/profiles/west", query: FormFields = [], form: FormFields = [],
        role: PersonRole = .administrator
    ) -> Visit {
        harness.visit(path, parameters: ["organization": "west"], query: query, form: form, role: role)
    }

    private static func answer(
        _ harness: ConsoleHarness, _ form: FormFields, query: FormFields = []
    ) async throws -> (status: Int, html: String, location: String?, note: String?) {
        let response = try await harness.console.answerForm(
            edit, visit(harness, "/profiles/west/edit", query: query, form: form))
        return (
            response.status, String(decoding: response.body, as: UTF8.self),
            response.headers.first { $0.name == "Location" }?.value, response.note
        )
    }

    // MARK: Lists

    @Test func `Each organization lists its profiles with their adoption`() async throws {
        let harness = try Self.harness()
        harness.set(
            "GET /api/v1/organizations", .init(body: ["items": [["name": "west"]], "next": "w"]))
        harness.set(
            "GET \(Self.revisions)",
            .init(
                body: [
                    "items": [Self.revision(7, .null), Self.revision(5, .null, application: "com.example.till")],
                    "next": .null,
                ]))
        let page = try await harness.page("/profiles", harness.visit("/profiles"))
        #expect(page.html.contains(#"href="/profiles/west">all devices"#))
        #expect(page.html.contains(#"href="/profiles/west?application=com.example.till">com.example.till"#))
        #expect(page.html.contains("3 of 8") && page.html.contains("0 of 5"))
        #expect(page.html.contains(#"href="/profiles?cursor=w""#))
        #expect(harness.requests.contains { $0.target == "\(Self.revisions)?newest=true&brief=true&limit=1000" })
        let viewer = try await harness.page("/profiles", harness.visit("/profiles", role: .viewer))
        #expect(viewer.status == 200 && !viewer.html.contains("Make or edit"))
    }

    @Test func `A profile's page says who runs it and what they do not apply`() async throws {
        let harness = try Self.harness()
        let page = try await harness.page(Self.page, Self.visit(harness))
        #expect(page.html.contains("1,234") && page.html.contains("&lt;b&gt;Grace&lt;/b&gt;"))
        #expect(page.html.contains("3 of 8 (37.5 %)"))
        #expect(page.html.contains("certificate pins refused</span> 2"))
        #expect(page.html.contains("application=com.example.till&amp;profileRevision=none"))
        #expect(page.html.contains("/profiles/west?rollback=3") && !page.html.contains("rollback=7"))
        let viewer = try await harness.page(Self.page, Self.visit(harness, role: .viewer))
        #expect(viewer.status == 200 && !viewer.html.contains("rollback=") && !viewer.html.contains("/edit"))
    }

    @Test func `An application's page is about its own devices and revisions`() async throws {
        let harness = try Self.harness()
        let path = "/api/v1/profiles/west/com.example.till"
        harness.set("GET \(path)", .init(body: Self.revision(5, ["test": true], application: "com.example.till")))
        let page = try await harness.page(
            Self.page, Self.visit(harness, query: [("application", "com.example.till")]))
        #expect(page.html.contains("0 of 5") && !page.html.contains("certificate pins refused"))
        let asked = harness.requests.map(\.target)
        #expect(asked.contains("\(Self.revisions)?application=com.example.till&brief=true&limit=50"))
        #expect(asked.contains("\(path)?effective=true"))
        #expect(
            asked.contains(
                "/api/v1/devices?organization=west&state=enrolled%2Creporting%2Clate%2Csilent%2Coff"
                    + "&application=com.example.till&limit=1"))
        #expect(
            asked.contains(
                "/api/v1/devices?organization=west&state=enrolled%2Creporting%2Clate%2Csilent%2Coff"
                    + "&application=com.example.till&test=true&limit=1"))
        #expect(page.html.contains("rollback=3&amp;application=com.example.till"))
    }

    @Test func `Test devices that get a profile are counted separately`() async throws {
        let harness = try Self.harness()
        let devices = "GET /api/v1/devices?organization=west&state=enrolled%2Creporting%2Clate%2Csilent%2Coff"
        harness.set("\(devices)&limit=1", .init(body: ["items": [], "next": .null, "total": 5]))
        for (all, text) in [(305, "5, and 300 test devices"), (6, "5, and 1 test device"), (5, ">5<")] {
            harness.set(
                "\(devices)&test=true&limit=1", .init(body: ["items": [], "next": .null, "total": JSONValue(all)]))
            let page = try await harness.page(Self.page, Self.visit(harness))
            #expect(page.html.contains(text), "\(text)")
        }
    }

    @Test func `An application without a profile is offered one`() async throws {
        let harness = try Self.harness()
        harness.set("GET /api/v1/profiles/west/new", .notFound)
        let effective = "GET /api/v1/profiles/west/new?effective=true"
        harness.set(effective, .init(body: Self.revision(7, ["beaconSeconds": 60])))
        let page = try await harness.page(Self.page, Self.visit(harness, query: [("application", "new")]))
        #expect(page.status == 200 && page.html.contains("has no profile of its own"))
        #expect(page.html.contains(#"href="/profiles/west/edit?application=new">Make a profile"#))
    }

    @Test func `An unknown organization has no page`() async throws {
        let harness = try ConsoleHarness([String: JSONValue]())
        for query: FormFields in [[], [("application", "a")]] {
            let page = try await harness.page(Self.page, Self.visit(harness, query: query))
            #expect(page.status == 404)
        }
    }

    @Test func `Two revisions are compared`() async throws {
        let harness = try Self.harness()
        harness.set(
            "GET \(Self.revisions)/diff?from=3&to=7",
            .init(
                body: [
                    "from": 3, "to": 7,
                    "changes": [
                        ["path": "/logging/scrubValues", "from": ["<i>"]],
                        ["path": "/privacy/a~1b~0", "to": ""],
                    ],
                ]))
        let page = try await harness.page(Self.page, Self.visit(harness, query: [("from", "3"), ("to", "7")]))
        #expect(page.html.contains("From revision 3 to 7"))
        #expect(page.html.contains("logging.scrubValues") && page.html.contains("&lt;i&gt;"))
        #expect(page.html.contains("privacy.a/b~") && page.html.contains("<ins class=\"long\">&quot;&quot;</ins>"))
        #expect(page.html.components(separatedBy: "not said").count == 3)
    }

    @Test func `Rolling back shows the changes and asks`() async throws {
        let harness = try Self.harness()
        harness.set(
            "GET \(Self.revisions)/diff?from=7&to=3",
            .init(body: ["from": 7, "to": 3, "changes": [["path": "/test", "to": true]]]))
        let question = try await harness.page(Self.page, Self.visit(harness, query: [("rollback", "3")]))
        #expect(question.html.contains("Roll back to revision 3?") && question.html.contains("1,234"))
        // Trying it out changes nothing.
        let others = harness.requests.filter { $0.method != "GET" }.map(\.target)
        #expect(others == ["\(Self.revisions)/validate"])
        let form = SentForm.fields(of: question.html)
        harness.set("POST \(Self.revisions)/rollback", .init(body: Self.revision(8, .null)))
        let response = try await harness.console.answerForm(
            Self.page, Self.visit(harness, query: [("rollback", "3")], form: form))
        #expect(response.status == 303)
        let sent = try #require(harness.requests.last)
        #expect(sent.body == ["revision": 3] && sent.ifMatch == #""7""#)
    }

    // MARK: Editor

    @Test func `The editor explains each field`() async throws {
        let harness = try Self.harness()
        let page = try await harness.page(Self.edit, Self.visit(harness, "/profiles/west/edit"))
        #expect(page.html.contains(#"name="beaconSeconds" value="60""#))
        #expect(page.html.contains("Seconds between two beacons. Absent: the device&#39;s. 60 to 86,400."))
        #expect(page.html.contains(#"name="tag" value="&quot;7&quot;""#))
        let operators = try await harness.page(
            Self.edit, Self.visit(harness, "/profiles/west/edit", role: .operator))
        #expect(operators.status == 403)
    }

    @Test func `The editor of an application shows what it inherits`() async throws {
        let harness = try Self.harness()
        harness.set(
            "GET /api/v1/profiles/west/com.example.till",
            .init(entityTag: #""5""#, body: Self.revision(5, ["test": true], application: "com.example.till")))
        let page = try await harness.page(
            Self.edit, Self.visit(harness, "/profiles/west/edit", query: [("application", "com.example.till")]))
        #expect(page.html.contains("The organization says: <code>60</code>"))
        #expect(
            harness.requests.contains { $0.target == "\(Self.revisions)/validate?application=com.example.till&from=5" })
        #expect(page.html.contains("What devices get"))
    }

    private static func form(_ harness: ConsoleHarness) async throws -> FormFields {
        SentForm.fields(of: try await harness.page(edit, visit(harness, "/profiles/west/edit")).html)
    }

    @Test func `Checking shows the changes and saves nothing`() async throws {
        let harness = try Self.harness()
        let form = try await Self.form(harness).with("beaconSeconds", "90").with("action", "validate")
        let answer = try await Self.answer(harness, form)
        #expect(answer.status == 200)
        #expect(harness.requests.last { $0.method == "POST" }?.body == ["beaconSeconds": 90])
        #expect(answer.html.contains(#"<div id="check" role="status">"#))
        #expect(
            answer.html.contains("<del class=\"long\">60</del>") && answer.html.contains("<ins class=\"long\">90</ins>")
        )
        #expect(answer.html.contains(#"name="beaconSeconds" value="90""#))
        #expect(!harness.requests.contains { $0.method == "PUT" })
    }

    @Test func `A refused setting is marked`() async throws {
        let harness = try Self.harness()
        harness.set(
            Self.validate,
            .init(
                status: 422,
                body: [
                    "status": 422, "code": "invalid-field", "title": "Invalid field",
                    "detail": "`transmission[0].data` must be <one>.", "field": "transmission[0].data",
                    "scope": "collector",
                ]))
        let form = try await Self.form(harness).with("transmission.0.data", "nothing").with("action", "validate")
        let answer = try await Self.answer(harness, form)
        #expect(answer.status == 200 && answer.html.contains("must be &lt;one&gt;."))
        let marked = answer.html.matches(of: #/<[^>]*name="([^"]*)"[^>]*aria-invalid="true"/#).map { $0.output.1 }
        #expect(marked == ["transmission.0.data"])
        // Reviewing it is refused, and the form stays.
        let review = try await Self.answer(harness, form.with("action", "review"))
        #expect(review.status == 422 && review.html.contains(#"name="transmission.0.data""#))
    }

    @Test func `The changes are shown before they are saved`() async throws {
        let harness = try Self.harness()
        let form = try await Self.form(harness).with("beaconSeconds", "90").with("action", "review")
        let review = try await Self.answer(harness, form)
        #expect(review.html.contains("Save the profile of west?") && review.html.contains("1,234"))
        #expect(review.html.contains("<ins class=\"long\">90</ins>"))
        #expect(!harness.requests.contains { $0.method == "PUT" })

        harness.set("PUT /api/v1/profiles/west", .init(body: Self.revision(8, .null)))
        let sent = SentForm.fields(of: review.html)
        let saved = try await Self.answer(harness, sent.with("action", "save"))
        #expect(saved.status == 303)
        #expect(saved.location == "/profiles/west")
        #expect(saved.note?.hasPrefix("Revision 8 is saved.") == true)
        let put = try #require(harness.requests.last)
        #expect(put.method == "PUT" && put.ifMatch == #""7""# && put.ifNoneMatch == nil)
        #expect(put.body == ["beaconSeconds": 90])
        // And back to the form, with what was edited.
        let again = try await Self.answer(harness, sent.with("action", "edit"))
        #expect(again.html.contains(#"name="beaconSeconds" value="90""#))
        #expect(again.html.contains(#"name="tag" value="&quot;7&quot;""#))
    }

    @Test func `The first profile of an application is saved only if there is still none`() async throws {
        let harness = try Self.harness()
        harness.set("GET /api/v1/profiles/west/new", .notFound)
        harness.set("PUT /api/v1/profiles/west/new", .init(body: Self.revision(8, .null, application: "new")))
        let form: FormFields = [("json", "{}"), ("tag", ""), ("mode", "json"), ("action", "save")]
        let saved = try await Self.answer(harness, form, query: [("application", "new")])
        #expect(saved.location == "/profiles/west?application=new")
        let put = try #require(harness.requests.last)
        #expect(put.path == "/api/v1/profiles/west/new" && put.ifMatch == nil && put.ifNoneMatch == "*")
    }

    @Test func `A lost update is refused with both versions`() async throws {
        let harness = try Self.harness()
        harness.set("PUT /api/v1/profiles/west", .refusal(412, "precondition-failed", "The newest revision is 9."))
        harness.set(
            "GET /api/v1/profiles/west",
            .init(entityTag: #""9""#, body: Self.revision(9, ["customPayload": "theirs <x>"])))
        harness.set(
            "GET \(Self.revisions)/diff?from=7&to=9",
            .init(body: ["changes": [["path": "/customPayload", "to": "theirs <x>"]]]))
        harness.set(
            "\(Self.validate)?from=7", .init(body: ["changes": [["path": "/customPayload", "to": "mine"]]]))
        let form: FormFields = [
            ("json", #"{"customPayload": "mine"}"#), ("tag", #""7""#), ("base", "7"), ("mode", "form"),
            ("action", "save"),
        ]
        let conflict = try await Self.answer(harness, form)
        #expect(conflict.html.contains("Both of you changed <strong>customPayload</strong>."))
        #expect(conflict.html.contains("Nothing was saved.") && conflict.html.contains("you edited revision 7"))
        #expect(conflict.html.contains("theirs &lt;x&gt;") && conflict.html.contains("&quot;mine&quot;"))
        #expect(conflict.html.contains("What was changed meanwhile"))
        // Going on is a further step that saves nothing, over the newest revision.
        let next = SentForm.fields(of: conflict.html)
        #expect(next["tag"] == #""9""# && next["base"] == "9")
        let again = try await Self.answer(harness, next.with("action", "edit"))
        #expect(again.html.contains(#"name="tag" value="&quot;9&quot;""#) && again.html.contains("mine</textarea>"))
        #expect(harness.requests.count { $0.method == "PUT" } == 1)
    }

    @Test func `What another person changed meanwhile is not listed as one's own and stays`() async throws {
        let harness = try Self.harness()
        harness.set("\(Self.validate)?from=7", .init(body: ["changes": [["path": "/logging/level", "to": "error"]]]))
        harness.set(
            "GET /api/v1/profiles/west",
            .init(entityTag: #""9""#, body: Self.revision(9, ["beaconSeconds": 90, "logging": ["wifiOnly": true]])))
        harness.set(
            "GET \(Self.revisions)/diff?from=7&to=9",
            .init(body: ["changes": [["path": "/beaconSeconds", "from": 60, "to": 90]]]))
        let form: FormFields = [
            ("json", #"{"beaconSeconds": 60, "logging": {"level": "error", "wifiOnly": true}}"#), ("tag", #""7""#),
            ("base", "7"), ("mode", "json"),
        ]
        // The review already shows the other revision.
        let conflict = try await Self.answer(harness, form.with("action", "review"))
        #expect(conflict.html.contains("Somebody else saved this profile"))
        let own = try #require(conflict.html.split(separator: "<h2>What you changed</h2>").last)
        #expect(own.contains("logging.level") && !own.contains(">beaconSeconds<"))
        #expect(!conflict.html.contains("Both of you changed"))
        let merged = SentForm.fields(of: conflict.html)
        #expect(merged["tag"] == #""9""#)
        let profile = try ProfileJSON.value(try #require(merged["json"]), what: "the merged profile")
        #expect(profile == ["beaconSeconds": 90, "logging": ["level": "error", "wifiOnly": true]])
        #expect(!harness.requests.contains { $0.method == "PUT" })
    }

    @Test func `Changes are merged at their places`() throws {
        let newest: JSONValue = ["a": ["b": 1, "c": 2], "d": [1]]
        let own: JSONValue = [["path": "/a/b", "from": 1], ["path": "/e~1f/g", "to": 3], ["path": "/d", "to": [2]]]
        let theirs: JSONValue = [["path": "/a/c", "to": 2], ["path": "/d", "to": [1]], ["path": "/e~1f/g", "to": 3]]
        let merge = ProfileMerge(
            own: try FixtureDecoder.view([ProfileChangeView].self, from: own),
            theirs: try FixtureDecoder.view([ProfileChangeView].self, from: theirs))
        #expect(merge.merged(into: newest) == ["a": ["c": 2], "d": [2], "e/f": ["g": 3]])
        #expect(merge.both == ["d"])
    }

    @Test func `The profile can be written as JSON`() async throws {
        let harness = try Self.harness()
        let form = try await Self.form(harness).with("action", "to-json")
        let json = try await Self.answer(harness, form)
        #expect(json.html.contains(#"<textarea id="json" name="json""#))
        #expect(SentForm.fields(of: json.html)["json"]?.contains("\"beaconSeconds\" : 60") == true)
        // What is no JSON cannot be shown in the form, and stays as it was written.
        let written: FormFields = [("json", "{\"a\": }"), ("tag", #""7""#), ("mode", "json")]
        for action in ["to-form", "validate", "review", "save"] {
            let answer = try await Self.answer(harness, written.with("action", action))
            #expect(answer.html.contains("In line 1 of the JSON"), "\(action)")
            #expect(answer.html.contains("{&quot;a&quot;: }</textarea>"), "\(action)")
        }
        let back = try await Self.answer(
            harness, [("json", #"{"beaconSeconds": 70}"#), ("tag", "t"), ("mode", "json"), ("action", "to-form")])
        #expect(back.html.contains(#"name="beaconSeconds" value="70""#))
        #expect(!harness.requests.contains { $0.method == "PUT" })
    }

    @Test func `Findings are shown before saving`() async throws {
        let harness = try Self.harness()
        harness.set(
            Self.validate,
            .init(
                body: Self.valid.with([
                    "findings": [["path": "/certificatePins", "detail": "There is no backup pin."]]
                ])))
        let form = try await Self.form(harness)
        for action in ["validate", "review"] {
            let answer = try await Self.answer(harness, form.with("action", action))
            #expect(answer.html.contains("There is no backup pin."), "\(action)")
        }
    }

    // MARK: Risks

    private static let risky: JSONValue = valid.with([
        "risks": [
            [
                "effect": "wipe", "rule": "kiosk", "devices": 305, "devicesNow": 2,
                "detail": "The rule <kiosk> expects 2.4.",
            ],
            ["effect": "telemetry-off", "devices": 1305, "devicesNow": 1305, "detail": "They send nothing."],
        ]
    ])

    @Test func `What may wipe or silence devices is shown and saved only with their number typed`() async throws {
        let harness = try Self.harness()
        harness.set(Self.validate, .init(body: Self.risky))
        harness.set("PUT /api/v1/profiles/west", .init(body: Self.revision(8, .null)))
        let form = try await Self.form(harness)
        #expect(try await Self.answer(harness, form.with("action", "validate")).html.contains("This may wipe"))
        let review = try await Self.answer(harness, form.with("action", "review"))
        #expect(review.html.contains("This may wipe 305 devices.</strong> The rule &lt;kiosk&gt; expects 2.4."))
        #expect(review.html.contains("2 of 305 devices are breaking the rule now."))
        #expect(review.html.contains("This switches the telemetry of 1,305 devices off."))
        #expect(review.html.contains("Type <strong>1305</strong>") && review.html.contains(#"class="danger""#))

        let sent = SentForm.fields(of: review.html).with("action", "save")
        for typed in [nil, "", "305", "1306"] {
            let refused = try await Self.answer(harness, sent.with("typed", typed))
            #expect(refused.html.contains("Not confirmed") && refused.html.contains("Type <strong>1305</strong>"))
            #expect(SentForm.fields(of: refused.html)["json"] == sent["json"])
        }
        #expect(!harness.requests.contains { $0.method == "PUT" })
        #expect(try await Self.answer(harness, sent.with("typed", "1,305")).status == 303)
        #expect(harness.requests.last?.method == "PUT")
    }

    @Test func `A rollback to a risky revision is typed, too`() async throws {
        let harness = try Self.harness()
        harness.set("GET \(Self.revisions)/diff", .init(body: ["changes": []]))
        harness.set(Self.validate, .init(body: Self.risky))
        harness.set("POST \(Self.revisions)/rollback", .init(body: Self.revision(8, .null)))
        let query: FormFields = [("rollback", "3")]
        let question = try await harness.page(Self.page, Self.visit(harness, query: query))
        #expect(question.html.contains("This may wipe 305 devices."))
        let form = SentForm.fields(of: question.html)
        let refused = try await harness.console.answerForm(
            Self.page, Self.visit(harness, query: query, form: form.with("typed", "5")))
        #expect(refused.status == 422)
        #expect(String(decoding: refused.body, as: UTF8.self).contains("Not confirmed"))
        #expect(!harness.requests.contains { $0.path.hasSuffix("/rollback") })
        let done = try await harness.console.answerForm(
            Self.page, Self.visit(harness, query: query, form: form.with("typed", "1305")))
        #expect(done.status == 303 && harness.requests.last?.path == "\(Self.revisions)/rollback")
    }
}
