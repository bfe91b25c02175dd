import Foundation
import JSON
import Testing

@testable import Console

@Suite struct StoragePageTests {
    private static let path = "/storage"
    private static let retention: JSONValue = [
        "streams": [
            [
                "stream": "event", "files": 3, "bytes": 1_500_000, "oldest": "2026-01-01", "newest": "2026-01-03",
                "removedFiles": 2,
            ]
        ],
        "purge": ["id": "p1", "state": "failed", "removedFiles": 1, "failure": "disk <broken>"],
    ]
    private static let plan: JSONValue = [
        "asked": false, "files": 2, "bytes": 1_000_000, "confirm": "c0ffee",
        "streams": [
            ["stream": "event", "files": 2, "bytes": 1_000_000, "oldest": "2026-01-01", "newest": "2026-01-02"]
        ],
    ]

    @Test func `It shows what is kept and the last removal`() async throws {
        let harness = try ConsoleHarness(["GET /api/v1/retention": Self.retention])
        let page = try await harness.page(Self.path, harness.visit(Self.path))
        #expect(page.html.contains("1.50 MB") && page.html.contains("2026-01-03"))
        #expect(page.html.contains("disk &lt;broken&gt;"))
        #expect(!page.html.contains("Retention waits"))
    }

    @Test func `It shows how long records are kept and when the disk is full`() async throws {
        let harness = try ConsoleHarness([
            "GET /api/v1/retention": Self.retention,
            "GET /api/v1/capacity": [
                "ingest": ["minutes": []], "bytes": 1_500_000, "bytesPerDay": 500_000, "growthDays": 2,
                "streams": [
                    ["stream": "event", "bytesPerDay": 500_000, "retentionDays": 90, "retentionBytes": 5_000_000_000]
                ],
                "disk": ["freeBytes": 3_000_000, "sizeBytes": 9_000_000, "full": "expected", "fullInDays": 6],
            ],
        ])
        let page = try await harness.page(Self.path, harness.visit(Self.path))
        for text in ["500 kB</td>", "90 days, at most 5 GB", "The disk is full in about 6 days", "a minute after"] {
            #expect(page.html.contains(text), "\(text)")
        }
    }

    @Test func `A doubtful clock is confirmed by a form`() async throws {
        let waiting = Self.retention.with([
            "waiting": "the clock went back", "waitingSince": "2026-01-01T00:00:00.000000Z",
        ])
        let harness = try ConsoleHarness(["GET /api/v1/retention": waiting])
        let page = try await harness.page(Self.path, harness.visit(Self.path))
        #expect(page.html.contains("Retention waits.</strong> the clock went back"))
        #expect(page.html.contains("2026-01-02 03:04:05 UTC</time> now"), "the collector's time, to compare with")
        harness.set("POST /api/v1/retention/release", .init(body: ["released": true]))
        let response = try await harness.console.answerForm(
            Self.path, harness.visit(Self.path, form: [("action", "release")]))
        #expect(response.status == 303)
        #expect(harness.requests.last?.path == "/api/v1/retention/release")
    }

    @Test func `Removing says how much and asks`() async throws {
        let harness = try ConsoleHarness(["POST /api/v1/records/purge": Self.plan])
        let form: FormFields = [("action", "ask-purge"), ("olderThanDays", "30"), ("streams", "event")]
        let question = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
        #expect(harness.requests.map(\.body) == [["olderThanDays": 30, "streams": ["event"]]])
        let html = String(decoding: question.body, as: UTF8.self)
        #expect(html.contains("Remove 1 MB of records?") && html.contains("1 MB of 2 days, 2026-01-01 to 2026-01-02"))
        let hidden = Dictionary(
            uniqueKeysWithValues: html.matches(of: #/type="hidden" name="(\w+)" value="([^"]*)"/#).map {
                (String($0.output.1), String($0.output.2))
            }.filter { $0.0 != "formToken" })
        #expect(hidden == ["action": "purge", "olderThanDays": "30", "streams": "event", "confirm": "c0ffee"])

        let answer = FormFields(hidden.map { ($0.key, $0.value) })
        let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: answer))
        #expect(response.status == 303)
        #expect(
            harness.requests.last?.body == ["olderThanDays": 30, "streams": ["event"], "confirm": "c0ffee"])
    }

    @Test func `If nothing is that old, it says so without a question`() async throws {
        let harness = try ConsoleHarness([
            "POST /api/v1/records/purge": Self.plan.with(["files": 0, "bytes": 0, "streams": []])
        ])
        let form: FormFields = [("action", "ask-purge"), ("olderThanDays", "30"), ("streams", "event")]
        let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
        #expect(response.status == 303)
    }

    /// The API reads no list of kinds as all of them; a form on which none is chosen must not.
    @Test(arguments: [
        [("olderThanDays", "30")], [("streams", "event")], [("olderThanDays", "x"), ("streams", "event")],
    ]) func `A form without kinds or age removes nothing`(fields: [(String, String)]) async throws {
        let harness = try ConsoleHarness(["GET /api/v1/retention": Self.retention])
        for action in ["ask-purge", "purge"] {
            let form = FormFields([("action", action)] + fields)
            let response = try await harness.console.answerForm(Self.path, harness.visit(Self.path, form: form))
            #expect(response.status == 422)
        }
        #expect(harness.requests.allSatisfy { $0.method == "GET" })
    }

    @Test func `The API decides who sees it`() async throws {
        let harness = try ConsoleHarness([
            "GET /api/v1/retention": .refusal(403, "forbidden", "The token belongs to west.")
        ])
        let page = try await harness.page(Self.path, harness.visit(Self.path, organization: "west"))
        #expect(page.status == 403 && page.html.contains("The token belongs to west."))
    }
}
