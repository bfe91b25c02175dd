import Synchronization

/// How many answers are streamed at a time.
package final class StreamLimit: Sendable {
    package let limit: Int
    private let taken = Mutex(0)

    package init(_ limit: Int = 8) { self.limit = limit }

    /// `nil` where all places are taken.
    func take() -> Place? {
        let isFree = taken.withLock { taken in
            guard taken < limit else { return false }
            taken += 1
            return true
        }
        return isFree ? Place(self) : nil
    }

    /// One place; given back when it is let go of, at the latest.
    final class Place: Sendable {
        private let limit: StreamLimit
        private let isTaken = Mutex(true)

        fileprivate init(_ limit: StreamLimit) { self.limit = limit }

        func giveBack() {
            let wasTaken = isTaken.withLock { taken in
                defer { taken = false }
                return taken
            }
            if wasTaken { limit.taken.withLock { $0 -= 1 } }
        }

        deinit { giveBack() }
    }
}
