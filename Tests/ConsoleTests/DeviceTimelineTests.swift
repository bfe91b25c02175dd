import CollectorAPI
import JSON
import TelemetryBasics
import Testing

@testable import Console

@Suite struct DeviceTimelineTests {
    private static let start: Int64 = 1_767_323_000_000_000
    private static let boots = ["b1", "b2"]

    /// A beacon of the API, made `second` seconds after the start.
    private func beacon(
        _ second: Int64, boot: Int = 0, sequence: Int = 1, trigger: String = "schedule", delay: Int64 = 0,
        sinceBoot: Int64? = nil, _ fields: [String: JSONValue] = [:]
    ) -> RecordView {
        let time = Self.start + second * 1_000_000
        let members: [String: JSONValue] = [
            "trigger": .text(trigger), "beaconSequence": JSONValue(sequence), "nextBeaconSeconds": 60,
            "processStartTime": .text(Timestamp.text(time - 5_000_000)), "profileRevision": 1,
        ]
        var record = RecordView()
        record.time = Timestamp.text(time)
        record.receivedAt = Timestamp.text(time + delay * 1_000_000)
        record.bootId = Self.boots[boot]
        record.timeSinceBootMicroseconds = UInt64((sinceBoot ?? (boot == 0 ? second + 1000 : 10)) * 1_000_000)
        record.beacon = .object(members.merging(fields) { $1 })
        return record
    }

    private func entries(_ beacons: RecordView..., isCut: Bool = false) -> [DeviceTimeline.Entry] {
        var timeline = DeviceTimeline()
        timeline.add(beacons: beacons.reversed(), isCut: isCut)
        return timeline.page()
    }

    private func silence(_ beacons: RecordView...) -> String? {
        var timeline = DeviceTimeline()
        timeline.add(beacons: beacons.reversed(), isCut: false)
        return timeline.page(kinds: [.silence]).first?.detail
    }

    /// Views with the members that a test is about.
    private func views<View: Decodable>(_ fixtures: JSONValue...) throws -> [View] {
        try fixtures.map { try FixtureDecoder.view(View.self, from: $0) }
    }

    @Test func `Beacons on schedule are one entry until something happens`() {
        let found = entries(
            beacon(0, sequence: 1), beacon(60, sequence: 2), beacon(120, sequence: 3, trigger: "demand"),
            beacon(180, sequence: 4))
        #expect(found.map(\.title) == ["Beacon on schedule", "Beacon on demand", "Beacon on schedule"])
        #expect(found.map(\.since) == [nil, nil, Timestamp.text(Self.start)])
        #expect(found.last?.at == Timestamp.text(Self.start + 60_000_000))
    }

