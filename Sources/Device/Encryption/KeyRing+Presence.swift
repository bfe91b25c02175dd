import Synchronization
import TelemetryBasics

/// What can be asked of the keys without the device key.
extension KeyRing {
    /// Whether keys were made in this directory and not destroyed since. Where none were, asking for a key would make
    /// the first device key.
    package var isBegun: Bool {
        state.withLock { state in
            if case .closed = state { Paths.exists(file.path) } else { true }
        }
    }

    /// Whether there is a key of a purpose, be it at hand or not. A file that cannot be read has none.
    package func holdsKey(of purpose: KeyPurpose) -> Bool {
        let content = (try? file.read()) ?? nil
        return content?.keys.contains { $0.purpose == purpose.description } ?? false
    }
}
