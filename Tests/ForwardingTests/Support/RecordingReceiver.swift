import Foundation
import OTLP
import SwiftProtobuf
import TestKit

@testable import Forwarding

/// A receiver that keeps what it takes, and answers as a test wants.
final class RecordingReceiver: ForwardClient {
    struct Taken: Sendable {
        /// Names of events, in the order in which they were taken, by device.
        var events: [String: [String]] = [:]
        /// Texts of other log records, likewise.
        var lines: [String: [String]] = [:]
        /// By the uid of a log record, how often it came.
        var uids: [String: Int] = [:]
        var metrics: [String] = []
        var requests = 0
    }

    let taken = Watched(Taken())
    private let answer: @Sendable (Int) async -> ForwardAnswer

    /// - Parameter answer: to the request of this number, from 1.
    init(answer: @escaping @Sendable (Int) async -> ForwardAnswer = { _ in .accepted(rejected: 0, message: "") }) {
        self.answer = answer
    }

    func send(_ body: Data, of signal: OTLPSignal) async -> ForwardAnswer {
        taken.change { $0.requests += 1 }
        let answer = await answer(taken.value.requests)
        guard case .accepted = answer else { return answer }
        switch signal {
        case .logs:
            guard let request = try? OTLPLogsRequest(serializedBytes: body) else { return .refused("unreadable") }
            taken.change { taken in
                for group in request.resourceLogs {
                    let device = Self.text(group.resource.attributes, "device.id")
                    for log in group.scopeLogs.flatMap(\.logRecords) {
                        if log.eventName.isEmpty {
                            taken.lines[device, default: []].append(log.body.stringValue)
                        } else {
                            taken.events[device, default: []].append(log.eventName)
                        }
                        taken.uids[Self.text(log.attributes, OTLPLogRecord.uidKey), default: 0] += 1
                    }
                }
            }
        case .metrics:
            guard let request = try? OTLPMetricsRequest(serializedBytes: body) else { return .refused("unreadable") }
            taken.change { taken in
                taken.metrics += request.resourceMetrics.flatMap(\.scopeMetrics).flatMap(\.metrics).map(\.name)
            }
        }
        return answer
    }

    func shutDown() async {}

    private static func text(_ attributes: [OTLPKeyValue], _ key: String) -> String {
        attributes.first { $0.key == key }?.value.stringValue ?? ""
    }
}
