import Foundation
import Synchronization
import WireModel

@testable import DataSampler

/// A queue in memory: what waits, and what was counted; it can fail, and act while it drops.
final class ScriptedConsentQueue: ConsentQueue {
    struct State {
        var queued: [NewRecord] = []
        var dropped = 0
        var refused: [StreamName: Int] = [:]
        /// How many calls that drop records fail from now on.
        var failures = 0
        /// The copy of the file of the decision.
        var copy: Data?
        /// How many copies cannot be kept from now on.
        var copyFailures = 0
    }

    private let state: Mutex<State>
    private let duringDrop = Mutex<(@Sendable () async -> Void)?>(nil)

    init(queued: [NewRecord] = []) { state = Mutex(State(queued: queued)) }

    var now: State { state.withLock { $0 } }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Runs once, after records are dropped and before that returns.
    func whileDropping(_ body: @escaping @Sendable () async -> Void) { duringDrop.withLock { $0 = body } }

    func enqueue(_ record: NewRecord) { state.withLock { $0.queued.append(record) } }

    func dropWaiting() async throws(DataSamplerError) {
        let fails = state.withLock { state in
            guard state.failures == 0 else {
                state.failures -= 1
                return true
            }
            state.dropped += state.queued.count { $0.stream != .status }
            state.queued.removeAll { $0.stream != .status }
            return false
        }
        if fails { throw DataSamplerError(.queueFull, "the disk is full") }
        let body = duringDrop.withLock { body in
            defer { body = nil }
            return body
        }
        await body?()
    }

    func countRefused(_ stream: StreamName) { state.withLock { $0.refused[stream, default: 0] += 1 } }

    func consentCopy() throws(DataSamplerError) -> Data? { now.copy }

    func keepConsentCopy(_ content: Data) throws(DataSamplerError) {
        let fails = state.withLock { state in
            guard state.copyFailures > 0 else {
                state.copy = content
                return false
            }
            state.copyFailures -= 1
            return true
        }
        if fails { throw DataSamplerError(.queueFull, "the disk is full") }
    }
}
