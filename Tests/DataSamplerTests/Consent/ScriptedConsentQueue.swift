import Foundation
import Synchronization
import WireModel

@testable import DataSampler

/// A queue in memory: streams, what is kept apart, and what was counted; it can fail, and act in the middle of a
/// release.
final class ScriptedConsentQueue: ConsentQueue {
    struct State {
        var kept: [NewRecord] = []
        var queued: [NewRecord] = []
        var deleted = 0
        var refused: [StreamName: Int] = [:]
        /// How many calls that move records fail from now on.
        var failures = 0
        var releases = 0
        /// Of the file of the decision.
        var copy: Data?
        /// How many copies cannot be kept from now on.
        var copyFailures = 0
    }

    private let state: Mutex<State>
    private let duringRelease = Mutex<(@Sendable (Int) async -> Void)?>(nil)

    init(queued: [NewRecord] = []) { state = Mutex(State(queued: queued)) }

    var now: State { state.withLock { $0 } }

    func change(_ body: (inout State) -> Void) { state.withLock { body(&$0) } }

    /// Runs after the records of a release are taken and before it returns; it is told which release it is.
    func whileReleasing(_ body: @escaping @Sendable (Int) async -> Void) { duringRelease.withLock { $0 = body } }

    func enqueue(_ record: NewRecord) { state.withLock { $0.queued.append(record) } }

    func keepApart(_ record: NewRecord) async throws(DataSamplerError) {
        state.withLock { $0.kept.append(record) }
    }

    func releaseKept() async throws(DataSamplerError) -> Int {
        try failIfAsked()
        // One at a time, as a queue does in bounded transactions.
        let (moved, release) = state.withLock { state in
            state.releases += 1
            guard !state.kept.isEmpty else { return (0, state.releases) }
            state.queued.append(state.kept.removeFirst())
            return (1, state.releases)
        }
        if let body = duringRelease.withLock({ $0 }) { await body(release) }
        return moved
    }

    func deleteKept() async throws(DataSamplerError) {
        try failIfAsked()
        state.withLock { state in
            state.deleted += state.kept.count
            state.kept = []
        }
    }

    func deleteWaiting() async throws(DataSamplerError) {
        state.withLock { state in
            state.deleted += state.queued.count { $0.stream != .status }
            state.queued.removeAll { $0.stream != .status }
        }
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

    private func failIfAsked() throws(DataSamplerError) {
        let fails = state.withLock { state in
            guard state.failures > 0 else { return false }
            state.failures -= 1
            return true
        }
        if fails { throw DataSamplerError(.queueFull, "the disk is full") }
    }
}
