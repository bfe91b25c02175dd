import CollectorTunables
import FoundationEssentials
import OTLP
import RecordStore
import Registry
import SwiftProtobuf
import WireModel

/// A request of OTLP as items for the record store, by device.
///
/// ```
/// resource ─► device            each device has one entry, whatever number of resources are it
///   scope ──► run: context      the context is resource, scope and their schema URLs
///     log record ──► item       with the key that `log.record.uid` says
///     data points ─► items      those of one time share a record, up to 64 KiB
/// ```
///
/// An item that is too large for a record is rejected in the tally. Pure.
struct OTLPItems {
    /// What one device gets.
    struct Entry {
        var device: OTLPDevice
        var runs: [UnnumberedItems.Run] = []
        /// Log records or data points.
        var items = 0
        /// Bytes that count against quotas.
        var bytes = 0
        /// Where the first of its resources is, in the schema's names.
        var place: String
    }

    /// In the order in which the request names them.
    private(set) var entries: [Entry] = []
    private var places: [DeviceID: Int] = [:]
    private(set) var tally: OTLPTally
    private let organization: String
    /// Microseconds since 1970, for a record without a time.
    private let receivedAt: Int64

    /// - Parameter request: freed of what the protocol forbids.
    init(_ request: OTLPLogsRequest, _ tally: OTLPTally, organization: String, receivedAt: Int64) {
        (self.tally, self.organization, self.receivedAt) = (tally, organization, receivedAt)
        for (number, group) in request.resourceLogs.enumerated() {
            let place = "resource_logs[\(number)]"
            guard group.scopeLogs.contains(where: { !$0.logRecords.isEmpty }) else { continue }
            let application = group.resource.text("service.name") ?? ""
            let entry = entry(of: group.resource, at: place)
            for (position, scope) in group.scopeLogs.enumerated() where !scope.logRecords.isEmpty {
                add(scope, of: group, application, to: entry, at: "\(place).scope_logs[\(position)]")
            }
        }
    }

    /// - Parameters:
    ///   - request: freed of what the protocol forbids.
    ///   - isForwarded: whether a collector of ours has sent it, whose metrics say of which record they are.
    init(
        _ request: OTLPMetricsRequest, _ tally: OTLPTally, organization: String, receivedAt: Int64,
        isForwarded: Bool = false
    ) {
        (self.tally, self.organization, self.receivedAt) = (tally, organization, receivedAt)
        for (number, group) in request.resourceMetrics.enumerated() {
            let place = "resource_metrics[\(number)]"
            guard group.scopeMetrics.contains(where: { $0.metrics.contains { $0.pointCount > 0 } }) else { continue }
            let application = group.resource.text("service.name") ?? ""
            let entry = entry(of: group.resource, at: place)
            for (position, scope) in group.scopeMetrics.enumerated() {
                add(
                    scope, of: group, application, to: entry, isForwarded: isForwarded,
                    at: "\(place).scope_metrics[\(position)]")
            }
        }
    }

    private mutating func entry(of resource: OTLPResource, at place: String) -> Int {
        let device = OTLPDevice(resource, organization: organization)
        if let known = places[device.id] { return known }
        places[device.id] = entries.count
        entries.append(Entry(device: device, place: place))
        return entries.count - 1
    }

    // MARK: Log records

    private mutating func add(
        _ scope: OTLPScopeLogs, of group: OTLPResourceLogs, _ application: String, to entry: Int, at place: String
    ) {
        var items: [UnnumberedItems.Item] = []
        items.reserveCapacity(scope.logRecords.count)
        for record in scope.logRecords {
            let time = [record.timeUnixNano, record.observedTimeUnixNano].first { $0 > 0 }
            let new = NewRecord(
                stream: .event, kind: .otlpLog,
                stamp: RecordStamp(nanoseconds: time, else: receivedAt), application: application,
                body: Self.bytes(record))
            guard UnnumberedItems.fits(new) else {
                tally.reject(.tooLarge, at: place)
                continue
            }
            items.append(UnnumberedItems.Item(new, key: record.uid.map { ItemKey(uid: $0) }))
        }
        add(
            items, counting: items.count, context: Self.bytes(group.context(of: scope)), in: .event, application,
            to: entry, at: place)
    }

    // MARK: Data points

