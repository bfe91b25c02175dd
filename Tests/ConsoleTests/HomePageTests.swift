import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct HomePageTests {
    static let hostile = #"<script>alert(1)</script>"'{{x}}"# + "\u{202E}" + String(repeating: "w", count: 10_000)

    private static let facets: JSONValue = [
        "total": 9990,
        "facets": [
            "state": ["values": [["value": "reporting", "devices": 9000], ["value": "silent", "devices": 12]]],
            "compromised": ["values": [["value": "yes", "devices": 3]]],
            "compliance": ["values": [["value": "compliant", "devices": 8000]]],
            "agentVersion": ["values": [["value": "1.0.0", "devices": 7000], ["value": .null, "devices": 10]]],
        ],
    ]

    /// Every record is there.
    static let whole: JSONValue = [
        "state": "known", "running": false,
        "balance": [
            "startedAt": "2026-01-02T02:59:00.000000Z", "completedAt": "2026-01-02T02:59:05.000000Z", "intact": true,
            "devices": 10_000, "devicesWaiting": 40, "streams": 30_000, "streamsLeftOut": 0, "files": 21,
            "produced": 5_000_000, "stored": 4_999_000, "rejected": [:], "dropped": [:], "waiting": 1000, "lost": 0,
            "lostAtCollector": 0, "missing": 0, "doubled": 0, "devicesWithFaults": 0, "faults": [],
        ],
        "verification": [
            "startedAt": "2026-01-01T03:00:00.000000Z", "completedAt": "2026-01-01T03:04:05.000000Z", "intact": true,
            "scope": [
                "files": 21, "chains": 30_000, "records": 4_000_000, "recordBytes": 5, "chunks": 7, "chunkBytes": 9,
            ],
            "findingCount": 0, "findings": [],
        ],
    ]

    static let device = "4dc66c57-2130-45b0-beae-c4a50c91faf7"

    /// One record is lost, and another one is there twice.
    static func faulty(lost: Int64 = 1, doubled: Int64 = 1) -> JSONValue {
        var balance = whole["balance"].members
        for (name, value) in ["lost": lost, "missing": lost, "doubled": doubled] { balance[name] = .integer(value) }
        balance["intact"] = false
        balance["devicesWithFaults"] = 1
        balance["faults"] = [
            [
                "device": .text(device), "reasons": ["missing", "doubled"], "lostAtCollector": 0,
                "missing": .integer(lost), "doubled": .integer(doubled),
            ]
        ]
        return whole.with(["balance": .object(balance)])
    }

    private static let capacity: JSONValue = [
        "ingest": [
            "recordsPerSecond": .real(166.5),
            "minutes": [["begin": "2026-01-02T03:03:00.000000Z", "records": 9990]],
        ],
        "streams": [], "bytes": 3_000_000_000, "bytesPerDay": 100_000_000, "growthDays": 7,
        "disk": ["freeBytes": 2_000_000_000, "sizeBytes": 10_000_000_000, "full": "expected", "fullInDays": 20],
    ]

    private static let empty: JSONValue = ["items": [], "next": .null]

    static func notice(_ changes: [String: JSONValue] = [:]) -> JSONValue {
        let notice: JSONValue = [
            "id": "7", "code": "disk-low", "organization": "", "subject": "/var/lib/ws1", "detail": "1 GB is free.",
            "count": 2, "firstAt": "2026-01-02T01:00:00.000000Z", "lastAt": "2026-01-02T02:00:00.000000Z",
            "remedy": "Free disk space.", "runbook": "a-full-disk-at-the-collector",
        ]
        return notice.with(changes)
    }

    private func harness(_ replies: [String: ConsoleHarness.Reply] = [:]) throws -> ConsoleHarness {
        let all: [String: JSONValue] = [
            "GET /api/v1/devices/facets": Self.facets, "GET /api/v1/balance": Self.whole,
            "GET /api/v1/notices": ["items": [Self.notice()], "next": .null, "openCount": 1],
            "GET /api/v1/capacity": Self.capacity, "GET /api/v1/devices": Self.empty,
            "GET /api/v1/logs/usage": [
                "items": [
                    [
                        "organization": "north", "application": "com.example.till", "chunks": 3, "rawBytes": 900,
                        "quotaBytes": 1000,
                    ]
                ], "next": .null,
            ],
            "GET /api/v1/organizations": ["items": [["name": "north"]], "next": .null],
            "GET /api/v1/profile-revisions/north/adoption": [
                "items": [
                    ["revision": 4, "newestRevision": 4, "devices": 30],
                    ["revision": 3, "newestRevision": 4, "devices": 10],
                ], "next": .null,
            ],
            "GET /api/v1/profile-revisions/north": [
                "items": [
                    [
                        "organization": "north", "revision": 4, "author": "ann",
                        "createdAt": "2026-01-02T01:00:00.000000Z",
                    ],
                    [
                        "organization": "north", "revision": 3, "author": "old author",
                        "createdAt": "2025-12-02T01:00:00.000000Z",
                    ],
                ], "next": .null,
            ],
            "GET /api/v1/audit": Self.empty,
        ]
        return try ConsoleHarness(all.mapValues { ConsoleHarness.Reply(body: $0) }.merging(replies) { $1 })
    }

    private func home(
        _ harness: ConsoleHarness, role: PersonRole = .administrator, organization: String? = nil, base: String = ""
    ) async throws -> String {
        let page = try await harness.page("/", harness.visit("/", role: role, organization: organization, base: base))
        #expect(page.status == 200)
        return page.html
    }

    // MARK: The seal

    @Test func `A whole balance is green with its age and scope`() async throws {
        let html = try await home(try harness())
        #expect(html.contains("0 lost, 0 doubled, 1,000 waiting on devices"))
        #expect(html.contains("10,000 devices, 30,000 streams, 21 record files, and was completed 5 min ago"))
        #expect(html.contains("It read 4,000,000 records in 21 files and 7 log chunks, and was completed 24 h ago"))
        #expect(html.components(separatedBy: "seal-good").count == 3, "balance and verification")
        #expect(html.contains(#"href="/balance""#))
    }

    @Test func `One lost and one doubled record are seen`() async throws {
        let html = try await home(try harness(["GET /api/v1/balance": .init(body: Self.faulty())]))
        #expect(html.contains("1 lost, 1 doubled, 1,000 waiting on devices"))
        #expect(html.contains("seal-bad") && html.components(separatedBy: "seal-good").count == 2)
        for planted in [(Int64(1), Int64(0)), (0, 1)] {
            let seal = FleetSeal.balance(
                try Self.view(Self.faulty(lost: planted.0, doubled: planted.1)), now: ConsoleHarness.now)
            #expect(seal.state == .bad && seal.title.hasPrefix("\(planted.0) lost, \(planted.1) doubled"))
        }
    }

    @Test func `What is unknown is never green`() async throws {
        let unknown: JSONValue = ["state": "unknown", "running": true, "verification": .null]
        let html = try await home(try harness(["GET /api/v1/balance": .init(body: unknown)]))
        #expect(!html.contains("seal-good") && html.components(separatedBy: "seal-unknown").count == 3)
        #expect(html.contains("not known yet") && html.contains("Never verified"))

        let refused = try await home(
            try harness(["GET /api/v1/balance": .refusal(503, "store-unavailable", "The disk is <full>.")]))
        #expect(!refused.contains("seal-good") && refused.contains("The disk is &lt;full&gt;."))
    }

    /// Each of these answers must not count as a proof that all is there.
    @Test func `An old, empty or contradictory balance is not green`() throws {
        func state(_ changes: [String: JSONValue], now: Int64 = ConsoleHarness.now) throws -> FleetSeal.State {
            let answer = Self.whole.with(["balance": Self.whole["balance"].with(changes)])
            return FleetSeal.balance(try Self.view(answer), now: now).state
        }
        #expect(try state([:]) == .good)
        #expect(try state([:], now: ConsoleHarness.now + 86_400_000_000) == .unknown, "a day old")
        #expect(try state(["streams": 0]) == .unknown)
        #expect(try state(["intact": false]) == .bad)
        #expect(try state(["lost": 1]) == .bad)
        #expect(try state(["intact": false, "unreadableFiles": ["2026-01-01/event.sqlite"]]) == .bad)
        #expect(try state(["completedAt": .null]) == .unknown)
        #expect(FleetSeal.balance(FleetBalanceView(), now: 0).state == .unknown)
        let later = ConsoleHarness.now + 31 * 86_400_000_000
        #expect(FleetSeal.verification(try Self.view(Self.whole), now: ConsoleHarness.now).state == .good)
        #expect(FleetSeal.verification(try Self.view(Self.whole), now: later).state == .unknown)
        #expect(FleetSeal.verification(FleetBalanceView(), now: 0).state == .unknown)
        let bare = try Self.view(["verification": ["completedAt": "2026-01-01T03:04:05Z"]])
        #expect(FleetSeal.verification(bare, now: 0).state == .bad)
    }

    private static func view(_ answer: JSONValue) throws -> FleetBalanceView {
        try FixtureDecoder.view(FleetBalanceView.self, from: answer)
    }

    // MARK: The other parts

    @Test func `States are counts that open the list`() async throws {
        let html = try await home(try harness(), base: "/t")
        #expect(html.contains(#"href="/t/devices?state=reporting"><span class="figure">9,000</span>"#))
        #expect(html.contains(#"href="/t/devices?state=revoked"><span class="figure">0</span>"#))
        #expect(html.contains(#"compromised=yes"><span class="figure">3</span>"#))
        #expect(!html.contains("compliance=non-compliant"), "nobody breaks a rule")
        #expect(html.contains(#"agentVersion=1.0.0">1.0.0</a>"#) && html.contains("agentVersion=none"))
        #expect(html.contains("Other versions: 2,980 devices."))
    }

    @Test func `An empty fleet says what to do next`() async throws {
        let nobody: JSONValue = ["total": 0, "facets": ["state": ["values": []], "agentVersion": ["values": []]]]
        let html = try await home(try harness(["GET /api/v1/devices/facets": .init(body: nobody)]))
        #expect(html.contains("No device has enrolled yet") && html.contains(#"<a href="/add-device">"#))
    }

    @Test func `Home says when notices about silent devices begin`() async throws {
        let harness = try harness()
        #expect(try await !home(harness).contains("Notices about silent devices begin"))
        var console = harness.console
        console.silenceNoticesFrom = { ConsoleHarness.now + 60_000_000 }
        for path in ["/", "/notices"] {
            let response = try await console.answer(path, harness.visit(path))
            let html = String(decoding: response.body, as: UTF8.self)
            #expect(
                html.contains("Notices about silent devices begin at <time datetime=\"2026-01-02T03:05:05.000000Z\">"))
        }
    }

    @Test func `Notices come with their remedy, and muted ones do not`() async throws {
        let muted = Self.notice([
            "id": "8", "detail": "muted one", "muted": ["by": "ann", "at": "2026-01-02T01:00:00Z"],
        ])
        let notices: JSONValue = ["items": [Self.notice(), muted], "next": .null, "openCount": 1]
        let html = try await home(try harness(["GET /api/v1/notices": .init(body: notices)]))
        #expect(html.contains("1 GB is free.") && html.contains("<strong>What to do:</strong> Free disk space."))
        #expect(!html.contains("muted one"))
    }

    @Test func `Rate, room, quota and the days until the disk is full are shown`() async throws {
        let html = try await home(try harness())
        for text in [
            "166.5</span> records stored per second", "3 GB", "2 GB of 10 GB free", "The disk is full in about 20 days",
            "Records take 100 MB a day, by the last 7 whole days", #"data-table="t-ingest""#,
            "com.example.till", "uses 90 % of its log quota", "/organizations/north/log-quotas",
        ] { #expect(html.contains(text), "\(text)") }
    }

    @Test func `The forecast is marked by the days left`() throws {
        func state(_ disk: JSONValue) throws -> String? {
            let capacity = try FixtureDecoder.view(CapacityView.self, from: Self.capacity.with(["disk": disk]))
            return CapacityCard.values(of: capacity)["forecastState"].text
        }
        func state(_ full: String, _ days: Int64?) throws -> String? {
            let disk: JSONValue = [
                "freeBytes": 1, "sizeBytes": 2, "full": .text(full), "fullInDays": days.map { .integer($0) } ?? .null,
            ]
            return try state(disk)
        }
        #expect(try state("expected", 3) == "bad")
        #expect(try state("expected", 20) == "warn")
        #expect(try state("expected", 90) == "good")
        #expect(try state("never", nil) == "good")
        #expect(try state("unknown", nil) == "unknown")
        #expect(try state(.null) == "unknown")
    }

    @Test func `Test devices that are in no count are named`() async throws {
        let nobody: JSONValue = ["total": 0, "facets": ["state": ["values": []], "agentVersion": ["values": []]]]
        let all = "GET /api/v1/devices?state=enrolled%2Creporting%2Clate%2Csilent%2Coff%2Cotlp&test=true&limit=1"
        let html = try await home(
            try harness([
                "GET /api/v1/devices/facets": .init(body: nobody),
                all: .init(body: ["items": [], "next": .null, "total": 10_000]),
            ]))
        #expect(html.contains("10,000 test devices more") && html.contains(#"href="/devices?test=true""#))
        #expect(html.contains("No device has enrolled yet but test devices."))
    }

    @Test func `Adoption and changes of a day are shown`() async throws {
        let html = try await home(
            try harness([
                "GET /api/v1/devices": .init(
                    body: [
                        "items": [
                            ["id": "d1", "name": .text(Self.hostile), "enrolledAt": "2026-01-02T00:00:00.000000Z"],
                            ["id": "d2", "name": "of last year", "enrolledAt": "2025-01-02T00:00:00.000000Z"],
                        ], "next": .null,
                    ])
            ]))
        #expect(html.contains("30 of 40 (75 %)"))
        #expect(html.contains("1 device enrolled") && !html.contains("of last year"))
        #expect(html.contains("revision 4 by ann") && !html.contains("old author"))
        #expect(html.contains("1 new notice<"))
        #expect(!html.contains("<script>alert") && !html.contains("\u{202E}"))
    }

    @Test func `A day without changes says so`() async throws {
        let html = try await home(
            try harness([
                "GET /api/v1/notices": .init(body: ["items": [], "next": .null, "openCount": 0]),
                "GET /api/v1/profile-revisions/north": .init(body: Self.empty),
            ]))
        #expect(html.contains("no device came or left") && html.contains("No notice is open."))
    }

    @Test func `A person of one organization sees nothing of the collector`() async throws {
        let harness = try harness()
        let html = try await home(harness, role: .viewer, organization: "north")
        #expect(!html.contains("The disk is full") && !html.contains("Audit trail"))
        let asked = harness.requests.map(\.path)
        #expect(!asked.contains("/api/v1/capacity") && !asked.contains("/api/v1/audit"))
        #expect(!asked.contains("/api/v1/organizations"))
    }

    /// Each costs time with many devices, and none of them grows with their number.
    @Test func `The requests are few`() async throws {
        let harness = try harness()
        _ = try await home(harness)
        #expect(harness.requests.count <= 13, "\(harness.requests.map(\.target))")
        // The newest devices, and how many there are with test devices.
        #expect(harness.requests.filter { $0.path == "/api/v1/devices" }.count == 2)
    }

    @Test func `A part that fails does not hide the others`() async throws {
        let failure = ConsoleHarness.Reply.refusal(503, "store-unavailable", "Not now.")
        let routes = [
            "devices/facets", "notices", "balance", "capacity", "logs/usage", "organizations", "devices",
        ]
        for route in routes {
            let html = try await home(try harness(["GET /api/v1/\(route)": failure]))
            #expect(html.contains("Is every record there?") && html.contains("What changed in the last 24 hours"))
        }
    }
}
