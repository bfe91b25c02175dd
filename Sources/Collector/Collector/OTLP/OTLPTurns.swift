import CollectorTunables

/// Bounds how much of one token's records the store has before it at a time.
///
/// The store's writer takes what waits in order, and a record of OTLP costs it as much however small its sender made
/// it. So a token's further requests wait here, in their order, and those of other tokens and of devices go on.
///
/// A request that waits too long is refused: its sender waits a few seconds for an answer, and what is stored after
/// that may come twice.
actor OTLPTurns {
    private struct Waiter {
        let id: Int
        let items: Int
        let continuation: CheckedContinuation<Bool, Never>
    }

    /// One token's requests. `items` counts those that the store has.
    private struct Line {
        var items = 0
        var waiting: [Waiter] = []

        func has(roomFor items: Int, _ most: Int) -> Bool { self.items == 0 || self.items + items <= most }
    }

    private let most: Int
    private let longestWait: Duration
    private var lines: [String: Line] = [:]
    private var lastID = 0

    /// - Parameters:
    ///   - most: items that the store has of one token. A larger request goes alone.
    ///   - longestWait: after which a request is refused, counted from its beginning.
    init(most: Int = Tunables.OTLP.itemsInStore, longestWait: Duration = Tunables.OTLP.longestWait) {
        self.most = most
        self.longestWait = longestWait
    }

    /// Requests that wait now.
    var waiting: Int { lines.values.reduce(0) { $0 + $1.waiting.count } }

    /// Runs `operation` when it is the request's turn.
    /// - Parameter start: when the request began. One that has taken long to decode waits the shorter, but a request
    ///   that need not wait is never refused.
    /// - Throws: `Refusal` if the turn does not come.
    nonisolated func inTurn<Result: Sendable>(
        of token: String, items: Int, since start: ContinuousClock.Instant, _ operation: () async throws -> Result
    ) async throws -> Result {
        guard await begin(token, items, start + longestWait) else { throw Refusal() }
        do {
            let result = try await operation()
            await end(token, items)
            return result
        } catch {
            await end(token, items)
            throw error
        }
    }

    struct Refusal: Error {}

    private func begin(_ token: String, _ items: Int, _ limit: ContinuousClock.Instant) async -> Bool {
        let line = lines[token, default: Line()]
        if line.waiting.isEmpty, line.has(roomFor: items, most) {
            lines[token, default: Line()].items += items
            return true
        }
        lastID += 1
        let id = lastID
        let deadline = Task {
            try await Task.sleep(until: limit, clock: .continuous)
            giveUp(id, of: token)
        }
        defer { deadline.cancel() }
        return await withCheckedContinuation { continuation in
            lines[token, default: Line()].waiting.append(Waiter(id: id, items: items, continuation: continuation))
        }
    }

    private func giveUp(_ id: Int, of token: String) {
        guard let place = lines[token]?.waiting.firstIndex(where: { $0.id == id }) else { return }
        lines[token]?.waiting.remove(at: place).continuation.resume(returning: false)
        // The next one may be smaller.
        admit(token)
    }

    private func end(_ token: String, _ items: Int) {
        lines[token]?.items -= items
        admit(token)
    }

    private func admit(_ token: String) {
        guard var line = lines[token] else { return }
        while let next = line.waiting.first, line.has(roomFor: next.items, most) {
            line.waiting.removeFirst()
            line.items += next.items
            next.continuation.resume(returning: true)
        }
        lines[token] = line.items == 0 && line.waiting.isEmpty ? nil : line
    }
}
