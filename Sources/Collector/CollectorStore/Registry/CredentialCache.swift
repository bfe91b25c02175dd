import FoundationEssentials
import Synchronization
import WireModel

/// Devices by the hash of their credential, so that authentication does not wait for the disk. Bounded: when it is full it starts again.
final class CredentialCache: Sendable {
    private struct State {
        var devices: [Data: DeviceRow] = [:]
        /// Grows with every removal: what was read from disk before one must not come back after it.
        var generation = 0
    }

    private let state = Mutex(State())
    private static let limit = 16_384

    func device(hash: Data) -> DeviceRow? {
        state.withLock { state in
            guard let index = state.devices.index(forKey: hash) else { return nil }
            let (kept, device) = state.devices[index]
            return Secret.areEqual(kept, hash) ? device : nil
        }
    }

    var generation: Int { state.withLock { $0.generation } }

    func insert(_ device: DeviceRow, hash: Data, readAt generation: Int) {
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.devices.count >= Self.limit { state.devices = [:] }
            state.devices[hash] = device
        }
    }

    func remove(_ id: DeviceID) {
        state.withLock { state in
            state.generation += 1
            state.devices = state.devices.filter { $0.value.id != id }
        }
    }
}
