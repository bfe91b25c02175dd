import Dispatch
import Glibc

/// Holds one session-level advisory lock on a connection of its own, on a thread of its own, and notices its loss.
///
/// The calls come in this order: ``acquire()``, then ``watch()`` once, then ``release()``.
final class PostgresLockHolder: @unchecked Sendable {  // Only the serial queue touches the connection.
    /// Set to end the watch.
    let event: PollEvent
    private let key: Int64
    private let connector: PostgresConnector
    private let isShutDown: @Sendable () -> Bool
    private let queue = DispatchQueue(label: "postgres-lock")
    private var connection: PostgresConnection?

    /// The server is asked so often whether it is still there. It keeps the lock of a connection that has vanished for
    /// 25 s (see `PostgresConnector`), so this and the answer's limit must together be clearly below.
    static let probeInterval: Duration = .seconds(5)
    static let probeTimeout: Duration = .seconds(5)

    init(
        key: Int64, connector: PostgresConnector, isShutDown: @escaping @Sendable () -> Bool
    ) throws(PostgresError) {
        event = try PollEvent()
        self.key = key
        self.connector = connector
        self.isShutDown = isShutDown
    }

    /// - Returns: false if another session holds the lock.
    func acquire() async throws(PostgresError) -> Bool {
        let result: Result<Bool, PostgresError> = await withCheckedContinuation { continuation in
            queue.async {
                continuation.resume(returning: Result { () throws(PostgresError) in try self.acquire() })
            }
        }
        return try result.get()
    }

    /// Returns when the lock is released or lost.
    /// - Returns: the reason of a loss.
    func watch() async -> PostgresError? {
        await withCheckedContinuation { continuation in
            queue.async { continuation.resume(returning: self.watchBlocking()) }
        }
    }

    func release() { event.set() }

    private func acquire() throws(PostgresError) -> Bool {
        let connection = try connector.connect()
        connection.answerTimeout = min(connection.answerTimeout, Self.probeTimeout)
        let session = PostgresSession(connection, in: .none)
        guard try session.query("SELECT pg_try_advisory_lock($1)", key)[0].bool(0) else {
            connection.close()
            return false
        }
        self.connection = connection
        return true
    }

    private func watchBlocking() -> PostgresError? {
        guard let connection else { return nil }
        defer {
            connection.close()
            self.connection = nil
        }
        while true {
            let isReadable = connection.waitForSocket(POLLIN, until: .now + Self.probeInterval, wakeup: event)
            if event.isSet {
                if isShutDown() { return .shutDown }
                // The session's end would release it too, but only some time after the close.
                _ = try? connection.command("SELECT pg_advisory_unlock_all()")
                return nil
            }
            if isReadable {
                if !connection.readPending() { return connection.lost() }
            } else {
                do throws(PostgresError) { try connection.command("SELECT 1") } catch { return error }
            }
        }
    }
}

extension PostgresDatabase {
    /// Holds one session-level advisory lock while the body runs. The lock has a connection of its own beside the pool.
    ///
    /// The lock keeps two bodies from running side by side as long as both notice the loss of their connection: a body
    /// that ignores its cancellation may go on after the loss, and so may a frozen process. What must not happen twice
    /// needs a fence in its own transactions too.
    /// - Returns: the body's value; `nil` if another session holds the lock, and then the body has not begun.
    /// - Throws: the body's error. `.unavailable` if the connection and so the lock is lost while the body runs: the
    ///   body's task is cancelled, and its result is given up. `.shutDown` likewise.
    package func withAdvisoryLock<T: Sendable>(
        _ key: Int64, _ body: @escaping @Sendable () async throws -> T
    ) async throws -> T? {
        let helpers = helpers
        let holder = try PostgresLockHolder(key: key, connector: connector, isShutDown: { helpers.isEnded })
        guard helpers.add(holder.event) else { throw PostgresError.shutDown }
        defer { helpers.remove(holder.event) }
        guard try await holder.acquire() else { return nil }
        return try await withTaskGroup(of: LockEvent<T>.self) { group in
            group.addTask {
                do { return .bodyEnded(.success(try await body())) } catch { return .bodyEnded(.failure(error)) }
            }
            group.addTask { .watchEnded(await holder.watch()) }
            var result: Result<T, any Error>?
            for await event in group {
                switch event {
                case .bodyEnded(let ended):
                    result = result ?? ended
                    holder.release()
                case .watchEnded(let loss):
                    guard let loss, result == nil else { continue }
                    result = .failure(loss)
                    group.cancelAll()
                }
            }
            // Both tasks have ended, and the body's always sets it.
            return result!
        }.get()
    }
}

private enum LockEvent<Value: Sendable>: Sendable {
    case bodyEnded(Result<Value, any Error>)
    case watchEnded(PostgresError?)
}
