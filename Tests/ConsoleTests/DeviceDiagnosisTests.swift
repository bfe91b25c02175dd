import CollectorAPI
import JSON
import TelemetryBasics
import Testing

@testable import Console

@Suite struct DeviceDiagnosisTests {
    private static let now: Int64 = 1_767_323_000_000_000

    private static func ago(_ seconds: Int64) -> JSONValue { .text(Timestamp.text(now - seconds * 1_000_000)) }

    private func diagnosis(
        _ device: JSONValue = [:], beacon: JSONValue = [:], doNotDisturb: JSONValue = [:], profile: JSONValue = [:]
    ) throws -> DeviceDiagnosis {
        DeviceDiagnosis(
            device: try FixtureDecoder.view(DeviceView.self, from: device.with(["beacon": beacon])),
            doNotDisturb: try FixtureDecoder.view(DoNotDisturbView.self, from: doNotDisturb), profile: profile,
            now: Self.now)
    }

    @Test(
        arguments: [
            (["state": "reporting", "expectedBeaconSeconds": 900], "every 15 min"),
            (
                ["state": "revoked", "revokedAt": "2026-01-02T03:04:05.000000Z"],
                "revoked it at 2026-01-02 03:04:05 UTC"
            ),
            (["state": "left", "leftAt": "2026-01-02T03:04:05.000000Z"], "its enrollment has ended"),
            (["state": "enrolled"], "has sent nothing since it enrolled"),
            (["state": "enrolled", "lastSeenAt": "2026-01-02T03:04:05.000000Z"], "no schedule of beacons"),
        ] as [(JSONValue, String)]) func `A state is put in words`(device: JSONValue, words: String)
        throws
    {
        let contact = try diagnosis(device).contact
        #expect(contact.count == 1 && contact[0].contains(words), "\(contact)")
    }

    @Test(
        arguments: [
            (["trigger": "stop"], "ended in order"),
            (["trigger": "schedule", "network": "offline"], "had no network"),
            (["trigger": "schedule", "power": ["batteryLevel": 300]], "battery was at 3 %"),
            (
                ["trigger": "schedule", "power": ["batteryLevel": 300, "externalPower": true]],
                "vanished without a word"
            ),
            (["trigger": "schedule"], "vanished without a word"),
        ] as [(JSONValue, String)]) func `A silent device's last beacon says what it can`(
            beacon: JSONValue, words: String
        ) throws
    {
        let device: JSONValue = [
            "state": "silent", "expectedBeaconSeconds": 60, "lastBeaconAt": Self.ago(600), "lastSeenAt": Self.ago(600),
        ]
        let contact = try diagnosis(device, beacon: beacon).contact
        #expect(contact.first == "Beacons are due every 60 s. Missing: 10.")
        #expect(contact.contains { $0.contains(words) }, "\(contact)")
        #expect(!contact.contains { $0.contains("was in contact") })
    }

    @Test func `A device that sends without beacons is not off`() throws {
        let contact = try diagnosis(
            [
                "state": "late", "expectedBeaconSeconds": 60, "lastBeaconAt": Self.ago(600), "lastSeenAt": Self.ago(5),
            ], beacon: ["trigger": "schedule"]
        ).contact
        #expect(contact.contains { $0.contains("was in contact after its last beacon") })
    }

    @Test func `A device whose telemetry is off is said to be off, not to be overdue`() throws {
        let contact = try diagnosis(["state": "off", "lastBeaconAt": Self.ago(86_400)], beacon: [:]).contact
        #expect(contact.count == 1 && contact[0].hasPrefix("Telemetry is switched off"), "\(contact)")
    }

    @Test func `Nothing is held where nothing says so`() throws {
        #expect(try diagnosis(beacon: ["network": "wifi", "consent": "granted"]).held.isEmpty)
        let unknown = DeviceDiagnosis(
            device: DeviceView(), doNotDisturb: DoNotDisturbView(), profile: .null, now: 0)
        #expect(unknown.held.isEmpty)
    }

    @Test(
        arguments: [
            (
                ["queue": [["stream": "sample", "waiting": 1200, "oldestAgeSeconds": 7200]]], [:], [:],
                "1,200 records of the stream sample waited at its last beacon, the oldest for 2 h."
            ),
            (["telemetryDisabled": true], [:], [:], "Telemetry is switched off"),
            (["encryption": ["provider": "passcode", "locked": true]], [:], [:], "locked: the passcode"),
            (["consent": "pending"], [:], [:], "has not decided about consent"),
            (["consent": "denied"], [:], [:], "denied consent"),
            (
                ["slowdown": ["budget": "sent-bytes", "factor": 250]], [:], [:],
                "budget of sent bytes: intervals are 2.50 times"
            ),
            ([:], ["on": true, "allowed": true, "person": "Ada"], [:], "Do-not-disturb is on, set by Ada"),
            (
                ["network": "wifi"], ["on": false, "allowed": true, "reported": true], [:],
                "has not told yet that it follows"
            ),
            (["network": "cellular"], [:], ["logging": ["wifiOnly": true]], "Logs wait"),
            (
                ["network": "cellular"], [:],
                ["transmission": [["data": "sample", "networks": ["wifi", "ethernet"]]]],
                "Samples wait: the profile sends them only over wifi, ethernet; the network is cellular."
            ),
            (["network": "cellular"], [:], ["transmission": [["data": "event", "metered": false]]], "Events wait"),
            (
                ["network": "wifi", "metered": true], [:], ["transmission": [["data": "", "metered": false]]],
                "Beacons wait"
            ),
            (["network": "cellular"], [:], ["transmission": [["data": "log", "roaming": false]]], "while roaming"),
            (
                ["network": "wifi", "power": ["batteryLevel": 1000]], [:],
                ["transmission": [["data": "sample", "minimumBattery": 2000]]], "wants 20 % of battery; it has 10 %"
            ),
            (
                ["network": "wifi", "power": ["externalPower": false]], [:],
                ["transmission": [["data": "sample", "minimumBattery": 2000]]], "does not tell its level"
            ),
            (
                ["network": "wifi", "power": ["batteryLevel": 9000]], [:],
                ["transmission": [["data": "sample", "externalPower": true]]], "runs on its battery"
            ),
            (["queue": [["stream": "event", "waiting": 1]]], [:], ["analytics": ["holdSeconds": 7200]], "up to 2 h"),
        ] as [(JSONValue, JSONValue, JSONValue, String)])
    func `The reason why data waits is given`(
        beacon: JSONValue, doNotDisturb: JSONValue, profile: JSONValue, words: String
    ) throws {
        let held = try diagnosis(beacon: beacon, doNotDisturb: doNotDisturb, profile: profile).held
        #expect(held.contains { $0.contains(words) }, "\(held)")
    }

    @Test(
        arguments: [
            (["network": "wifi"], ["data": "sample", "networks": ["wifi"]]),
            (["network": "ethernet"], ["data": "sample", "metered": false]),
            (["network": "cellular", "metered": false], ["data": "sample", "metered": false]),
            (["network": "cellular", "roaming": false], ["data": "sample", "roaming": false]),
            (["network": "wifi"], ["data": "sample", "minimumBattery": 2000]),
            (["network": "wifi", "power": ["batteryLevel": 2000]], ["data": "sample", "minimumBattery": 2000]),
            (["network": "wifi"], ["data": "sample", "externalPower": true]),
        ] as [(JSONValue, JSONValue)]) func `A rule that is kept holds nothing`(beacon: JSONValue, rule: JSONValue)
        throws
    {
        #expect(try diagnosis(beacon: beacon, profile: ["transmission": [rule]]).held.isEmpty)
    }
}
