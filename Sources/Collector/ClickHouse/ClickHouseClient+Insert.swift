import Gzip
import NIOCore

/// The outcome of an insert, as far as it is known.
package enum InsertOutcome: Sendable {
    /// All rows are stored, on as many replicas as the settings ask for.
    case stored
    /// No row is stored, and none will be later.
    case notStored(ClickHouseError)
    /// Rows may be stored, or may be later.
    case unknown(ClickHouseError)
}

extension ClickHouseClient {
    /// Inserts rows, all or nothing, on one replica.
    ///
    /// The request is sent once. Another replica is tried only if no connection could be made: then nothing was sent.
    ///
    /// The body is gzip, because a server accepts a plain body that is cut between two rows as complete. The rows are
    /// one block. `stored` and `notStored` are certain if these hold, which the caller sees to:
    ///
    /// - The table is of the MergeTree family and has no materialized views.
    /// - All rows belong to one partition. They then become one part.
    /// - `settings` are those of `ClickHouseInsertSettings` for the server's version, with nothing that contradicts.
    ///
    /// A cancelled insert is `unknown`.
    ///
    /// - Parameters:
    ///   - table: its name, or `database.table`. It is quoted here.
    ///   - columns: their names, in the order of the values of each row. They are quoted here.
    ///   - rows: complete rows. Without any, nothing is sent, and the outcome is `stored`.
    ///   - replica: tries this one alone.
    package func insert(
        into table: String, columns: [String], rows: RowBinaryWriter, settings: [String: String] = [:],
        on replica: ClickHouseReplica? = nil
    ) async -> InsertOutcome {
        let request: ClickHouseExchange.Request
        do throws(ClickHouseError) {
            try checkRunning()
            guard rows.isAtRowEnd else {
                throw ClickHouseError(.configuration, "the rows for \(table) end inside a row: rowEnded() is missing")
            }
            guard rows.rowCount > 0 else { return .stored }
            guard !Task.isCancelled else {
                throw ClickHouseError(.unavailable, "the insert into \(table) was cancelled before it was sent")
            }
            request = try insertRequest(table, columns, rows, settings)
        } catch {
            return .notStored(error)
        }

        var lastError = ClickHouseError(.unavailable, "no ClickHouse replica was asked")
        for index in insertOrder(replica) {
            do throws(ClickHouseExchange.Failure) {
                return outcome(try await exchange(index).send(request), of: index)
            } catch {
                if !Task.isCancelled { failed(index, error.error) }
                guard error.isNothingSent else { return .unknown(error.error) }
                lastError = error.error
            }
        }
        return .notStored(lastError)
    }

    private func insertRequest(
        _ table: String, _ columns: [String], _ rows: RowBinaryWriter, _ settings: [String: String]
    ) throws(ClickHouseError) -> ClickHouseExchange.Request {
        let names = columns.map(ClickHouseSQL.identifier).joined(separator: ", ")
        let body: [UInt8]
        do throws(GzipError) {
            // The network is fast, and a collector has many such bodies to make.
            body = try GzipCodec.compress(rows.bytes, level: 1)
        } catch {
            throw ClickHouseError(.configuration, "the rows for \(table) could not be compressed", cause: error)
        }
        let all = settings.merging(ClickHouseInsertSettings.oneBlock(rows: rows.rowCount)) { $1 }
        return ClickHouseExchange.Request(
            parameters: requestParameters(
                all, query: "INSERT INTO \(ClickHouseSQL.table(table)) (\(names)) FORMAT RowBinary"),
            body: ByteBuffer(bytes: body), isGzip: true, timeoutSeconds: configuration.insertTimeoutSeconds,
            maximumBytes: Self.answerBytes)
    }

    /// More than any exception has. The answer to a stored insert is empty.
    private static var answerBytes: Int { 1 << 20 }

    private func outcome(_ answer: ClickHouseExchange.Answer, of index: Int) -> InsertOutcome {
        let replica = replicas[index]
        if let exception = answer.exception {
            let error = ClickHouseError(exception.withoutRows, on: replica)
            if exception.isOfReplicaWithoutInserts {
                refusesInserts(index, error)
            } else {
                answered(index)
            }
            return exception.isOfNothingStored ? .notStored(error) : .unknown(error)
        }
        guard answer.isOfClickHouse, answer.status == 200 else {
            let error = answer.foreign(replica)
            failed(index, error)
            return .unknown(error)
        }
        guard answer.body.readableBytes == 0 else {
            return .unknown(
                ClickHouseError(
                    .protocolViolation,
                    "\(replica) answered an insert with \(answer.body.readableBytes) bytes, where none are expected"))
        }
        answered(index, insert: true)
        return .stored
    }
}
