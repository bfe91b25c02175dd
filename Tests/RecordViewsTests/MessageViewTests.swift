import Foundation
import JSON
import RecordViews
import SwiftProtobuf
import Testing
import WireModel

@Suite("Messages as JSON")
struct MessageViewTests {
    /// A rule by the name of a field once turned a custom sample's attribute `stream=STREAM_A` into `a`.
    @Test func `Data that looks like an enum or a time stays as it came`() throws {
        var sample = WireCustomSample()
        var measurement = WireMeasurement()
        measurement.attributes = [
            "stream": "STREAM_A", "state": "COMPLIANCE_X", "bootId": "AAAAAAAAAAAAAAAAAAAAAA==", "time": "1",
        ]
        sample.measurements = [measurement]
        guard case .object(let fields) = try MessageView.json(sample),
            case .array(let measurements) = fields["measurements"],
            case .object(let first) = measurements.first, case .object(let attributes) = first["attributes"]
        else {
            Issue.record("no attributes")
            return
        }
        #expect(attributes == measurement.attributes.mapValues { .text($0) })
    }

    @Test func `A beacon reads as the rest of the API does`() throws {
        var beacon = WireBeacon()
        (beacon.consent, beacon.trigger, beacon.network) = (.granted, .start, .ethernet)
        beacon.processStartTime = 1_769_860_800_000_000
        guard case .object(let fields) = try MessageView.json(beacon) else {
            Issue.record("no object")
            return
        }
        #expect(
            fields["consent"] == .text("granted") && fields["trigger"] == .text("start")
                && fields["network"] == .text("ethernet"))
        #expect(fields["processStartTime"] == .text("2026-01-31T12:00:00.000000Z"))
    }
}
