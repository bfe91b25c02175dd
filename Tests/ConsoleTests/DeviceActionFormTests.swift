import Foundation
import JSON
import Testing

@testable import Console

@Suite struct DeviceActionFormTests {
    private static let path = "/devices"
    private static let plan: JSONValue = ["devices": 1200, "confirm": "1200-c0ffee"]
    private static let list: JSONValue = ["items": [["id": "d-1"], ["id": "d-2"]], "next": .null, "total": 2]

    private static func harness(_ plan: JSONValue = plan) throws -> ConsoleHarness {
        try ConsoleHarness(["GET /api/v1/devices": list, "POST /api/v1/device-jobs": plan])
    }

    private static func send(
        _ form: FormFields, to harness: ConsoleHarness, query: FormFields = []
    ) async throws -> (status: Int, html: String, location: String?) {
        let response = try await harness.console.answerForm(path, harness.visit(path, query: query, form: form))
        return (
            response.status, String(decoding: response.body, as: UTF8.self),
            response.headers.first { $0.name == "Location" }?.value
        )
    }

    /// The form of a question or of options, without those of the page's frame.
    private static func form(of html: String) -> FormFields {
        let main = html[(html.firstRange(of: "<main")?.lowerBound ?? html.startIndex)...]
        return SentForm.fields(of: String(main))
    }

    @Test func `Selected devices are counted and confirmed`() async throws {
        let harness = try Self.harness()
        let asked = try await Self.send(
            [
                ("action", "ask"), ("what", "send-beacon"), ("scope", "selected"), ("device", "d-1"), ("device", "d-2"),
                ("filter", "state=silent"),
            ], to: harness)
        #expect(
            harness.requests.map(\.body) == [
                ["action": "command", "kind": "send-beacon", "arguments": [:], "devices": ["d-1", "d-2"]]
            ], "a dry run")
        #expect(asked.html.contains("Send a beacon: 1,200 devices?") && !asked.html.contains("name=\"typed\""))

