import FoundationEssentials
import OTLP
import SwiftProtobuf
import WireModel

/// Data points that the device's queue keeps as one record, with what they need to be read.
package struct OTLPMetricRecord: Equatable, Sendable {
    /// `ResourceMetrics` with one scope and no metrics.
    package let context: Data
    /// `ScopeMetrics` without scope and schema URL, whose points have one time.
    package let body: Data
    package let points: Int
    /// The resource's `service.name`; empty if it has none.
    package let service: String

    package init(context: Data, body: Data, points: Int, service: String) {
        (self.context, self.body, self.points, self.service) = (context, body, points, service)
    }

    /// Bytes of the points of a record, about. A reader decodes a whole record for one point.
    static let bytes = 64 << 10
    /// Room for the envelope in a record of ``WireLimits/recordBytes``.
    private static let envelopeBytes = 1024

    /// The data points of a request. A point that is too large for a record is rejected in the tally.
    /// - Parameter request: freed of what the protocol forbids.
    static func all(of request: OTLPMetricsRequest, _ tally: inout OTLPTally) -> [OTLPMetricRecord] {
        var records: [OTLPMetricRecord] = []
        for (number, group) in request.resourceMetrics.enumerated() {
            let service = group.resource.text("service.name") ?? ""
            for (position, scope) in group.scopeMetrics.enumerated() {
                var packer = OTLPPointPacker(bytes: bytes)
                for metric in scope.metrics { packer.add(metric) }
                let packed = packer.finish()
                guard !packed.isEmpty else { continue }
                let context = serialized(group.context(of: scope))
                for packed in packed {
                    let body = serialized(packed.metrics)
                    guard context.count + body.count + envelopeBytes <= WireLimits.recordBytes else {
                        tally.reject(
                            .tooLarge, items: packed.points,
                            at: "resource_metrics[\(number)].scope_metrics[\(position)]")
                        continue
                    }
                    records.append(
                        OTLPMetricRecord(context: context, body: body, points: packed.points, service: service))
                }
            }
        }
        return records
    }

    private static func serialized(_ message: some Message) -> Data {
        do { return try message.serializedBytes() } catch {
            // It was decoded, so its texts are valid, and no field is required.
            preconditionFailure("\(type(of: message)) does not serialize: \(error)")
        }
    }
}

/// Puts data points into the device's queue.
package typealias OTLPMetricSink = @Sendable ([OTLPMetricRecord]) async -> OTLPMetricOutcome

/// What became of the data points of a request.
package enum OTLPMetricOutcome: Equatable, Sendable {
    /// All are on synced disk.
    case stored
    /// None may be recorded now, and they must not be sent again: why, for whoever operates the sender.
    case refused(String)
    /// Not all could be stored. The sender sends them again.
    case unavailable(String)
}
