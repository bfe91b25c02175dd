import FoundationEssentials
import LogArchive
import MetricCatalog
import OTLP
import RecordStore
import RecordViews
import Registry
import SwiftProtobuf
import WireModel

/// Which resource a record is of. Records of equal ones share a group in a request.
enum ForwardResource: Hashable, Sendable {
    /// A record of our own device.
    case device(DeviceID, application: String, test: Bool)
    /// A record that came as OTLP, with the bytes of its context. Two devices may have the same.
    case context(DeviceID, Data)

    /// - Parameter device: `nil` if the registry has it no more.
    func resource(of device: DeviceRow?) -> OTLPResource {
        var resource = OTLPResource()
        guard case .device(let id, let application, let test) = self else { return resource }
        // The agent's own records name no program.
        let program = [application, device?.application ?? "", Self.agent].first { !$0.isEmpty } ?? Self.agent
        var attributes = ResourceAttributes.of(
            device: id.description, identity: device?.identity, application: program)
        if let organization = device?.organization { attributes["ws1.organization"] = .text(organization) }
        if test { attributes["ws1.test"] = true }
        resource.attributes = [OTLPKeyValue](attributes)
        return resource
    }

    private static let agent = "ws1agent"
}

/// Makes items of OTLP from what is stored: log records from beacons, events, log lines and what came as logs; metrics
/// from samples and what came as metrics.
///
/// A record is never divided between two requests. Pure, but for what it keeps of start times.
struct ForwardMapping {
    private let kinds: Set<ForwardEndpoint.Kind>
    private let filter: MetricFilter
    private let selection: MetricSelection
    private var starts: StartTimes

    /// - Parameter devices: how many devices' start times are kept.
    init(_ endpoint: ForwardEndpoint, devices: Int) {
        kinds = endpoint.kinds.isEmpty ? Set(ForwardEndpoint.Kind.allCases) : endpoint.kinds
        let filter = MetricFilter(endpoint.metrics)
        self.filter = filter
        selection = MetricSelection(Set(MetricCatalog.definitions.keys.filter(filter.admits)))
        starts = StartTimes(devices: devices)
    }

    /// What a record becomes.
    ///
    /// Without the name of a scope, that is the one of the record's context.
    enum Item {
        case log(OTLPLogRecord, scope: String?, ForwardResource)
        case metrics([OTLPMetric], scope: String?, ForwardResource)
        /// Nothing of it is chosen, or it has nothing that could be sent.
        case nothing
        /// Its bytes cannot be read.
        case unreadable
    }

    mutating func item(_ entry: ForwardEntry) -> Item {
        switch entry {
        case .record(let record): item(record)
        case .line(let line):
            .log(
                OTLPLogRecord(line), scope: line.category ?? "",
                .device(line.id.device, application: line.application, test: line.test))
        }
    }

    private mutating func item(_ record: StoredRecord) -> Item {
        let header = record.header
        guard let kind = WireRecordKind(rawValue: header.kind),
            let sent = ForwardEndpoint.Kind.allCases.first(where: { $0.records.contains(kind) }), kinds.contains(sent)
        else { return .nothing }
        let body = header.body(of: record.bytes)
        let own = ForwardResource.device(record.device, application: header.application, test: header.test)
        switch sent {
        case .events: return Self.event(body, record).map { .log($0, scope: "", own) } ?? .unreadable
        case .beacons: return Self.beacon(body, record).map { .log($0, scope: "", own) } ?? .unreadable
        case .samples: return samples(kind, body, record, own)
        case .logs: return .nothing
        case .otlpLogs:
            guard let context = record.context, var log = try? OTLPLogRecord(serializedBytes: body) else {
                return .unreadable
            }
            // Whoever gave it a name knows it by that.
            if !log.attributes.contains(where: { $0.key == OTLPLogRecord.uidKey }) {
                log.attributes.append(OTLPKeyValue(OTLPLogRecord.uidKey, record.uid))
            }
            return .log(log, scope: nil, .context(record.device, context))
        case .otlpMetrics:
            guard let context = record.context, let metrics = try? OTLPScopeMetrics(serializedBytes: body) else {
                return .unreadable
            }
            let chosen = filter.admitsAll ? metrics.metrics : metrics.metrics.filter { filter.admits($0.name) }
            guard !chosen.isEmpty else { return .nothing }
            return .metrics(Self.named(chosen, record), scope: nil, .context(record.device, context))
        }
    }

    // MARK: Log records

    /// The longest name of an event in OTLP, in characters.
    private static let eventNameLength = 256

    private static func log(_ name: String, _ record: StoredRecord, _ attributes: [String: OTLPAnyValue])
        -> OTLPLogRecord
    {
        var log = OTLPLogRecord()
        log.eventName = String(String.UnicodeScalarView(name.unicodeScalars.prefix(eventNameLength)))
        log.timeUnixNano = UInt64(nanosecondsOf: record.header.wallTime)
        log.observedTimeUnixNano = UInt64(nanosecondsOf: record.receivedAt)
        log.severityNumber = .info
        var attributes = attributes
        attributes[OTLPLogRecord.uidKey] = OTLPAnyValue(record.uid)
        log.attributes = attributes.sorted { $0.key < $1.key }.map { OTLPKeyValue($0.key, $0.value) }
        return log
    }

