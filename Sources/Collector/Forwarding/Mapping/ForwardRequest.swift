import CollectorTunables
import FoundationEssentials
import OTLP
import RecordStore
import Registry
import SwiftProtobuf
import WireModel

/// A request of OTLP while it is filled with records.
struct ForwardRequest {
    let signal: OTLPSignal
    /// Log records or data points.
    private(set) var items = 0
    /// Records that are in it.
    private(set) var records = 0
    /// Records whose bytes cannot be read. They are passed over.
    private(set) var unreadable = 0
    private var bytes = 0
    private var logs: [OTLPResourceLogs] = []
    private var metrics: [OTLPResourceMetrics] = []
    private var places: [ForwardResource: Int] = [:]

    init(_ signal: OTLPSignal) { self.signal = signal }

    /// Adds records, until the request is full.
    /// - Parameters:
    ///   - limit: of records.
    ///   - devices: what is known of the records' devices.
    ///   - isChosen: whether a record is sent at all.
    /// - Returns: how many were added or passed over.
    mutating func add(
        _ some: ArraySlice<ForwardEntry>, limit: Int, of devices: [DeviceID: DeviceRow],
        _ mapping: inout ForwardMapping, where isChosen: (ForwardEntry) -> Bool
    ) -> Int {
        var count = 0
        for entry in some where count < limit {
            if isChosen(entry) {
                // A record has at most 256 KiB, but the points of a sample take several times its bytes.
                guard add(mapping.item(entry), of: devices[entry.device]) else { return count }
            }
            count += 1
        }
        return count
    }

    /// - Returns: `false` if it has no room; then nothing is added.
    private mutating func add(_ item: ForwardMapping.Item, of device: DeviceRow?) -> Bool {
        switch item {
        case .nothing: return true
        case .unreadable:
            unreadable += 1
            return true
        case .log(let log, let scope, let resource):
            guard takes(1, Self.size(log)) else { return false }
            let place = place(of: resource, device)
            logs[place].add(log, scope: scope)
        case .metrics(let some, let scope, let resource):
            guard takes(some.reduce(0) { $0 + $1.pointCount }, some.reduce(0) { $0 + Self.size($1) }) else {
                return false
            }
            let place = place(of: resource, device)
            metrics[place].add(some, scope: scope)
        }
        records += 1
        return true
    }

    private mutating func takes(_ more: Int, _ size: Int) -> Bool {
        let fits =
            items + more <= Tunables.Forwarding.itemsPerRequest
            && bytes + size <= Tunables.Forwarding.bytesPerRequest
        guard fits || items == 0 else { return false }
        items += more
        bytes += size
        return true
    }

    private mutating func place(of resource: ForwardResource, _ device: DeviceRow?) -> Int {
        if let known = places[resource] { return known }
        // The two forms of a context have the same bytes.
        var (ofLogs, ofMetrics) = (OTLPResourceLogs(), OTLPResourceMetrics())
        if case .context(_, let context) = resource {
            ofLogs = (try? OTLPResourceLogs(serializedBytes: context)) ?? ofLogs
            ofMetrics = (try? OTLPResourceMetrics(serializedBytes: context)) ?? ofMetrics
        } else {
            ofLogs.resource = resource.resource(of: device)
            ofMetrics.resource = ofLogs.resource
        }
        switch signal {
        case .logs:
            logs.append(ofLogs)
            places[resource] = logs.count - 1
            return logs.count - 1
        case .metrics:
            metrics.append(ofMetrics)
            places[resource] = metrics.count - 1
            return metrics.count - 1
        }
    }

    /// In binary Protobuf.
    var body: Data {
        switch signal {
        case .logs:
            var request = OTLPLogsRequest()
            request.resourceLogs = logs
            return Self.bytes(request)
        case .metrics:
            var request = OTLPMetricsRequest()
            request.resourceMetrics = metrics
            return Self.bytes(request)
        }
    }

    private static func bytes(_ message: some Message) -> Data {
        do { return try message.serializedBytes() } catch {
            // Its texts are valid, because they were decoded, and no field is required.
            preconditionFailure("\(type(of: message)) does not serialize: \(error)")
        }
    }

    /// With its tag and length.
    private static func size(_ message: some Message) -> Int { bytes(message).count + 4 }
}

extension OTLPResourceLogs {
    /// Adds a log record to a scope.
    /// - Parameter name: `nil` for the scope of the context.
    fileprivate mutating func add(_ log: OTLPLogRecord, scope name: String?) {
        guard let place = scopeLogs.firstIndex(where: { name == nil || $0.scope.name == name }) else {
            var new = OTLPScopeLogs()
            if let name, !name.isEmpty { new.scope.name = name }
            new.logRecords = [log]
            scopeLogs.append(new)
            return
        }
        scopeLogs[place].logRecords.append(log)
    }
}

extension OTLPResourceMetrics {
    /// Adds metrics to a scope.
    /// - Parameter name: `nil` for the scope of the context.
    fileprivate mutating func add(_ metrics: [OTLPMetric], scope name: String?) {
        guard let place = scopeMetrics.firstIndex(where: { name == nil || $0.scope.name == name }) else {
            var new = OTLPScopeMetrics()
            if let name { new.scope.name = name }
            new.metrics = metrics
            scopeMetrics.append(new)
            return
        }
        scopeMetrics[place].metrics += metrics
    }
}
