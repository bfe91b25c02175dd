import CollectorAPI
import Foundation
import JSON
import MetricCatalog
import RecordStore
import RecordViews
import Registry
import SwiftProtobuf
import TelemetryBasics
import WireModel

extension RecordView {
    /// - Parameter role: the viewer's role.
    init(_ record: StoredRecord, for role: PersonRole, withMetrics: Bool = false) throws {
        self.init()
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
                metrics = try MetricCatalog.points(ofKind: kind, body: bytes).map { MetricView($0, in: header) }
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

extension EventView {
    init(_ event: WireEvent) {
        self.init()
        type = event.type.viewName
        name = event.name
        (value, valueType) = event.value.json
        attributes = event.attributes.mapValues { $0.json.value }
        session = Identifier<Never>(event.sessionID)?.description
        succeeded = event.hasSucceeded ? event.succeeded : nil
        durationMicroseconds = event.hasDurationMicroseconds ? event.durationMicroseconds : nil
    }
}

extension MetricView {
    init(_ point: MetricPoint, in header: RecordHeader) {
        self.init()
        name = point.definition.name
        unit = point.definition.unit
        attributes = point.attributes.json
        value = .real(point.value)
        startTime = point.startTime(sampledAt: header.wallTime, sinceBoot: header.timeSinceBoot).map(Timestamp.text)
    }
}

extension MetricAttributes {
    /// The attributes as views have them.
    var json: [String: JSONValue] {
        mapValues {
            switch $0 {
            case .text(let text): .text(text)
            case .integer(let integer): .integer(integer)
            case .boolean(let boolean): .boolean(boolean)
            }
        }
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