    /// Only after its return one can know why a device was silent.
    @Test func `A silence has the reason that the next beacon tells`() {
        let first = beacon(0, sequence: 9)
        #expect(silence(first, beacon(60, sequence: 10)) == nil)
        #expect(
            silence(first, beacon(3600, boot: 1, sequence: 1, trigger: "start"))?.hasPrefix(
                "The machine was off or lost power and started at") == true)
        #expect(
            silence(beacon(0, sequence: 9, trigger: "stop"), beacon(3600, boot: 1, sequence: 1))?.hasPrefix(
                "The machine was shut down") == true)
        #expect(
            silence(first, beacon(3600, sequence: 1, trigger: "start"))?.contains("it had died or was killed") == true)
        #expect(
            silence(beacon(0, sequence: 9, trigger: "stop"), beacon(3600, sequence: 1))?.contains(
                "it had ended in order") == true)
        #expect(silence(first, beacon(3600, sequence: 10))?.contains("the machine was suspended") == true)
    }

    @Test func `What arrives late says that the way was gone`() {
        let beacons = (0..<5).map { beacon($0 * 60, sequence: Int($0) + 1, delay: $0 == 2 || $0 == 3 ? 7200 : 1) }
        var timeline = DeviceTimeline()
        timeline.add(beacons: beacons.reversed(), isCut: false)
        let found = timeline.page(kinds: [.silence])
        #expect(found.count == 1)
        #expect(found.first?.at == Timestamp.text(Self.start + 180_000_000))
        #expect(
            found.first?.title == "Out of reach until \(DisplayText.time(Timestamp.text(Self.start + 7_380_000_000)))")
        #expect(found.first?.detail?.hasPrefix("2 beacons made since") == true)
    }

    @Test func `A clock that is wrong is no delay, and a clock that is set no silence`() {
        let wrong = entries(beacon(0, sequence: 1, delay: 9000), beacon(60, sequence: 2, delay: 9000))
        #expect(!wrong.contains { $0.kind == .silence })
        let set = entries(beacon(0, sequence: 1), beacon(7260, sequence: 2, sinceBoot: 1060))
        #expect(set.map(\.kind).contains(.change) && !set.map(\.kind).contains(.silence))
        #expect(set.contains { $0.title == "The device's clock was set 2 h forward" })
    }

    @Test func `What differs between two beacons is shown`() {
        let found = entries(
            beacon(0, sequence: 1, ["network": "ethernet", "compromised": "no", "libraryVersion": "1.0.0"]),
            beacon(60, sequence: 2, ["network": "wifi", "libraryVersion": "1.0.0", "profileRevision": 2]),
            beacon(
                120, sequence: 1, trigger: "start",
                ["network": "wifi", "compromised": "yes", "libraryVersion": "1.1.0"]))
        let reported = Set(found.map(\.title))
        for title in [
            "Network: wifi", "The device runs profile revision 2", "Agent version: 1.1.0", "The agent started",
            "The agent before this start was killed, or it failed",
        ] { #expect(reported.contains(title), "\(title)") }
        // A beacon without a verdict is no change of it.
        #expect(!reported.contains { $0.hasPrefix("Compromised") })
    }

    @Test func `A list that was cut ends the timeline where it was cut`() throws {
        var timeline = DeviceTimeline()
        timeline.add(
            beacons: [beacon(180, sequence: 3), beacon(120, sequence: 2), beacon(60, sequence: 1)], isCut: true)
        timeline.add(
            commands: try views(
                [
                    "kind": "send-beacon", "issuedAt": .text(Timestamp.text(Self.start + 130_000_000)),
                    "issuedBy": "Ada",
                ],
                ["kind": "reload-profile", "issuedAt": .text(Timestamp.text(Self.start)), "issuedBy": "Ada"]),
            isCut: false, link: "/c")
        #expect(timeline.completeAfter == Timestamp.text(Self.start + 60_000_000))
        #expect(timeline.page().map(\.title) == ["Beacon on schedule", "Command: send beacon", "Beacon on schedule"])
        #expect(timeline.page(kinds: [.command]).map(\.link) == ["/c"])
        let early = Timestamp.text(Self.start + 125_000_000)
        #expect(timeline.page(to: early).map(\.at) == [Timestamp.text(Self.start + 120_000_000)])
        #expect(timeline.page(from: early).count == 2)
    }

    @Test func `A log record says its severity, what happened and who said it`() throws {
        let at = JSONValue.text(Timestamp.text(Self.start))
        var timeline = DeviceTimeline()
        timeline.add(
            events: try views(
                [
                    "time": at, "application": "shop", "otlp": ["severityText": "ERROR"],
                    "event": [
                        "type": "otlp-log", "name": "ERROR", "value": "the till is stuck", "attributes": ["till": 7],
                    ],
                ],
                [
                    "time": at, "otlp": ["severityText": "WARN"],
                    "event": ["type": "otlp-log", "name": "till.opened", "value": ["by": "Ada"]],
                ],
                ["time": at, "event": ["type": "otlp-log"]]), isCut: false)
        let found = timeline.page().map { "\($0.kind.rawValue): \($0.title) | \($0.detail ?? "")" }
        #expect(found.contains("event: ERROR: the till is stuck | of shop, till: 7"), "\(found)")
        #expect(found.contains(#"event: till.opened: {"by":"Ada"} | WARN"#), "\(found)")
        #expect(found.contains("event: Log record | "), "\(found)")
    }

    @Test func `Other lists are said in words`() throws {
        let at = JSONValue.text(Timestamp.text(Self.start))
        var timeline = DeviceTimeline()
        timeline.add(
            events: try views([
                "time": at,
                "event": [
                    "name": "badge.printed", "value": 3, "succeeded": false, "attributes": ["printer": "left"],
                ],
            ]), isCut: false)
        timeline.add(
            commands: try views([
                "kind": "request-logs", "issuedAt": at, "issuedBy": "Ada", "updatedAt": at, "state": "not-now",
                "detail": "no network",
            ]), isCut: false, link: "/c")
        timeline.add(
            revisions: try views(
                ["revision": 2, "createdAt": at, "author": "Bo"],
                ["revision": 3, "createdAt": at, "application": "other"],
                ["revision": 4, "createdAt": at, "application": "application"]), of: "application", isCut: false)
        timeline.add(
            uploads: try views([
                "startedAt": at, "endedAt": at, "state": "complete", "rawBytes": 5000, "chunks": 2, "storedChunks": 2,
                "application": "application",
            ]), isCut: false, link: "/l")
        timeline.add(
            audit: try views(
                ["time": at, "actor": "Ada", "action": "device-revoke", "outcome": "refused", "detail": ["a": "b"]],
                ["time": at, "actor": "Ada", "action": "command-issue", "outcome": "done", "detail": [:]]),
            isCut: false)
        let found = timeline.page().map { "\($0.kind.rawValue): \($0.title) | \($0.detail ?? "")" }
        #expect(
            Set(found) == [
                "event: badge.printed = 3 | failed, printer: left",
                "command: Command request logs: not now | no network",
                "command: Command: request logs | issued by Ada", "profile: Profile revision 2 published | by Bo",
                "profile: Profile revision 4 for application published | ",
                "logs: Upload of logs of application complete | 5 kB, 2 of 2 chunks stored",
                "logs: Upload of logs of application begun | 5 kB, 2 of 2 chunks stored",
                "audit: device revoke | by Ada, refused, a: b",
            ])
    }
}
