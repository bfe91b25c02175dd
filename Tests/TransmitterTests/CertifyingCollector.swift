import DeviceTestKit
import Foundation
import Gzip
import StoreTestKit
import Synchronization
import WireModel
@testable import Transmitter

/// A collector that issues client certificates, and a transport that shows them; a chain is the text `number begins
/// ends`.
final class CertifyingCollector: Transport {
    struct State {
        var shown: String?
        var issued: [String] = []
        /// Microseconds since 1970 of the next one's life; `nil`: none is issued.
        var life: CertificateLife? = CertificateLife(begins: 0, ends: .max)
        /// Which the transport cannot use.
        var isUnusable: @Sendable (String) -> Bool = { _ in false }
        /// Chains with which the handshake fails.
        var refused: Set<String> = []
        var isRequired = false
        /// The answered requests: the path of each, and what was shown.
        var requests: [(path: String, shown: String?)] = []
    }

    let collector: LoopbackCollector
    private let state = Mutex(State())

    init(_ collector: LoopbackCollector) { self.collector = collector }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }
    var now: State { state.withLock { $0 } }

    func show(certificate chain: String?) throws(TransportError) -> CertificateLife? {
        let isUnusable = state.withLock { state in
            state.shown = nil
            return chain.map(state.isUnusable) ?? false
        }
        guard let chain else { return nil }
        let words = chain.split(separator: " ").compactMap { Int64($0) }
        guard words.count == 3, !isUnusable else { throw TransportError(.clientCertificate, "cannot be used") }
        state.withLock { $0.shown = chain }
        return CertificateLife(begins: words[1], ends: words[2])
    }

    func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let (shown, isRequired, isRefused) = state.withLock {
            ($0.shown, $0.isRequired, $0.refused.contains($0.shown ?? ""))
        }
        if isRefused {
            throw TransportError(.tls, shown == nil ? "alert: certificate required" : "alert: bad certificate")
        }
        if isRequired, shown == nil, request.path != WireNames.enrollPath {
            return TransportResponse(
                status: 401, headers: TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID)
            )
        }
        var response = try await collector.send(request)
        state.withLock { $0.requests.append((request.path, shown)) }
        guard response.status == 200, let body = request.body.flatMap({ try? GzipCodec.decompress($0) }) else {
            return response
        }
        switch request.path {
        case WireNames.enrollPath:
            guard let asked = try? WireEnrollRequest.decode(body), !asked.certificateSigningRequest.isEmpty,
                var answer = try? WireEnrollAnswer.decode(response.body)
            else { break }
            answer.certificate = issue()
            response.body = answer.encoded
        case WireNames.rotatePath:
            guard let asked = try? WireRotateRequest.decode(body), !asked.certificateSigningRequest.isEmpty,
                var answer = try? WireRotateAnswer.decode(response.body)
            else { break }
            answer.certificate = issue()
            response.body = answer.encoded
        default: break
        }
        return response
    }

    private func issue() -> Data {
        state.withLock { state in
            guard let life = state.life else { return Data() }
            let chain = "\(state.issued.count) \(life.begins) \(life.ends)"
            state.issued.append(chain)
            return Data(chain.utf8)
        }
    }
}
