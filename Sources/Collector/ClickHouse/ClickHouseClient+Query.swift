import NIOCore

extension ClickHouseClient {
    /// The rows of a SELECT.
    ///
    /// Asks one replica after the other until one answers; each has the whole time limit. The servers run the query
    /// with `readonly=2`, so a query that is repeated changes nothing. The answer is complete: the server sends its
    /// first byte when the query has ended, and an error in the middle is an error of the whole.
    ///
    /// - Parameters:
    ///   - sql: without a FORMAT. 18.16 reads up to 256 KiB of it, or `max_query_size`.
    ///   - parameters: literals for each `{name}` in the text; `nil` leaves braces as they are.
    ///   - replica: asks this one alone.
    ///   - maximumBytes, timeoutSeconds: of the answer; `nil`: as configured.
    /// - Throws: `refused` if a server refuses the query, `unavailable` if none answered, `answerTooLarge`,
    ///   `protocolViolation`, `configuration` for parameters that do not fit, `shutDown`.
    package func query(
        _ sql: String, parameters: [String: ClickHouseLiteral]? = nil, settings: [String: String] = [:],
        on replica: ClickHouseReplica? = nil, maximumBytes: Int? = nil, timeoutSeconds: Int? = nil
    ) async throws(ClickHouseError) -> ClickHouseRows {
        try checkRunning()
        let text = if let parameters { try ClickHouseSQL.filled(sql, parameters) } else { sql }
        let seconds = timeoutSeconds ?? configuration.queryTimeoutSeconds
        // A server that is only slow shall say so itself before it counts as dead.
        let own = ["readonly": "2", "max_execution_time": "\(max(seconds - 1, 1))"]
        let request = ClickHouseExchange.Request(
            parameters: requestParameters(own.merging(settings) { $1 }), body: ByteBuffer(string: text),
            timeoutSeconds: seconds, maximumBytes: maximumBytes ?? configuration.maximumAnswerBytes)

        var failures: [ClickHouseError] = []
        for index in readOrder(replica) {
            do throws(ClickHouseExchange.Failure) {
                let answer = try await sendRead(request, to: index)
                return ClickHouseRows(answer.body, from: replicas[index])
            } catch {
                guard error.mayDifferOnAnotherReplica, !Task.isCancelled else { throw error.error }
                failures.append(error.error)
            }
        }
        throw Self.combined(failures)
    }

    /// Runs a statement without rows, such as `CREATE TABLE`.
    ///
    /// Not repeated after anything was sent. After an error other than `refused` the statement may have been carried
    /// out, or may be later. Use statements that may be repeated (`IF NOT EXISTS`).
    package func execute(
        _ sql: String, settings: [String: String] = [:], on replica: ClickHouseReplica? = nil
    ) async throws(ClickHouseError) {
        try checkRunning()
        let request = ClickHouseExchange.Request(
            parameters: requestParameters(settings), body: ByteBuffer(string: sql),
            timeoutSeconds: configuration.queryTimeoutSeconds, maximumBytes: configuration.maximumAnswerBytes)
        var failures: [ClickHouseError] = []
        for index in readOrder(replica) {
            do throws(ClickHouseExchange.Failure) {
                _ = try check(try await exchange(index).send(request), of: index)
                answered(index)
                return
            } catch {
                recordFailure(error, of: index)
                guard error.isNothingSent else { throw error.error }
                failures.append(error.error)
            }
        }
        throw Self.combined(failures)
    }

    /// The parameters of every request. `wait_end_of_query` makes a server hold an answer back until it is whole, so
    /// that the status reports every error.
    func requestParameters(_ settings: [String: String], query: String? = nil) -> [(name: String, value: String)] {
        let fixed = [
            ("database", configuration.database), ("default_format", "RowBinary"), ("wait_end_of_query", "1"),
        ]
        let text = query.map { [("query", $0)] } ?? []
        // `readonly` comes last: the settings before it would be refused after it in some versions.
        let rest = settings.sorted { ($0.key == "readonly" ? 1 : 0, $0.key) < ($1.key == "readonly" ? 1 : 0, $1.key) }
        return (fixed + text + rest.map { ($0.key, $0.value) }).map { (name: $0.0, value: $0.1) }
    }

    /// A connection that the server has just ended is no sign of a dead server, so one more attempt follows.
    private func sendRead(_ request: ClickHouseExchange.Request, to index: Int) async throws(ClickHouseExchange.Failure)
        -> ClickHouseExchange.Answer
    {
        for isLast in [false, true] {
            do throws(ClickHouseExchange.Failure) {
                let answer = try check(try await exchange(index).send(request), of: index)
                answered(index)
                return answer
            } catch {
                if error.isClosedConnection, !isLast, !Task.isCancelled { continue }
                recordFailure(error, of: index)
                throw error
            }
        }
        preconditionFailure("the last attempt returns or throws")
    }

    /// A cancelled request says nothing about the replica.
    private func recordFailure(_ failure: ClickHouseExchange.Failure, of index: Int) {
        guard failure.isOfReplica, !Task.isCancelled else { return }
        failed(index, failure.error)
    }

    /// Returns the answer if it reports success.
    private func check(_ answer: ClickHouseExchange.Answer, of index: Int) throws(ClickHouseExchange.Failure)
        -> ClickHouseExchange.Answer
    {
        let replica = replicas[index]
        if let exception = answer.exception {
            // The server works, whatever it thinks of the query.
            answered(index)
            throw ClickHouseExchange.Failure(
                error: ClickHouseError(exception, on: replica), exception: exception)
        }
        guard answer.status == 200, answer.isOfClickHouse else {
            throw ClickHouseExchange.Failure(error: answer.foreign(replica))
        }
        return answer
    }

    /// The one error of several replicas. A refusal stands for all only if all refused.
    private static func combined(_ failures: [ClickHouseError]) -> ClickHouseError {
        guard let last = failures.last else {
            return ClickHouseError(.unavailable, "no ClickHouse replica was asked")
        }
        guard failures.count > 1 else { return last }
        let messages = failures.map(\.message).joined(separator: "; ")
        let isRefused = failures.allSatisfy { $0.code == .refused }
        return ClickHouseError(
            isRefused ? .refused : .unavailable, "no ClickHouse replica answered: \(messages)",
            serverCode: failures.allSatisfy { $0.serverCode == last.serverCode } ? last.serverCode : nil,
            cause: last)
    }
}

extension ClickHouseExchange.Answer {
    /// The server's exception; `nil`: none.
    var exception: ServerException? { ServerException(status: status, headers: headers, body: body) }

    /// Every answer of ClickHouse has such headers. Another server at its address could say 200 to anything.
    var isOfClickHouse: Bool { headers.contains { $0.name.lowercased().hasPrefix("x-clickhouse-") } }

    /// Nothing that ClickHouse says.
    func foreign(_ replica: ClickHouseReplica) -> ClickHouseError {
        ClickHouseError(
            status >= 500 ? .unavailable : .protocolViolation,
            "\(replica) answered with HTTP status \(status), but not as ClickHouse does; check the address, and what "
                + "lies in between")
    }
}

extension ClickHouseExchange.Failure {
    /// Whether the replica is to be asked last.
    fileprivate var isOfReplica: Bool { exception == nil && error.code != .answerTooLarge }

    fileprivate var mayDifferOnAnotherReplica: Bool {
        exception?.mayDifferOnAnotherReplica ?? (error.code != .answerTooLarge)
    }
}
