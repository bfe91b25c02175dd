import FoundationEssentials
import Synchronization
import Transmitter
import WireModel

/// Keeps the enrollment in memory.
package final class InMemoryEnrollmentStore: EnrollmentStore {
    private struct State {
        var state: EnrollmentState
        var failingSaves: Int
        var request: (id: Data, former: DeviceID?)?
    }

    private let token: String?
    private let signing: Data?
    private let kept: Mutex<State>

    /// - Parameters:
    ///   - failingSaves: how many saves fail before one succeeds.
    ///   - signingRequest: for a client certificate; `nil`: none is wanted.
    package init(token: String?, state: EnrollmentState = .none, failingSaves: Int = 0, signingRequest: Data? = nil) {
        self.token = token
        signing = signingRequest
        kept = Mutex(State(state: state, failingSaves: failingSaves))
    }

    package convenience init(token: String?, enrollment: Enrollment?, failingSaves: Int = 0) {
        self.init(token: token, state: enrollment.map { .enrolled($0) } ?? .none, failingSaves: failingSaves)
    }

    package func state() -> EnrollmentState { kept.withLock { $0.state } }

    package func load() -> Enrollment? {
        if case .enrolled(let enrollment) = state() { enrollment } else { nil }
    }

    package func save(_ enrollment: Enrollment) throws {
        try kept.withLock { kept in
            kept.failingSaves -= 1
            if kept.failingSaves >= 0 { throw TransportError(.other, "no space left") }
            kept.state = .enrolled(enrollment)
        }
    }

    package func requestAnswered() { kept.withLock { $0.request = nil } }

    package func wipeKey() -> Data? { nil }

    package func unenroll() throws {
        kept.withLock { kept in
            if case .enrolled(let enrollment) = kept.state { kept.state = .unenrolled(enrollment.deviceID) }
            kept.request = nil
        }
    }

    package func enrollmentToken() -> String? {
        if case .unenrolled = state() { nil } else { token }
    }

    package func signingRequest() -> Data? { signing }

    package func enrollRequest(as role: EnrollmentRole) -> WireEnrollRequest {
        var request = WireEnrollRequest()
        request.deviceName = "test"
        request.requestID = kept.withLock { kept in
            if let request = kept.request, request.former == role.former { return request.id }
            let id = DeviceID.random().data
            kept.request = (id, role.former)
            return id
        }
        switch role {
        case .new, .successor: break
        case .again(let former):
            request.deviceID = former.deviceID.data
            request.previousCredential = former.credential
        case .returning(let device): request.deviceID = device.data
        }
        return request
    }
}
