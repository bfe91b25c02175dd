import CollectorAPI
import Foundation
import JSON
import Testing
import WireModel

@testable import Console

@Suite("The form of a profile") struct ProfileFormTests {
    /// A profile with every field that there is.
    static let whole: JSONValue = [
        "sampling": [
            "modules": ["wlan2", "system"], "sampleSeconds": .real(0.5), "transmitSeconds": 86_400,
            "overrides": [["module": "a.b", "sampleSeconds": 7], ["module": "system", "transmitSeconds": 9]],
        ],
        "analytics": ["enabled": false, "holdSeconds": 0],
        "logging": [
            "enabled": true, "level": "verbose", "wifiOnly": false, "scrubValues": [" a ", "<b>"],
            "scrubPatterns": ["[0-9]{4}", #"\d"#],
        ],
        "privacy": ["mac": "hash", "ip-address": "drop"],
        "transmission": [
            [
                "data": "log", "networks": ["wifi", "ethernet"], "ssids": ["Net & work", "ä"], "metered": false,
                "roaming": true, "minimumBattery": 2500, "externalPower": true,
            ], ["data": "sample"],
        ],
        "beaconSeconds": 60,
        "compliance": [
            [
                "id": "os", "subject": "operating-system-version", "operator": "<=", "version": "12",
                "action": "\"Update\"", "consequence": "wipe",
            ], ["id": "at", "subject": "location", "operator": "inside", "geofence": "f"],
        ],
        "geofences": [
            ["id": "f", "name": "Yard", "latitude": .real(-52.520008), "longitude": 0, "radiusMeters": 20_000_000],
            [
                "id": "p",
                "corners": [
                    ["latitude": 52, "longitude": .real(13.3777041)], ["latitude": .real(-0.5), "longitude": 179],
                    ["latitude": 1, "longitude": -180],
                ],
            ],
        ],
        "offlineTimeAllowedSeconds": 31_622_400, "doNotDisturbAllowed": true,
        "certificatePins": ["AQEB", "AgIC"], "certificateAuthorities": ["MAE="],
        "customPayload": "\n line 1\n\u{202E}line 2 \n",
        "telemetryDisabled": false,
        "test": true,
        "budgets": ["sentBytesPerDay": 9_007_199_254_740_993, "writtenBytesPerDay": 0, "cpuShare": 100],
        "detection": [
            "detectors": ["tracer-attached"], "systemPaths": ["/etc"], "kernelModules": ["a"],
            "unsignedKernelModules": ["b"], "consequence": "block",
        ],
    ]

    /// The editor's page of a profile, and what its form sends.
    private static func sent(_ profile: JSONValue) async throws -> FormFields {
        let harness = try ConsoleHarness([
            "GET /api/v1/profiles/west": ["organization": "west", "revision": 1, "profile": profile],
            "POST /api/v1/profile-revisions/west/validate": ["changes": [], "findings": [], "effective": profile],
            "GET /api/v1/devices": ["items": [], "next": .null, "total": 1],
        ])
        let visit = harness.visit("/profiles/west/edit", parameters: ["organization": "west"])
        return SentForm.fields(of: try await harness.page("/profiles/{organization}/edit", visit).html)
    }

    /// The names of all fields in the schema.
    private static func leaves(_ fields: [ProfileField], _ path: String = "") -> Set<String> {
        Set(
            fields.flatMap { field -> [String] in
                let place = path.isEmpty ? field.name : "\(path).\(field.name)"
                return switch field.kind {
                case .object(let fields): Array(leaves(fields, place))
                case .rows(let fields): Array(leaves(fields, "\(place).0"))
                case .map(let names, _): names.map { "\(place).\($0)" }
                default: [place]
                }
            })
    }

    @Test func `A form that nobody touched says what the profile says`() async throws {
        for profile in [Self.whole, [:]] {
            let form = try await Self.sent(profile)
            #expect(try ProfileForm.profile(from: form) == profile)
        }
    }

    @Test func `Every field is in the form`() async throws {
        let names = Set(try await Self.sent(Self.whole).fields.map(\.name))
        let all = Self.leaves(ProfileField.all)
        #expect(all.count > 40)
        #expect(all.subtracting(names).isEmpty)
    }

    /// An empty list of modules means that none is sampled; no list leaves it to the device.
    @Test func `An empty list that decides stays`() async throws {
        let profile: JSONValue = ["sampling": ["modules": []], "detection": ["detectors": []]]
        let form = try await Self.sent(profile)
        #expect(try ProfileForm.profile(from: form) == profile)
        #expect(
            try ProfileForm.profile(from: form.with("sampling.modules.given").with("detection.detectors.given")) == [:])
    }

    @Test func `Texts of several lines stay as they are`() async throws {
        let profile: JSONValue = ["logging": ["scrubValues": ["two\nlines", "\"x\""]]]
        let form = try await Self.sent(profile)
        #expect(form["logging.scrubValues"] == nil, "a line could not tell them apart")
        #expect(try ProfileForm.profile(from: form) == profile)
    }

    @Test(
        arguments: [
            ("sampling.sampleSeconds", "soon", ["sampling": ["sampleSeconds": "soon"]]),
            ("sampling.sampleSeconds", "1e400", ["sampling": ["sampleSeconds": "1e400"]]),
            ("beaconSeconds", "60.5", ["beaconSeconds": .real(60.5)]), ("test", "maybe", ["test": "maybe"]),
            ("logging.level", "loud", ["logging": ["level": "loud"]]),
            ("privacy.mac", "eat", ["privacy": ["mac": "eat"]]),
            ("geofences.5.latitude", "north", ["geofences": [["latitude": "north"]]]),
            (
                "geofences.0.corners", "1, 2, 3\r\n\r\n 4.5 ,six\r\n7",
                [
                    "geofences": [
                        [
                            "corners": [
                                ["latitude": 1, "longitude": "2, 3"], ["latitude": .real(4.5), "longitude": "six"],
                                ["latitude": 7],
                            ]
                        ]
                    ]
                ]
            ),
        ] as [(String, String, JSONValue)])
    func `What the API would refuse is sent to it`(name: String, value: String, profile: JSONValue) throws {
        #expect(try ProfileForm.profile(from: [(name, value), ("end", "1")]) == profile)
    }

    @Test func `Rows stay in order, and empty ones are left out`() throws {
        let form: FormFields = [
            ("compliance.10.id", "last"), ("compliance.2.id", "first"), ("compliance.3.id", " "),
            ("compliance.3.operator", ""), ("unknown", "x"), ("end", "1"),
        ]
        #expect(try ProfileForm.profile(from: form) == ["compliance": [["id": "first"], ["id": "last"]]])
    }

    /// Fields that a form leaves out would otherwise return to their defaults unseen.
    @Test func `A form that was cut off is refused`() {
        #expect(throws: Problem.self) { try ProfileForm.profile(from: [("test", "true")]) }
    }

    @Test func `Wrong JSON is refused with its line`() {
        for (text, line) in [("{\n\"a\": 1,\n}", "line 3"), ("", "line 1"), ("{\"a\": 1,\n\"a\": 2}", "line 2")] {
            #expect {
                try ProfileJSON.value(text, what: "the JSON")
            } throws: { error in
                (error as? Problem)?.detail?.contains("\(line) of the JSON") == true
            }
        }
    }
}
