import FoundationEssentials
import Synchronization
import Transmitter
import WireModel

/// A transport whose answers a closure gives; it keeps what was asked.
package final class ScriptedTransport: Transport {
    package typealias Script = @Sendable (TransportRequest) async throws(TransportError) -> TransportResponse

    private let script: Script
    private let log = Mutex<[TransportRequest]>([])

    package init(_ script: @escaping Script) {
        self.script = script
    }

    /// Every request so far, in order.
    package var requests: [TransportRequest] { log.withLock { $0 } }

    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        log.withLock { $0.append(request) }
        return try await script(request)
    }
}

extension TransportResponse {
    /// Headers of an answer from this collector.
    package static func collectorHeaders(
        _ collector: CollectorID, _ incarnation: IncarnationID, version: String = "1.0.0"
    ) -> [String: String] {
        [
            WireNames.versionHeader.lowercased(): version, WireNames.collectorHeader.lowercased(): "\(collector)",
            WireNames.incarnationHeader.lowercased(): "\(incarnation)",
        ]
    }
}
