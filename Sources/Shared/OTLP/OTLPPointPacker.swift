import FoundationEssentials
import SwiftProtobuf

/// Puts data points into records: those of one time together, up to a size.
package struct OTLPPointPacker {
    package struct Packed {
        /// Nanoseconds since 1970.
        package let time: UInt64
        /// Without scope and schema URL.
        package private(set) var metrics = OTLPScopeMetrics()
        package private(set) var points = 0
        /// About what `metrics` takes.
        fileprivate var bytes = 0

        fileprivate init(time: UInt64) { self.time = time }

        fileprivate mutating func add(_ metric: OTLPMetric, points count: Int, bytes size: Int) {
            metrics.metrics.append(metric)
            points += count
            bytes += size
        }
    }

    private let limit: Int
    /// The record that is being filled, by time.
    private var open: [UInt64: Packed] = [:]
    /// The times in the order of their first point.
    private var times: [UInt64] = []
    private var full: [Packed] = []

    /// - Parameter bytes: that a record may take, 1 or more. A point that takes more alone has a record of its own.
    package init(bytes: Int) { limit = bytes }

    package mutating func add(_ metric: OTLPMetric) {
        switch metric.data {
        case .gauge(var gauge):
            add(gauge.dataPoints, of: metric) {
                gauge.dataPoints = $0
                return .gauge(gauge)
            }
        case .sum(var sum):
            add(sum.dataPoints, of: metric) {
                sum.dataPoints = $0
                return .sum(sum)
            }
        case .histogram(var histogram):
            add(histogram.dataPoints, of: metric) {
                histogram.dataPoints = $0
                return .histogram(histogram)
            }
        case .exponentialHistogram(var histogram):
            add(histogram.dataPoints, of: metric) {
                histogram.dataPoints = $0
                return .exponentialHistogram(histogram)
            }
        case .summary(var summary):
            add(summary.dataPoints, of: metric) {
                summary.dataPoints = $0
                return .summary(summary)
            }
        case nil: break
        }
    }

    /// Points of one metric and one time that go into one record.
    private struct Group<Point> {
        var points: [Point] = []
        var bytes: Int
    }

    private mutating func add<Point: OTLPDataPoint & Message>(
        _ points: [Point], of metric: OTLPMetric, data: ([Point]) -> OTLPMetric.OneOf_Data
    ) {
        guard !points.isEmpty else { return }
        var head = metric
        head.data = data([])
        let headBytes = Self.size(head)
        var groups: [UInt64: Group<Point>] = [:]
        var order: [UInt64] = []
        func close(_ group: Group<Point>, in packed: inout Packed) {
            guard !group.points.isEmpty else { return }
            head.data = data(group.points)
            packed.add(head, points: group.points.count, bytes: group.bytes)
        }
        for point in points {
            let (time, size) = (point.timeUnixNano, Self.size(point))
            if groups[time] == nil {
                groups[time] = Group(bytes: headBytes)
                order.append(time)
                if open[time] == nil {
                    open[time] = Packed(time: time)
                    times.append(time)
                }
            }
            let isEmpty = open[time]?.points == 0 && groups[time]?.points.isEmpty == true
            if !isEmpty, (open[time]?.bytes ?? 0) + (groups[time]?.bytes ?? 0) + size > limit {
                var packed = open.removeValue(forKey: time) ?? Packed(time: time)
                close(groups.removeValue(forKey: time) ?? Group(bytes: 0), in: &packed)
                full.append(packed)
                open[time] = Packed(time: time)
                groups[time] = Group(bytes: headBytes)
            }
            groups[time]?.points.append(point)
            groups[time]?.bytes += size
        }
        for time in order {
            guard let group = groups[time] else { continue }
            close(group, in: &open[time, default: Packed(time: time)])
        }
    }

    /// Everything that was added, the full records first.
    package func finish() -> [Packed] { full + times.compactMap { open[$0] }.filter { $0.points > 0 } }

    /// With its tag and length.
    private static func size(_ message: some Message) -> Int {
        do { return try message.serializedData().count + 4 } catch {
            preconditionFailure("\(type(of: message)) does not serialize: \(error)")
        }
    }
}

extension OTLPResourceLogs {
    /// The group with one of its scopes, and without log records: what each record of the scope has in common.
    package func context(of scope: OTLPScopeLogs) -> OTLPResourceLogs {
        var context = OTLPResourceLogs()
        if hasResource { context.resource = resource }
        context.schemaURL = schemaURL
        var own = OTLPScopeLogs()
        if scope.hasScope { own.scope = scope.scope }
        own.schemaURL = scope.schemaURL
        context.scopeLogs = [own]
        return context
    }
}

extension OTLPResourceMetrics {
    /// The group with one of its scopes, and without metrics: what each point of the scope has in common.
    package func context(of scope: OTLPScopeMetrics) -> OTLPResourceMetrics {
        var context = OTLPResourceMetrics()
        if hasResource { context.resource = resource }
        context.schemaURL = schemaURL
        var own = OTLPScopeMetrics()
        if scope.hasScope { own.scope = scope.scope }
        own.schemaURL = scope.schemaURL
        context.scopeMetrics = [own]
        return context
    }
}
