import CollectorTunables

/// What is done next with the records of one stream for one endpoint.
///
/// A page of records is sent in requests, one after the other, and the cursor moves behind the page once every record
/// of it was taken, or dropped for a reason. So a crash at any moment sends some records again and passes over none.
///
/// ```
///            read                     all sent                    moved
///   reading ──────► sending(0..<n) ──────────────► movingCursor ────────► reading
///      ▲              │  ▲                │ ▲
///      └─ nothing     │  │ waited         └─┘ the registry failed: again
///         new: wait   ▼  │
///                   waiting      later, misconfigured
/// ```
///
/// Pure: time and chance go in. Times are those of a clock that only goes forward, in microseconds.
struct ForwardStateMachine: Sendable {
    enum State: Equatable, Sendable {
        /// Next: `read`.
        case reading
        /// The records of the page from `first` on are sent, at most `limit` at a time. Next: `answered`.
        case sending(first: Int, count: Int, limit: Int)
        /// The same, after a wait. Next: `waited`.
        case waiting(first: Int, count: Int, limit: Int)
        /// Next: `movedCursor`, `couldNotMoveCursor`.
        case movingCursor
    }

    enum Action: Equatable, Sendable {
        case read
        /// Send records of the page from `first` on, at most `limit` of them and as many as a request takes.
        case send(first: Int, limit: Int)
        /// Then call `waited`.
        case wait(Duration)
        case moveCursor
    }

    /// What became of the records of a request.
    enum Fate: Equatable, Sendable {
        case sent
        case dropped(String)
        case kept
    }

    private(set) var state = State.reading
    /// Failures in a row, for the next wait.
    private(set) var failures = 0
    /// When something failed or was refused first, since the endpoint took a request last; `nil` while it takes them.
    private(set) var failingSince: Int64?
    /// What happened last then.
    private(set) var reason = ""

    private var firstWindow = Tunables.Forwarding.firstWindow
    private var longestWindow = Tunables.Forwarding.longestWindow

    // MARK: Reading

    /// A page was read.
    /// - Parameters:
    ///   - count: of records.
    ///   - hasMoved: whether the page ends elsewhere than the former one.
    mutating func read(_ count: Int, hasMoved: Bool) -> Action {
        guard count > 0 else {
            guard hasMoved else { return .wait(Tunables.Forwarding.pause) }
            state = .movingCursor
            return .moveCursor
        }
        state = .sending(first: 0, count: count, limit: count)
        return .send(first: 0, limit: count)
    }

    /// The store could not be read.
    mutating func couldNotRead(_ why: String, at now: Int64, roll: Double) -> Action {
        state = .reading
        return fail(why, at: now, roll: roll, retryAfter: nil)
    }

    // MARK: Sending

    /// The records that would be next have nothing to send.
    /// - Parameter count: how many.
    mutating func passed(_ count: Int) -> Action { advance(by: count, keepingLimit: true) }

    /// - Parameter count: how many records of the page the request had, with those between them that are not sent.
    mutating func answered(
        _ answer: ForwardAnswer, to count: Int, at now: Int64, roll: Double
    ) -> (fate: Fate, next: Action) {
        guard case .sending(let first, let all, _) = state else { preconditionFailure("answered in \(state)") }
        switch answer {
        case .accepted:
            recover()
            return (.sent, advance(by: count, keepingLimit: false))
        case .refused(let why):
            refuse(why, at: now)
            return (.dropped(why), advance(by: count, keepingLimit: true))
        case .tooLarge(let why):
            guard count > 1 else {
                refuse(why, at: now)
                return (.dropped(why), advance(by: count, keepingLimit: true))
            }
            state = .sending(first: first, count: all, limit: (count + 1) / 2)
            return (.kept, .send(first: first, limit: (count + 1) / 2))
        case .later(let why, let retryAfter):
            state = .waiting(first: first, count: all, limit: count)
            return (.kept, fail(why, at: now, roll: roll, retryAfter: retryAfter))
        case .misconfigured(let why):
            state = .waiting(first: first, count: all, limit: count)
            return (.kept, fail(why, at: now, roll: roll, retryAfter: nil))
        }
    }

    /// A wait is over.
    mutating func waited() -> Action {
        switch state {
        case .waiting(let first, let count, let limit):
            state = .sending(first: first, count: count, limit: limit)
            return .send(first: first, limit: limit)
        case .movingCursor: return .moveCursor
        case .reading, .sending:
            state = .reading
            return .read
        }
    }

    // MARK: Moving the cursor

    mutating func movedCursor() -> Action {
        state = .reading
        return .read
    }

    /// The registry did not write it. What was sent is not sent again, as long as this goes on.
    mutating func couldNotMoveCursor(_ why: String, at now: Int64, roll: Double) -> Action {
        fail(why, at: now, roll: roll, retryAfter: nil)
    }

    // MARK: Steps

    private mutating func advance(by count: Int, keepingLimit: Bool) -> Action {
        guard case .sending(let first, let all, let limit) = state else { preconditionFailure("advanced in \(state)") }
        let next = first + count
        guard next < all else {
            state = .movingCursor
            return .moveCursor
        }
        // After a success larger requests are tried again.
        let wanted = keepingLimit ? limit : max(limit, count * 2)
        state = .sending(first: next, count: all, limit: wanted)
        return .send(first: next, limit: wanted)
    }

    private mutating func recover() {
        failures = 0
        failingSince = nil
        reason = ""
    }

    /// It answers, so the next request need not wait. But an endpoint that takes nothing fails.
    private mutating func refuse(_ why: String, at now: Int64) {
        failures = 0
        failingSince = failingSince ?? now
        reason = why
    }

    private mutating func fail(_ why: String, at now: Int64, roll: Double, retryAfter: Duration?) -> Action {
        failures += 1
        failingSince = failingSince ?? now
        reason = why
        let window = min(longestWindow, firstWindow * (1 << min(failures - 1, 16)))
        let jitter = window * (0.5 + min(max(roll, 0), 1) / 2)
        guard let retryAfter else { return .wait(jitter) }
        // What was asked for is the least wait.
        return .wait(min(max(retryAfter, .zero), Tunables.Forwarding.longestRetryAfter) + jitter)
    }
}