        harness.set("POST /api/v1/device-jobs", .init(status: 202, body: ["id": "j-1"]))
        let begun = try await Self.send(Self.form(of: asked.html), to: harness)
        #expect(begun.status == 303 && begun.location == "/jobs/j-1")
        let request = try #require(harness.requests.last)
        #expect(request.body?["confirm"] == "1200-c0ffee" && request.body?["devices"] == ["d-1", "d-2"])
        #expect(request.idempotencyKey?.isEmpty == false, "sent twice it begins one job")
    }

    @Test func `Listed devices are those of the filter`() async throws {
        let harness = try Self.harness()
        let asked = try await Self.send(
            [
                ("action", "ask"), ("what", "reload-profile"), ("scope", "listed"), ("device", "d-1"),
                ("filter", "os=debian%2012&test=true&sort=name"),
            ], to: harness)
        #expect(harness.requests.last?.body?["filter"] == ["os": "debian 12", "test": "true"])
        #expect(harness.requests.last?.body?["devices"] == .null)
        #expect(asked.html.contains("operating system debian 12; test devices too"))
        _ = try await Self.send(Self.form(of: asked.html), to: harness)
        #expect(harness.requests.last?.body?["filter"] == ["os": "debian 12", "test": "true"])
    }

    /// Their states change by themselves between the question and the answer.
    @Test func `Devices that are listed by state are named`() async throws {
        let harness = try Self.harness()
        let form: FormFields = [
            ("action", "ask"), ("what", "send-beacon"), ("scope", "listed"), ("filter", "state=silent"),
        ]
        let asked = try await Self.send(form, to: harness)
        #expect(harness.requests.last?.body?["devices"] == ["d-1", "d-2"])
        #expect(asked.html.contains("state silent"))
        harness.set("GET /api/v1/devices", .init(body: Self.list.with(["total": 10_001])))
        _ = try await Self.send(form, to: harness)
        #expect(harness.requests.last?.body?["filter"] == ["state": "silent"], "too many to be named")
    }

    @Test(arguments: ["wipe", "enterprise-wipe", "delete"]) func `What erases needs the number typed`(what: String)
        async throws
    {
        let harness = try Self.harness()
        let asked = try await Self.send(
            [
                ("action", "ask"), ("what", what), ("scope", "listed"), ("filter", ""), ("ready", "yes"),
                ("reason", "lost & found"),
            ], to: harness)
        #expect(asked.html.contains("Type <strong>1200</strong>"))
        let plain = Self.form(of: asked.html)
        let dryRuns = harness.requests.count
        for typed in ["", "120", "yes", "1200-c0ffee"] {
            let refused = try await Self.send(plain.with("typed", typed), to: harness)
            #expect(refused.status == 422 && refused.html.contains("Nothing was done."), "\(typed)")
        }
        #expect(harness.requests[dryRuns...].allSatisfy { $0.method == "GET" })
        let begun = try await Self.send(plain.with("typed", "1,200"), to: harness)
        #expect(begun.status == 303)
        let body = try #require(harness.requests.last?.body)
        #expect(body["confirm"] == "1200-c0ffee" && body["filter"] == [:])
        #expect(body["arguments"]["reason"].text == (what == "delete" ? nil : "lost & found"))
    }

    @Test func `Options are asked for first, and kept to the end`() async throws {
        let harness = try Self.harness()
        let options = try await Self.send(
            [("action", "ask"), ("what", "request-logs"), ("scope", "listed"), ("filter", "q=kiosk")], to: harness)
        #expect(harness.requests.isEmpty)
        let filled = Self.form(of: options.html).with("level", "error").with("maximumBytes", "5").with("text", "a & b")
        let asked = try await Self.send(filled, to: harness)
        let arguments = try #require(harness.requests.last?.body?["arguments"])
        #expect(arguments["level"] == "error" && arguments["maximumBytes"] == 5_000_000)
        #expect(asked.html.contains("5 MB") && asked.html.contains("a &amp; b"))
        _ = try await Self.send(Self.form(of: asked.html), to: harness)
        #expect(harness.requests.last?.body?["arguments"] == arguments)
    }

    @Test func `A message to many devices is shown before it is sent`() async throws {
        let harness = try Self.harness()
        let options = try await Self.send(
            [("action", "ask"), ("what", "message"), ("scope", "selected"), ("device", "d-1"), ("device", "d-2")],
            to: harness)
        let asked = try await Self.send(
            Self.form(of: options.html).with("messageText", "Closing <soon>"), to: harness)
        #expect(asked.html.contains("Closing &lt;soon&gt;"))
        let begun = try await Self.send(Self.form(of: asked.html), to: harness)
        #expect(begun.status == 422 || begun.status == 303)
        let body = try #require(harness.requests.last?.body)
        #expect(body["kind"] == "message" && body["arguments"] == ["text": "Closing <soon>"])
        #expect(body["confirm"] == "1200-c0ffee" && body["devices"] == ["d-1", "d-2"])
    }

    @Test func `Options that are refused are shown again`() async throws {
        let harness = try Self.harness()
        harness.set("POST /api/v1/device-jobs", .refusal(422, "invalid-field", "durationSeconds is too large."))
        let again = try await Self.send(
            [
                ("action", "ask"), ("what", "change-log-level"), ("device", "d-1"), ("ready", "yes"),
                ("level", "error"),
                ("durationSeconds", "99999"),
            ], to: harness)
        #expect(again.html.contains("durationSeconds is too large."))
        #expect(Self.form(of: again.html)["durationSeconds"] == "99999")
        #expect(Self.form(of: again.html)["devices"] == "d-1")
    }

    @Test func `Revoking may close the tokens, too`() async throws {
        let harness = try Self.harness()
        _ = try await Self.send(
            [
                ("action", "ask"), ("what", "revoke"), ("device", "d-1"), ("ready", "yes"),
                ("closeEnrollmentToken", "on"),
            ], to: harness)
        #expect(
            harness.requests.last?.body == ["action": "revoke", "closeEnrollmentToken": true, "devices": ["d-1"]])
    }

    @Test func `Other devices than were asked about are asked about again`() async throws {
        let harness = try Self.harness()
        let asked = try await Self.send(
            [("action", "ask"), ("what", "send-beacon"), ("scope", "listed"), ("filter", "q=x")], to: harness)
        harness.answersOnce("POST /api/v1/device-jobs", .refusal(409, "confirmation-outdated", "Changed."))
        let again = try await Self.send(Self.form(of: asked.html), to: harness)
        #expect(again.status == 200 && again.html.contains("Other devices match now"))
        #expect(Self.form(of: again.html)["confirm"] == "1200-c0ffee")
    }

    @Test(arguments: [
        [("what", "send-beacon"), ("scope", "selected"), ("filter", "q=x")], [("what", "explode"), ("device", "d-1")],
    ]) func `Without devices or action, nothing is asked`(fields: [(String, String)]) async throws {
        let harness = try Self.harness()
        for action in ["ask", "begin"] {
            let refused = try await Self.send(FormFields([("action", action)] + fields), to: harness)
            #expect(refused.status == 422)
        }
        #expect(harness.requests.allSatisfy { $0.method == "GET" })
    }

    @Test func `No device means no job`() async throws {
        let harness = try Self.harness(["devices": 0])
        let answer = try await Self.send(
            [("action", "ask"), ("what", "send-beacon"), ("scope", "listed"), ("filter", "q=x")], to: harness,
            query: [("q", "x")])
        #expect(answer.status == 303 && answer.location == "/devices?q=x")
    }
}
