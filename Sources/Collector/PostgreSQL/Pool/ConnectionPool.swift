import Dispatch
import Synchronization

/// Hands out the slots, first come, first served.
///
/// May be used from any thread. All waits have the same limit, so the first waiter is also the first to time out.
final class ConnectionPool: Sendable {
    typealias Answer = Result<PostgresSlot, PostgresError>

    private struct Waiter {
        var id: UInt64
        var deadline: ContinuousClock.Instant
        var resume: @Sendable (Answer) -> Void
    }

    private struct State {
        /// The last one given back is the first one given out, because its connection is the least likely to be dead.
        var free: [PostgresSlot]
        var waiters: [Waiter] = []
        /// Callers that gave up before they began to wait.
        var givenUp: Set<UInt64> = []
        var lastID: UInt64 = 0
        var usedCount = 0
        var isTimerSet = false
        var isShutDown = false
        var closers: [CheckedContinuation<Void, Never>] = []
    }

    private let state: Mutex<State>
    private let acquireTimeout: Duration
    private let acquireTimeoutSeconds: Int
    private let timer = DispatchQueue(label: "postgres-pool-timer")

    init(connector: PostgresConnector) {
        let count = connector.configuration.maximumConnections
        acquireTimeoutSeconds = connector.configuration.acquireTimeoutSeconds
        acquireTimeout = .seconds(acquireTimeoutSeconds)
        state = Mutex(State(free: (1...count).reversed().map { PostgresSlot(number: $0, connector: connector) }))
    }

    /// Waits for a slot without blocking the thread. Cancellation gives up the wait; a cancelled task
    /// that need not wait is served, so that it can clean up.
    /// - Throws: `.unavailable` after the limit or a cancellation; `.shutDown`.
    func acquire() async throws(PostgresError) -> PostgresSlot {
        let id = newID()
        let answer: Answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                enqueue(id) { continuation.resume(returning: $0) }
            }
        } onCancel: {
            giveUp(id, Self.cancelled)
        }
        // A cancellation may have come after the answer.
        _ = state.withLock { $0.givenUp.remove(id) }
        return try answer.get()
    }

    /// Waits for a slot on a thread that may block.
    func acquireBlocking() throws(PostgresError) -> PostgresSlot {
        let answer = BlockingAnswer()
        enqueue(newID()) { answer.set($0) }
        return try answer.wait().get()
    }

    /// Accepts a slot that is given back. The slot has an idle connection or none.
    func release(_ slot: PostgresSlot) {
        let (next, closers) = state.withLock { state -> (Waiter?, [CheckedContinuation<Void, Never>]) in
            if !state.isShutDown, !state.waiters.isEmpty { return (state.waiters.removeFirst(), []) }
            state.usedCount -= 1
            if state.isShutDown {
                slot.close()
                guard state.usedCount == 0 else { return (nil, []) }
                defer { state.closers = [] }
                return (nil, state.closers)
            }
            state.free.append(slot)
            return (nil, [])
        }
        next?.resume(.success(slot))
        for closer in closers { closer.resume() }
    }

    /// Refuses all callers from now on, ends the waits, and returns when the last body has ended.
    func shutDown() async {
        let (waiters, idle) = state.withLock { state in
            state.isShutDown = true
            defer {
                state.waiters = []
                state.free = []
            }
            return (state.waiters, state.free)
        }
        for waiter in waiters { waiter.resume(.failure(.shutDown)) }
        for slot in idle { slot.close() }
        await withCheckedContinuation { continuation in
            let isDone = state.withLock { state in
                if state.usedCount > 0 { state.closers.append(continuation) }
                return state.usedCount == 0
            }
            if isDone { continuation.resume() }
        }
    }

    /// How many callers wait now.
    var waitingCount: Int { state.withLock { $0.waiters.count } }

    private func newID() -> UInt64 {
        state.withLock { state in
            state.lastID += 1
            return state.lastID
        }
    }

    private func enqueue(_ id: UInt64, _ resume: @escaping @Sendable (Answer) -> Void) {
        let deadline = ContinuousClock.now + acquireTimeout
        let (answer, setsTimer) = state.withLock { state -> (Answer?, Bool) in
            if state.isShutDown { return (.failure(.shutDown), false) }
            if state.waiters.isEmpty, let slot = state.free.popLast() {
                state.usedCount += 1
                return (.success(slot), false)
            }
            if state.givenUp.remove(id) != nil { return (.failure(Self.cancelled), false) }
            state.waiters.append(Waiter(id: id, deadline: deadline, resume: resume))
            defer { state.isTimerSet = true }
            return (nil, !state.isTimerSet)
        }
        if let answer { resume(answer) }
        if setsTimer { setTimer(deadline) }
    }

    private func giveUp(_ id: UInt64, _ error: PostgresError) {
        let waiter = state.withLock { state -> Waiter? in
            if let index = state.waiters.firstIndex(where: { $0.id == id }) { return state.waiters.remove(at: index) }
            state.givenUp.insert(id)
            return nil
        }
        waiter?.resume(.failure(error))
    }

    private func setTimer(_ deadline: ContinuousClock.Instant) {
        let milliseconds = Int(Deadline.milliseconds(until: deadline))
        timer.asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { [weak self] in self?.expire() }
    }

    private func expire() {
        let now = ContinuousClock.now
        let (expired, next) = state.withLock { state in
            let count = state.waiters.prefix { $0.deadline <= now }.count
            defer {
                state.waiters.removeFirst(count)
                state.isTimerSet = !state.waiters.isEmpty
            }
            return (Array(state.waiters.prefix(count)), state.waiters.dropFirst(count).first?.deadline)
        }
        for waiter in expired {
            waiter.resume(
                .failure(
                    PostgresError(
                        .unavailable,
                        "No connection to PostgreSQL became free within \(acquireTimeoutSeconds) s. Raise the number "
                            + "of connections, or look for slow statements.")))
        }
        if let next { setTimer(next) }
    }

    private static let cancelled = PostgresError(
        .unavailable, "The task was cancelled while it waited for a connection to PostgreSQL.")
}

/// An answer that a thread waits for.
private final class BlockingAnswer: Sendable {
    private let answer = Mutex<ConnectionPool.Answer?>(nil)
    private let semaphore = DispatchSemaphore(value: 0)

    func set(_ value: ConnectionPool.Answer) {
        answer.withLock { $0 = value }
        semaphore.signal()
    }

    /// The pool always answers: its timer ends each wait.
    func wait() -> ConnectionPool.Answer {
        semaphore.wait()
        return answer.withLock { $0! }
    }
}
