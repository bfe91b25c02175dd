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
    /// - Parameters:
    ///   - role: the viewer's role.
    ///   - asOTLP: shows what came as OTLP as it came, instead of its form for people.
    init(
        _ record: StoredRecord, for role: PersonRole, withMetrics: Bool = false, asOTLP: Bool = false
    ) throws {
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
            case .otlpContext: context = OTLPView.context(bytes)
            case .otlpLog where asOTLP: resourceLogs = (try? OTLPRecordView.json(record)).map { [$0] }
            case .otlpMetrics where asOTLP: resourceMetrics = (try? OTLPRecordView.json(record)).map { [$0] }
            case .otlpLog, .otlpMetrics:
                otlp = kind.flatMap { OTLPView.json(bytes, of: $0) }
                context = record.context.flatMap(OTLPView.context)
                if kind == .otlpLog { event = EventView(log: bytes) }
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
        let isOTLP = otlp != nil || context != nil || resourceLogs != nil || resourceMetrics != nil
        let isShown = beacon != nil || sample != nil || event != nil || isOTLP
        if !isShown, !isHidden { body = bytes.base64EncodedString() }
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
    /// What a list of events shows of an OTLP log record; `nil` if the body is none.
    init?(log body: Data) {
        guard let log = OTLPView.log(body) else { return nil }
        self.init()
        type = RecordKindName.text(WireRecordKind.otlpLog.rawValue)
        name = log.name.isEmpty ? log.severity : log.name
        (value, attributes) = (log.value, log.attributes)
        valueType =
            switch log.value {
            case .text: "string"
            case .integer, .unsigned: "integer"
            case .real: "double"
            case .boolean: "boolean"
            case .null: "none"
            case .array, .object: "structure"
            }
    }

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