    private static func event(_ body: Data, _ record: StoredRecord) -> OTLPLogRecord? {
        guard let event = try? WireEvent.decodeBody(body) else { return nil }
        var attributes = event.attributes.compactMapValues { OTLPAnyValue($0) }
        if !event.sessionID.isEmpty {
            attributes["session.id"] = OTLPAnyValue(
                Identifier<Never>(event.sessionID).map(\.description) ?? event.sessionID.base64EncodedString())
        }
        if event.hasSucceeded {
            attributes["ws1.event.succeeded"] = OTLPAnyValue(AttributeValue.boolean(event.succeeded))
        }
        if event.hasDurationMicroseconds {
            attributes["ws1.event.duration"] = OTLPAnyValue(
                AttributeValue.integer(Int64(clamping: event.durationMicroseconds)))
        }
        var log = log(event.eventName, record, attributes)
        if event.hasValue, let value = OTLPAnyValue(event.value) { log.body = value }
        return log
    }

    private static func beacon(_ body: Data, _ record: StoredRecord) -> OTLPLogRecord? {
        guard var beacon = try? WireBeacon.decodeBody(body) else { return nil }
        // It lets its owner send messages to the device.
        beacon.clearPushToken()
        guard let json = try? MessageView.json(beacon) else { return nil }
        var log = log("ws1.beacon", record, [:])
        log.body = OTLPAnyValue(json)
        return log
    }

    // MARK: Metrics

    private mutating func samples(
        _ kind: WireRecordKind, _ body: Data, _ record: StoredRecord, _ resource: ForwardResource
    ) -> Item {
        let (points, interval): ([MetricPoint], UInt64?)
        do throws(WireError) {
            if kind == .sampleCustom {
                points = try WireCustomSample.decodeBody(body).metricPoints().filter {
                    !$0.definition.name.isEmpty && filter.admits($0.definition.name)
                }
                interval = nil
            } else {
                (points, interval) = try selection.read(kind: kind, body: body)
            }
        } catch { return .unreadable }
        var (metrics, places): ([OTLPMetric], [MetricDefinition: Int]) = ([], [:])
        // OTLP has no point without a time. Its receipt is the best there is then.
        let header = record.header
        let time = header.wallTime > 0 ? header.wallTime : record.receivedAt
        for point in points {
            let place =
                places[point.definition]
                ?? {
                    metrics.append(OTLPMetric(empty: point.definition))
                    places[point.definition] = metrics.count - 1
                    return metrics.count - 1
                }()
            var number = OTLPNumberPoint()
            number.timeUnixNano = UInt64(nanosecondsOf: time)
            number.asDouble = point.value
            number.attributes = [OTLPKeyValue](point.attributes)
            switch point.definition.kind {
            case .gauge: metrics[place].gauge.dataPoints.append(number)
            case .upDownCounter: metrics[place].sum.dataPoints.append(number)
            case .deltaCounter:
                if let interval, let since = Int64(exactly: interval), since < time {
                    number.startTimeUnixNano = UInt64(nanosecondsOf: time - since)
                }
                metrics[place].sum.dataPoints.append(number)
            case .cumulativeCounter:
                let computed = point.startTime(sampledAt: time, sinceBoot: header.timeSinceBoot)
                if let computed {
                    let start = starts.start(of: record.device, boot: header.bootID, computed: computed)
                    number.startTimeUnixNano = UInt64(nanosecondsOf: min(start, time))
                }
                metrics[place].sum.dataPoints.append(number)
            // Only what came as OTLP has them, and that goes on as it came.
            case .deltaHistogram, .cumulativeHistogram, .summary: continue
            }
        }
        if metrics.isEmpty { return .nothing }
        return .metrics(Self.named(metrics, record), scope: "ws1.\(header.module)", resource)
    }

    /// Says in each metric of which record it is.
    private static func named(_ metrics: [OTLPMetric], _ record: StoredRecord) -> [OTLPMetric] {
        let uid = OTLPKeyValue(OTLPMetric.recordKey, record.uid)
        return metrics.map { metric in
            var metric = metric
            metric.metadata.removeAll { $0.key == OTLPMetric.recordKey }
            metric.metadata.append(uid)
            return metric
        }
    }
}

extension OTLPMetric {
    /// A metric without points.
    fileprivate init(empty definition: MetricDefinition) {
        self.init()
        (name, unit, description_p) = (definition.name, definition.unit, definition.description)
        switch definition.kind {
        case .gauge: gauge = .init()
        case .upDownCounter, .deltaCounter, .cumulativeCounter:
            sum = .init()
            sum.isMonotonic = definition.kind != .upDownCounter
            sum.aggregationTemporality = definition.kind == .deltaCounter ? .delta : .cumulative
        case .deltaHistogram, .cumulativeHistogram, .summary: break
        }
    }
}

extension StoredRecord {
    /// The `log.record.uid` with which it is sent on.
    fileprivate var uid: String {
        ItemKey.uid(device: device, epoch: epoch, stream: stream, number: header.number)
    }

    private var stream: StreamName {
        guard let kind = WireRecordKind(rawValue: header.kind),
            case .records(let stream) = ForwardEndpoint.Kind.allCases.first(where: { $0.records.contains(kind) })?
                .source
        else { return .event }
        return stream
    }
}
