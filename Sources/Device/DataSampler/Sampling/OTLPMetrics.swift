import FoundationEssentials
import Intake
import OTLP
import Privacy
import RecordQueue
import SampleModules
import SwiftProtobuf
import WireModel

extension SamplerCore {
    /// Bytes of records that are queued before they are committed. Less than the queue's buffer holds.
    private static var unflushedBytes: Int { 512 << 10 }

    /// Queues data points of OTLP, as samples of a custom module. They are on synced disk when it returns `.stored`.
    /// - Parameters:
    ///   - module: the profile and the configuration switch it, as any custom module.
    ///   - application: the source that took them in.
    func record(
        _ records: [OTLPMetricRecord], module: String, of application: String
    ) async -> OTLPMetricOutcome {
        let settings = settings
        guard settings.modules.contains(.custom), !settings.disabledCustomModules.contains(module) else {
            for _ in records { queue.countDropped(.disabled, of: .sample) }
            return .refused("the module custom, or \(module) of it, is not among the modules of this device")
        }
        do throws(DataSamplerError) {
            var bytes = 0
            for (place, record) in records.enumerated() {
                let isLast = place == records.count - 1
                try await self.record(
                    record, module: module, of: application, durability: isLast ? .durable : .ordinary)
                bytes += record.context.count + record.body.count
                if bytes >= Self.unflushedBytes, !isLast {
                    do throws(QueueError) { try await queue.flush() } catch { throw DataSamplerError(error) }
                    bytes = 0
                }
            }
            return .stored
        } catch {
            let mayPass = [.queueFull, .queueInterrupted, .queue, .keyUnavailable, .notRunning].contains(error.code)
            return mayPass ? .unavailable(error.message) : .refused(error.message)
        }
    }
}

extension PrivacyFilter {
    /// Attributes are of class `custom`, as those of custom samples. Names of metrics and figures stay.
    func filtered(_ body: Data, _ context: Data) -> (body: Data, context: Data) {
        guard policy[.custom] != .send else { return (body, context) }
        do {
            var metrics = try OTLPScopeMetrics(serializedBytes: body)
            metrics.changeAttributes(filtered)
            var group = try OTLPResourceMetrics(serializedBytes: context)
            group.resource.attributes = filtered(group.resource.attributes)
            for place in group.scopeMetrics.indices {
                group.scopeMetrics[place].scope.attributes = filtered(group.scopeMetrics[place].scope.attributes)
            }
            return (try metrics.serializedBytes(), try group.serializedBytes())
        } catch {
            // We have made both ourselves. If they could not be read, nothing may be sent.
            return (Data(), Data())
        }
    }

    /// A text may become a hash; an attribute of any other type goes.
    private func filtered(_ attributes: [OTLPKeyValue]) -> [OTLPKeyValue] {
        attributes.compactMap { attribute in
            guard case .stringValue(let text)? = attribute.value.value, let kept = filtered(text, of: .custom) else {
                return nil
            }
            var attribute = attribute
            attribute.value.value = .stringValue(kept)
            return attribute
        }
    }
}
