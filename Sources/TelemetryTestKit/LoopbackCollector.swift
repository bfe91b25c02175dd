import CollectorStore
import FoundationEssentials
import Gzip
import Synchronization
import Transmitter
import WireModel

/// A collector without a network: a transport that decodes what a device sends, lets a record store decide, and answers as a collector does.
package final class LoopbackCollector: Transport {
    /// What goes wrong with one request.
    package enum Fault: Sendable {
        /// Never arrives.
        case requestLost
        /// Arrives; the answer does not.
        case answerLost
        /// Something else answers, and nothing arrives.
        case answered(TransportResponse)
    }

    package typealias Faults = @Sendable (TransportRequest, WireBatchRequest?) -> Fault?

    package let collectorID = CollectorID.random()
    package let incarnationID = IncarnationID.random()
    package let device = DeviceID.random()
    package let credential = "device-credential"
    package let enrollmentToken = "enrollment-token"
    private let store: any RecordStore
    private let faults: Mutex<Faults>
    private let counts = Mutex((batches: 0, enrollments: 0))

    package init(store: any RecordStore, faults: @escaping Faults = { _, _ in nil }) {
        self.store = store
        self.faults = Mutex(faults)
    }

    package func setFaults(_ faults: @escaping Faults) { self.faults.withLock { $0 = faults } }

    /// Requests that arrived.
    package var batches: Int { counts.withLock { $0.batches } }
    package var enrollments: Int { counts.withLock { $0.enrollments } }

    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let body = request.body.flatMap { try? GzipCodec.decompress($0) } ?? Data()
        let batch = request.path == WireNames.batchesPath ? try? WireBatchRequest.decode(body) : nil
        let fault = faults.withLock { $0 }(request, batch)
        switch fault {
        case .requestLost?: throw TransportError(.connectionClosed, "lost on the way")
        case .answered(let response)?: return response
        case .answerLost?, nil: break
        }
        let answer = await answer(request, body: body, batch: batch)
        if case .answerLost? = fault { throw TransportError(.timedOut, "the answer was lost on the way") }
        return answer
    }

    private func answer(_ request: TransportRequest, body: Data, batch: WireBatchRequest?) async -> TransportResponse {
        let headers = TransportResponse.collectorHeaders(collectorID, incarnationID)
        let bearer = request.headers.first { $0.name == "Authorization" }?.value
        switch request.path {
        case WireNames.enrollPath:
            guard bearer == "Bearer \(enrollmentToken)" else { return TransportResponse(status: 401, headers: headers) }
            counts.withLock { $0.enrollments += 1 }
            var answer = WireEnrollAnswer()
            answer.deviceID = device.data
            answer.credential = credential
            answer.organization = "default"
            answer.collectorID = collectorID.data
            answer.incarnationID = incarnationID.data
            return TransportResponse(status: 200, headers: headers, body: answer.encoded)
        case WireNames.batchesPath:
            guard bearer == "Bearer \(credential)" else { return TransportResponse(status: 401, headers: headers) }
            guard let batch else { return TransportResponse(status: 400, headers: headers) }
            counts.withLock { $0.batches += 1 }
            let parts = batch.parts.compactMap { try? BatchPart($0) }
            var answer = WireBatchAnswer()
            answer.parts = await store.append(parts, from: device, receivedAt: 1).map(\.wire)
            answer.durability = "fsync"
            return TransportResponse(status: 200, headers: headers, body: answer.encoded)
        default: return TransportResponse(status: 404, headers: headers)
        }
    }
}

/// Keeps the enrollment in memory.
package final class InMemoryEnrollmentStore: EnrollmentStore {
    package let enrollmentToken: String?
    private let stored: Mutex<Enrollment?>
    private let failures: Mutex<Int>

    /// - Parameter failingSaves: how many saves fail before one succeeds.
    package init(token: String?, enrollment: Enrollment? = nil, failingSaves: Int = 0) {
        enrollmentToken = token
        stored = Mutex(enrollment)
        failures = Mutex(failingSaves)
    }

    package func load() -> Enrollment? { stored.withLock { $0 } }

    package func save(_ enrollment: Enrollment) throws {
        let fails = failures.withLock { left in
            left -= 1
            return left >= 0
        }
        if fails { throw TransportError(.other, "no space left") }
        stored.withLock { $0 = enrollment }
    }

    package func enrollRequest(previous: Enrollment?) -> WireEnrollRequest {
        var request = WireEnrollRequest()
        request.deviceName = "test"
        if let previous {
            request.deviceID = previous.deviceID.data
            request.previousCredential = previous.credential
        }
        return request
    }
}
