import CLibPQ
import Glibc

/// One connection. Each call has a deadline, so that a frozen server cannot keep a thread.
///
/// After a call that timed out or lost its connection the state is unclear: `isBroken` is then true, and nothing more
/// is sent.
final class PostgresConnection: @unchecked Sendable {  // The pool, a lock or a listener gives it to one user at a time.
    let library: LibPQ
    let notices: PostgresNotices
    /// The limit of each call.
    var answerTimeout: Duration
    /// No more use of the connection is possible.
    private(set) var isBroken = false
    /// The server did not answer within the limit.
    private(set) var hasTimedOut = false
    var statements = StatementCache()
    /// `nil` after closing.
    private var handle: OpaquePointer?

    init(library: LibPQ, handle: OpaquePointer, notices: PostgresNotices, answerTimeout: Duration) {
        self.library = library
        self.handle = handle
        self.notices = notices
        self.answerTimeout = answerTimeout
    }

    deinit { close() }

    /// Closes now. Sends a farewell only if that cannot block.
    func close() {
        guard let handle else { return }
        // After a timeout the socket's buffers may be full. Nothing is sent to it any more.
        if isBroken, library.call.socket(handle) >= 0 { shutdown(library.call.socket(handle), Int32(SHUT_RDWR)) }
        library.call.finish(handle)
        self.handle = nil
        isBroken = true
    }

    func markBroken() { isBroken = true }

    /// libpq's number, `PQ_TRANSACTION_...`.
    var transactionStatus: Int32 {
        guard let handle, !isBroken else { return PQ_TRANSACTION_UNKNOWN }
        return library.call.transactionStatus(handle)
    }

    var isIdle: Bool { transactionStatus == PQ_TRANSACTION_IDLE }
    var hasFailedTransaction: Bool { transactionStatus == PQ_TRANSACTION_FAILED }

    /// Waits until the socket can be read or written.
    /// - Parameter wakeup: ends the wait too.
    /// - Returns: false at the deadline, or if the event is set.
    func waitForSocket(_ event: Int32, until deadline: ContinuousClock.Instant, wakeup: PollEvent? = nil) -> Bool {
        guard let handle else { return false }
        var entries = [pollfd(fd: library.call.socket(handle), events: Int16(event), revents: 0)]
        // The socket is gone once libpq has noticed the loss; its next call says so.
        guard entries[0].fd >= 0 else { return true }
        if let wakeup { entries.append(pollfd(fd: wakeup.descriptor, events: Int16(POLLIN), revents: 0)) }
        while true {
            let count = poll(&entries, nfds_t(entries.count), Deadline.milliseconds(until: deadline))
            if count > 0 { return entries.count == 1 || entries[1].revents == 0 }
            if count == 0, ContinuousClock.now >= deadline { return false }
        }
    }

    /// Reads what the server has sent unasked, without waiting.
    /// - Returns: false if the server has ended the connection.
    func readPending() -> Bool {
        guard let handle, !isBroken else { return false }
        while waitForSocket(POLLIN, until: .now) {
            if library.call.consumeInput(handle) == 0 { isBroken = true }
            // Hands notices to the receiver, also that of an end.
            _ = library.call.isBusy(handle)
            if notices.isTerminated || library.call.status(handle) == PQ_CONNECTION_BAD {
                isBroken = true
            }
            if isBroken { return false }
        }
        return true
    }

    /// The notifications that were read so far.
    func notifications() -> [(channel: String, payload: String)] {
        guard let handle, !isBroken else { return [] }
        var notifications: [(channel: String, payload: String)] = []
        while let notification = library.call.notifies(handle) {
            notifications.append(
                (String(cString: notification.pointee.relname), String(cString: notification.pointee.extra)))
            library.call.freemem(notification)
        }
        return notifications
    }

