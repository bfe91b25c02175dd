import Synchronization
import WireModel

/// Devices' profiles by scope, so that an answer to a batch need not wait for the disk to say the newest revision. Bounded: full, it starts again.
final class ProfileCache: Sendable {
    private struct State {
        var profiles: [ProfileScope: DeviceProfile] = [:]
        /// Grows with every change: what was read before one must not come back after it.
        var generation = 0
    }

    private let state = Mutex(State())
    private static let limit = 1024

    subscript(_ scope: ProfileScope) -> DeviceProfile? { state.withLock { $0.profiles[scope] } }

    var generation: Int { state.withLock { $0.generation } }

    func insert(_ profile: DeviceProfile, of scope: ProfileScope, readAt generation: Int) {
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.profiles.count >= Self.limit { state.profiles = [:] }
            state.profiles[scope] = profile
        }
    }

    func remove(organization: String) {
        state.withLock { state in
            state.generation += 1
            state.profiles = state.profiles.filter { $0.key.organization != organization }
        }
    }
}
