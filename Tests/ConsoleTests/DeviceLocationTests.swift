import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct DeviceLocationTests {
    private static let id = "4dc66c57-2130-45b0-beae-c4a50c91faf7"
    private static let api = "/api/v1/devices/\(id)"
    private static let empty: JSONValue = ["items": [], "next": .null]

    private static func position(_ minute: Int, _ latitude: Double, _ longitude: Double = 13.4) -> JSONValue {
        [
            "source": "sample", "state": "position", "time": .text("2026-01-02T03:0\(minute):00.000000Z"),
            "latitude": .real(latitude), "longitude": .real(longitude), "accuracyMeters": 4,
            "altitudeMeters": .real(34.5),
            "speedMetersPerSecond": .real(1.5), "fix": 3, "gap": false,
        ]
    }

    private static let lost: JSONValue = [
        "source": "sample", "state": "no-fix", "time": "2026-01-02T03:03:30.000000Z", "fix": 1,
    ]

    private static let track: JSONValue = [
        "items": [position(3, 52.503), position(2, 52.502), position(1, 52.501)], "next": .null,
    ]

    private func harness(
        location: JSONValue = .null, beacon: JSONValue = ["modules": ["system", "gps"]], profile: JSONValue = [:],
        _ replies: [String: JSONValue] = [:]
    ) throws -> ConsoleHarness {
        let device: JSONValue = [
            "id": .text(Self.id), "organization": "default", "name": "till 7", "state": "reporting",
            "createdAt": "2025-01-01T00:00:00.000000Z", "enrolledAt": "2025-01-01T00:00:00.000000Z",
            "beacon": beacon, "location": location,
        ]
        let lists =
            ["/api/v1/notices", "\(Self.api)/beacons", "\(Self.api)/commands", "\(Self.api)/uploads"]
            + ["/api/v1/events", "/api/v1/audit", "/api/v1/profile-revisions/default", "\(Self.api)/samples"]
            + ["/api/v1/metrics-catalog", "\(Self.api)/positions"]
        var all: [String: JSONValue] = [
            "GET \(Self.api)": device, "GET \(Self.api)/do-not-disturb": [:], "GET \(Self.api)/samples/series": [:],
            "GET /api/v1/profiles/default": ["profile": profile],
        ]
        for list in lists { all["GET \(list)"] = Self.empty }
        return try ConsoleHarness(all.merging(replies) { $1 })
    }

    private func page(_ harness: ConsoleHarness, query: FormFields = []) async throws -> String {
        let page = try await harness.page(
            "/devices/{device}",
            harness.visit("/devices/\(Self.id)", parameters: ["device": Self.id], query: query))
        #expect(page.status == 200)
        return page.html
    }

    private static let known: JSONValue = [
        "newest": position(3, 52.503), "position": position(3, 52.503), "ageSeconds": 65,
    ]

    @Test func `The newest position has its age, and the track is a picture with a scale`() async throws {
        let harness = try harness(location: Self.known, ["GET \(Self.api)/positions": Self.track])
        let html = try await page(harness)
        for text in [
            "<dd>52.503, 13.4</dd>", "65 s ago, told by a sample", "<dd>4 m</dd>", "<dd>34.5 m</dd>",
            "<dd>1.50 m/s</dd>", "<dd>three dimensions</dd>", #"<path class="track-line" d="M"#, ">Start</text>",
            ">End</text>", ">N</text>", ">50 m</text>", "3 positions in 1 piece", "North is up.",
            #"role="img" aria-labelledby="track-title track-words""#, "All reports of this range as CSV",
        ] { #expect(html.contains(text), "\(text)") }
        #expect(!html.contains("style="))
        let asked = try #require(harness.requests.first { $0.path.hasSuffix("/positions") })
        #expect(asked.query["step"] != nil && asked.query["source"] == "sample")
    }

    @Test func `A lost fix is told beside the older position`() async throws {
        let location: JSONValue = [
            "newest": Self.lost, "position": Self.position(3, 52.503), "ageSeconds": 7200,
            "lostSince": "2026-01-02T03:03:10.000000Z",
        ]
        let html = try await page(try harness(location: location))
        #expect(html.contains("The device had no fix at its newest report"))
        #expect(html.contains(#"<dt>Lost since</dt><dd><time datetime="2026-01-02T03:03:10.000000Z">"#))
        #expect(html.contains("2 h ago") || html.contains("120 min ago"))
        #expect(html.contains("52.503, 13.4"))
    }

    @Test func `A position of a device that has no source any more is called the last known one`() async throws {
        let beacon: JSONValue = ["modules": ["gps"], "profileFindings": ["module-not-sampled-gps"]]
        let html = try await page(try harness(location: Self.known, beacon: beacon))
        #expect(html.contains("What follows is the last known position."))
        let other = try await page(try harness(location: Self.known))
        #expect(!other.contains("last known position") && !other.contains("Lost since"))
    }

    @Test(
        arguments: [
            (["privacy": ["position": "drop"]], ["modules": ["gps"]], "drops the privacy class <code>position</code>"),
            ([:], ["modules": ["gps"]], "drops the privacy class <code>position</code>"),
            (
                ["sampling": ["modules": ["system"]], "privacy": ["position": "send"]], [:],
                "does not choose the module <code>gps</code>"
            ),
            (["privacy": ["position": "send"]], ["modules": ["system"]], "does not name the module <code>gps</code>"),
            (
                ["privacy": ["position": "coarsen"]], ["modules": ["gps"]],
                "Neither its newest samples nor its newest beacon"
            ),
        ] as [(JSONValue, JSONValue, String)])
    func `Why no position is known is said in words`(profile: JSONValue, beacon: JSONValue, words: String) async throws
    {
        let harness = try harness(beacon: beacon, profile: profile)
        let html = try await page(harness)
        #expect(html.contains(words))
        // A track is looked for where somebody chose a range.
        #expect(!harness.requests.contains { $0.path.hasSuffix("/positions") })
        let ranged = try await page(harness, query: [("range", "7d")])
        #expect(ranged.contains("No record of this range tells where it was"))
        #expect(harness.requests.contains { $0.path.hasSuffix("/positions") })
    }

    @Test func `A range without a position says why, and beacons stand in for samples`() async throws {
        let withheld = Self.lost.with(["state": "withheld", "fix": 3])
        let harness = try harness(
            location: ["newest": withheld],
            [
                "GET \(Self.api)/positions": ["items": [withheld], "next": .null]
            ])
        let html = try await page(harness)
        #expect(html.contains("No record of this range has a position: the position was withheld."))
        #expect(html.contains("keeps its position to itself"))
        #expect(
            harness.requests.filter { $0.path.hasSuffix("/positions") }.map { $0.query["source"] } == [
                "sample", "beacon",
            ])
    }

    @Test func `A refused range is told in the section`() async throws {
        let harness = try harness(location: Self.known)
        harness.set("GET \(Self.api)/positions", .refusal(400, "too-much", "Ask for `less`."))
        #expect(try await page(harness).contains("Ask for <code>less</code>."))
    }

    @Test func `Geofences are drawn with their names and listed with the side of the device`() async throws {
        let hostile = "<script>alert(1)</script>\u{202E}" + String(repeating: "w", count: 5000)
        let harness = try harness(
            location: Self.known,
            profile: [
                "geofences": [
                    [
                        "id": "a", "latitude": .real(52.503), "longitude": .real(13.4), "radiusMeters": 300,
                        "name": "Depot",
                    ],
                    [
                        "id": "yard",
                        "corners": [
                            ["latitude": .real(52.5), "longitude": .real(13.4)],
                            ["latitude": .real(52.5), "longitude": .real(13.41)],
                            ["latitude": .real(52.501), "longitude": .real(13.41)],
                        ],
                    ], ["id": .text(hostile), "latitude": .real(52.5), "longitude": .real(13.4), "radiusMeters": 20],
                ]
            ],
            ["GET \(Self.api)/positions": Self.track])
        let html = try await page(harness)
        #expect(html.matches(of: /class="track-area"/).count == 3)
        for text in [">Depot</text>", ">yard</text>", "circle, radius 300 m", "polygon of 3 corners"] {
            #expect(html.contains(text), "\(text)")
        }
        #expect(html.contains("<td>inside</td>") && html.contains("<td>outside</td>"))
        #expect(!html.contains("<script>alert") && !html.contains("\u{202E}"))
    }

    @Test func `The CSV has every report of the range`() async throws {
        let harness = try harness(location: Self.known)
        harness.set(
            "GET \(Self.api)/positions",
            .init(body: ["items": [Self.position(3, -0.5), Self.lost], "next": .null]))
        let visit = harness.visit(
            "/devices/\(Self.id)", parameters: ["device": Self.id], query: [("format", "csv"), ("range", "7d")])
        let rows = try await harness.rows(of: try await harness.console.answer("/devices/{device}", visit))
        #expect(rows.count == 3)
        #expect(rows[0].hasPrefix("time,measuredAt,receivedAt,source,state,latitude,longitude"))
        #expect(rows[1] == "2026-01-02T03:03:00.000000Z,,,sample,position,-0.5,13.4,34.5,4,,1.5,,3,,")
        #expect(rows[2] == "2026-01-02T03:03:30.000000Z,,,sample,no-fix,,,,,,,,1,,")
        #expect(harness.requests.contains { $0.path.hasSuffix("/positions") && $0.query["step"] == nil })
    }
}