    /// Sends one request and waits for all of its results.
    ///
    /// Each result has the whole time limit, because the server's statement timeout begins anew with each statement of
    /// a script.
    /// - Parameter send: returns 0 if libpq refuses.
    /// - Throws: the first error among the results; `.unavailable` without an answer in time.
    func exchange(
        readOnly: Bool = false, _ send: (OpaquePointer) -> Int32
    ) throws(PostgresError) -> [PostgresResult] {
        guard let handle, !isBroken else { throw lost() }
        guard send(handle) != 0 else {
            isBroken = true
            throw lost()
        }
        var results: [PostgresResult] = []
        var failure: PostgresError?
        var deadline = ContinuousClock.now + answerTimeout
        try flush(handle, deadline)
        while true {
            while library.call.isBusy(handle) != 0 {
                guard waitForSocket(POLLIN, until: deadline) else { throw timedOut() }
                // After a loss the next result gives the reason.
                if library.call.consumeInput(handle) == 0 { break }
            }
            guard let pointer = library.call.getResult(handle) else { break }
            let status = library.call.resultStatus(pointer)
            let result = PostgresResult(library: library, pointer: pointer)
            switch status {
            case PQ_RESULT_COMMAND_OK, PQ_RESULT_TUPLES_OK, PQ_RESULT_EMPTY_QUERY:
                results.append(result)
            case PQ_RESULT_COPY_IN, PQ_RESULT_COPY_OUT, PQ_RESULT_COPY_BOTH:
                isBroken = true
                throw PostgresError(.statement, "PostgreSQL: COPY is not supported by this client.")
            default: failure = failure ?? error(of: result, readOnly: readOnly)
            }
            deadline = .now + answerTimeout
        }
        if library.call.status(handle) == PQ_CONNECTION_BAD || notices.isTerminated { isBroken = true }
        if let failure { throw failure }
        return results
    }

    /// Runs a statement without parameters.
    @discardableResult
    func command(_ sql: String) throws(PostgresError) -> [PostgresResult] {
        try exchange { library.call.sendQuery($0, sql) }
    }

    private func flush(_ handle: OpaquePointer, _ deadline: ContinuousClock.Instant) throws(PostgresError) {
        while true {
            let left = library.call.flush(handle)
            // A failed write is reported by the results, with the server's last words if it sent any.
            if left <= 0 { return }
            // The server may answer before it has read all, and stop reading until its answer is read.
            guard waitForSocket(POLLIN | POLLOUT, until: deadline) else { throw timedOut() }
            if waitForSocket(POLLIN, until: .now) { _ = library.call.consumeInput(handle) }
        }
    }

    private func timedOut() -> PostgresError {
        isBroken = true
        hasTimedOut = true
        return PostgresError(
            .unavailable,
            "PostgreSQL did not answer within \(answerTimeout.components.seconds) s; the connection was given up.")
    }

    func lost() -> PostgresError {
        let text = handle.flatMap { library.call.errorMessage($0) }.map { firstLine(String(cString: $0)) } ?? ""
        return PostgresError(.unavailable, "The connection to PostgreSQL is lost\(text.isEmpty ? "." : ": \(text)")")
    }

    private func error(of result: PostgresResult, readOnly: Bool) -> PostgresError {
        guard let state = library.field(.sqlState, of: result.pointer) else {
            // libpq itself: the connection ended, or memory is short.
            isBroken = true
            let text = library.call.resultErrorMessage(result.pointer).map { String(cString: $0) } ?? ""
            return PostgresError(.unavailable, "PostgreSQL: \(firstLine(text))")
        }
        // A session that the server ends accepts no more requests, whatever the reason.
        if let severity = library.field(.severity, of: result.pointer), severity != "ERROR" { isBroken = true }
        let constraint = library.field(.constraint, of: result.pointer)
        return PostgresError(
            PostgresError.Code(sqlState: state, readOnly: readOnly),
            "PostgreSQL: \(library.field(.message, of: result.pointer) ?? "an error without a text") (\(state))",
            sqlState: state, constraint: constraint)
    }

    private func firstLine(_ text: String) -> String {
        text.split(separator: "\n").first.map(String.init) ?? ""
    }
}
