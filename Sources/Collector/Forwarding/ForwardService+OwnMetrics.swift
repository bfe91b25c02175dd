import CoreMetrics
import Logging
import OTLP
import SwiftProtobuf

/// The collector's own metrics, to the endpoints that want them.
extension ForwardService {
    /// Sends them now and then until the task is cancelled. Each collector of a cluster does so for itself.
    ///
    /// They are not kept: what could not be sent is followed by newer values, and the counters among them go on.
    /// - Parameter request: the present values; `nil` if there are none now.
    package func runOwnMetrics(_ request: @escaping @Sendable () async -> OTLPMetricsRequest?) async {
        while !Task.isCancelled {
            let (settings, generation) = current
            await withTaskGroup(of: Void.self) { group in
                for (name, endpoint) in settings.endpoints where endpoint.ownMetricsSeconds > 0 {
                    guard let client = try? makeClient(endpoint, settings) else { continue }
                    group.addTask {
                        await self.sendOwnMetrics(name, endpoint, client, request)
                        await client.shutDown()
                    }
                }
                while !Task.isCancelled, current.generation == generation {
                    try? await Task.sleep(for: Self.interval / 10)
                }
                group.cancelAll()
            }
        }
    }

    private func sendOwnMetrics(
        _ name: String, _ endpoint: ForwardEndpoint, _ client: any ForwardClient,
        _ request: @Sendable () async -> OTLPMetricsRequest?
    ) async {
        let fates = ["sent", "failed"].map { fate in
            Counter(
                label: "ws1_forward_own_metrics", dimensions: [("endpoint", name), ("fate", fate)], factory: factory)
        }
        var logged = ""
        while !Task.isCancelled {
            do { try await Task.sleep(for: .seconds(endpoint.ownMetricsSeconds)) } catch { return }
            guard let body = try? await request()?.serializedData() else { continue }
            let answer = await client.send(body, of: .metrics)
            if Task.isCancelled { return }
            let reason: String
            switch answer {
            case .accepted(let rejected, let message): reason = rejected > 0 ? "\(rejected) rejected: \(message)" : ""
            case .later(let why, _), .tooLarge(let why), .refused(let why), .misconfigured(let why): reason = why
            }
            fates[reason.isEmpty ? 0 : 1].increment()
            if !reason.isEmpty, reason != logged {
                logger.warning(
                    "the collector's own metrics were not taken",
                    metadata: ["forward.endpoint": "\(name)", "reason": "\(reason)"])
            }
            logged = reason
        }
    }
}