    private mutating func add(
        _ scope: OTLPScopeMetrics, of group: OTLPResourceMetrics, _ application: String, to entry: Int,
        isForwarded: Bool, at place: String
    ) {
        var items: [UnnumberedItems.Item] = []
        var points = 0
        for (record, metrics) in isForwarded ? Self.records(in: scope) : [(nil, scope.metrics)] {
            add(metrics, ofRecord: record, application, to: &items, &points, at: place)
        }
        add(
            items, counting: points, context: Self.bytes(group.context(of: scope)), in: .sample, application,
            to: entry, at: place)
    }

    /// - Parameter uid: of the record that the metrics are of; `nil` if nothing says so.
    private mutating func add(
        _ metrics: [OTLPMetric], ofRecord uid: String?, _ application: String, to items: inout [UnnumberedItems.Item],
        _ points: inout Int, at place: String
    ) {
        var packer = OTLPPointPacker(bytes: Tunables.OTLP.recordBytes)
        for metric in metrics { packer.add(metric) }
        for (part, packed) in packer.finish().enumerated() {
            // The same metrics are divided in the same way each time.
            let key = uid.flatMap { $0.isEmpty ? nil : ItemKey(uid: part == 0 ? $0 : "\($0)#\(part)") }
            let new = NewRecord(
                stream: .sample, kind: .otlpMetrics,
                stamp: RecordStamp(nanoseconds: packed.time, else: receivedAt), application: application,
                body: Self.bytes(packed.metrics))
            guard UnnumberedItems.fits(new) else {
                tally.reject(.tooLarge, items: packed.points, at: place)
                continue
            }
            items.append(UnnumberedItems.Item(new, key: key))
            points += packed.points
        }
    }

    /// Metrics of a scope, by the record that each says it is of. Those of one record follow each other.
    private static func records(in scope: OTLPScopeMetrics) -> [(uid: String?, metrics: [OTLPMetric])] {
        var records: [(uid: String?, metrics: [OTLPMetric])] = []
        for metric in scope.metrics {
            var metric = metric
            let place = metric.metadata.firstIndex { $0.key.utf8.elementsEqual(OTLPMetric.recordKey.utf8) }
            // The store has its own name for the record from here on.
            let uid = place.map { metric.metadata.remove(at: $0).value.stringValue }
            if let last = records.last, last.uid == uid {
                records[records.count - 1].metrics.append(metric)
            } else {
                records.append((uid, [metric]))
            }
        }
        return records
    }

    private mutating func add(
        _ items: [UnnumberedItems.Item], counting count: Int, context: Data, in stream: StreamName,
        _ application: String, to entry: Int, at place: String
    ) {
        guard let first = items.first else { return }
        let context = NewRecord(
            stream: stream, kind: .otlpContext, stamp: first.record.stamp, application: application, body: context)
        guard UnnumberedItems.fits(context) else {
            tally.reject(.tooLarge, items: count, at: place)
            return
        }
        entries[entry].items += count
        entries[entry].bytes += items.reduce(context.byteCount + 256) { $0 + $1.record.byteCount }
        entries[entry].runs.append(UnnumberedItems.Run(context: context, items: items))
    }

    private static func bytes(_ message: some Message) -> Data {
        do { return try message.serializedBytes() } catch {
            // It was decoded, so its texts are valid, and no field is required.
            preconditionFailure("\(type(of: message)) does not serialize: \(error)")
        }
    }

    // MARK: What is not stored

    /// Takes an entry out whose records nobody may store.
    mutating func reject(_ device: DeviceID, _ rule: OTLPRule) {
        guard let place = places[device] else { return }
        tally.reject(rule, items: entries[place].items, at: "\(entries[place].place).resource")
        entries[place].runs = []
        entries[place].items = 0
        entries[place].bytes = 0
    }

    /// The entries that have something to store.
    var filled: [Entry] { entries.filter { !$0.runs.isEmpty } }
}

extension OTLPLogRecord {
    /// What says which record it is; `nil` if nothing does.
    fileprivate var uid: String? {
        let attribute = attributes.first { $0.key.utf8.elementsEqual(Self.uidKey.utf8) }
        guard case .stringValue(let text)? = attribute?.value.value, !text.isEmpty else { return nil }
        return text
    }
}

extension RecordStamp {
    /// - Parameters:
    ///   - nanoseconds: since 1970; `nil` if the sender did not say.
    ///   - microseconds: what stands for it then.
    fileprivate init(nanoseconds: UInt64?, else microseconds: Int64) {
        // All of an unsigned number of nanoseconds are less than 2^63 microseconds.
        self.init(
            wallTime: nanoseconds.map { Int64($0 / 1000) } ?? microseconds, bootID: nil, timeSinceBoot: 0)
    }
}
