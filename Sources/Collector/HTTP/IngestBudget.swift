import Synchronization

/// How many bodies and how many of their bytes are in memory at a time. Full means 429, before anything is read.
package final class IngestBudget: Sendable {
    private struct Used {
        var bodies = 0
        var bytes = 0
    }

    package let maximumBodies: Int
    package let maximumBytes: Int
    private let used = Mutex(Used())

    package init(maximumBodies: Int = 256, maximumBytes: Int = 256 * 1024 * 1024) {
        self.maximumBodies = maximumBodies
        self.maximumBytes = maximumBytes
    }

    /// Runs `operation` with a place in the budget; gives place and bytes back when it ends, however it ends.
    func withPlace<Result>(_ operation: (inout Place) async throws -> Result) async throws -> Result {
        let taken = used.withLock { used in
            guard used.bodies < maximumBodies else { return false }
            used.bodies += 1
            return true
        }
        guard taken else { throw Full() }
        var place = Place(budget: self)
        defer {
            let bytes = place.bytes
            used.withLock { used in
                used.bodies -= 1
                used.bytes -= bytes
            }
        }
        return try await operation(&place)
    }

    struct Full: Error {}

    /// One body's share of the budget.
    struct Place {
        private let budget: IngestBudget
        fileprivate(set) var bytes = 0

        fileprivate init(budget: IngestBudget) { self.budget = budget }

        /// Takes `count` bytes more, or throws `Full`.
        mutating func grow(by count: Int) throws {
            let taken = budget.used.withLock { used in
                guard count <= budget.maximumBytes - used.bytes else { return false }
                used.bytes += count
                return true
            }
            guard taken else { throw Full() }
            bytes += count
        }
    }
}
