import Synchronization

/// At most one data sampler runs in a process (ws1). Tests give each instance a slot of its own.
final class ProcessSlot: Sendable {
    static let shared = ProcessSlot()

    private let taken = Mutex(false)

    /// Whether the slot was free and is now the caller's.
    func take() -> Bool {
        taken.withLock { taken in
            defer { taken = true }
            return !taken
        }
    }

    func release() { taken.withLock { $0 = false } }
}
