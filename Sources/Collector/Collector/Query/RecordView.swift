import CollectorStore
import Foundation
import JSON
import MetricCatalog
import RecordViews
import SwiftProtobuf
import TelemetryBasics
import WireModel

/// The part of every record that does not depend on its body.
struct RecordView: Encodable {
    var device: String
    var epoch: String
    var number: UInt64
    var module: String?
    var application: String?
    /// The device's wall clock.
    var time: String
    var receivedAt: String
    var bootId: String?
    var timeSinceBootMicroseconds: UInt64
    var test: Bool?
    var beacon: JSONValue?
    var sample: JSONValue?
    var event: EventView?
    /// The sample's values as metrics of the catalog. Only if requested.
    var metrics: [MetricView]?
    /// The body in Base64, if this version does not know its kind or form.
    var body: String?

    /// - Parameter role: the viewer's role.
    init(_ record: StoredRecord, for role: PersonRole, withMetrics: Bool = false) throws {
        let header = record.header
        device = record.device.description
        epoch = record.epoch.description
        number = header.number
        module = header.module.isEmpty ? nil : header.module
        application = header.application.isEmpty ? nil : header.application
        time = Timestamp.text(header.wallTime)
        receivedAt = Timestamp.text(record.receivedAt)
        bootId = header.bootID?.description
        timeSinceBootMicroseconds = header.timeSinceBoot
        test = header.test ? true : nil
        let bytes = header.body(of: record.bytes)
        do throws(WireError) {
            let kind = WireRecordKind(rawValue: header.kind)
            switch kind {
            case .beacon: beacon = try? MessageView.json(try WireBeacon.decodeBody(bytes).seen(by: role))
            case .event: event = EventView(try WireEvent.decodeBody(bytes))
            // Shown with its command, not as a record.
            case .commandResult: break
            default: sample = try? kind?.body.map { try MessageView.json($0.decodeBody(bytes)) }
            }
            if withMetrics, sample != nil, let kind {
                metrics = try MetricCatalog.points(ofKind: kind, body: bytes).map(MetricView.init)
            }
        } catch {
            // The body is shown as it is.
        }
        // An unreadable beacon may contain what a viewer must not see.
        let isHidden = role < .operator && WireRecordKind(rawValue: header.kind) == .beacon
        if beacon == nil, sample == nil, event == nil, !isHidden { body = bytes.base64EncodedString() }
    }
}

extension WireBeacon {
    /// The beacon as a person of this role sees it. A push token allows its holder to reach the device's application
    /// without the collector. A viewer, who may cause nothing, does not see it.
    func seen(by role: PersonRole) -> WireBeacon {
        guard role < .operator, hasPushToken else { return self }
        var beacon = self
        beacon.clearPushToken()
        return beacon
    }
}

struct EventView: Encodable {
    var type: String
    var name: String
    var value: JSONValue
    var valueType: String
    var attributes: [String: JSONValue]
    var session: String?
    var succeeded: Bool?
    var durationMicroseconds: UInt64?

    init(_ event: WireEvent) {
        type = event.type.viewName
        name = event.name
        (value, valueType) = event.value.json
        attributes = event.attributes.mapValues { $0.json.value }
        session = Identifier<Never>(event.sessionID)?.description
        succeeded = event.hasSucceeded ? event.succeeded : nil
        durationMicroseconds = event.hasDurationMicroseconds ? event.durationMicroseconds : nil
    }
}

/// One value of one metric in a sample, under the catalog's name.
struct MetricView: Encodable {
    var name: String
    /// UCUM.
    var unit: String
    /// Empty if the metric has one series per device.
    var attributes: MetricAttributes
    var value: JSONValue

    init(_ point: MetricPoint) {
        name = point.definition.name
        unit = point.definition.unit
        attributes = point.attributes
        value = .real(point.value)
    }
}

/// A stored record as one line of NDJSON: what the API shows of it, with its device, stream and kind.
package struct ExportLine: Encodable {
    private let stream: String
    private let kind: String
    private let organization: String
    private let record: RecordView

    private enum Key: CodingKey { case stream, kind, organization }

    /// Hides nothing, because whoever runs `export` can read the data directory anyway.
    package init(_ stored: StoredRecord, of stream: StreamName, organization: String) throws {
        self.stream = "\(stream)"
        kind = RecordKindName.text(stored.header.kind)
        self.organization = organization
        record = try RecordView(stored, for: .administrator)
    }

    package func encode(to encoder: any Encoder) throws {
        try record.encode(to: encoder)
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(stream, forKey: .stream)
        try container.encode(kind, forKey: .kind)
        try container.encode(organization, forKey: .organization)
    }
}
