import FoundationEssentials
import SQLite

/// What retention remembers in `collector.sqlite` (`meta`): the last clock reading, whether it waits for an
/// administrator, and what one has asked to be removed.
///
/// Not `Sendable`: used by whoever owns its connection, inside that one's transactions.
struct RetentionState {
    /// Retention waits.
    struct Waiting: Equatable, Codable {
        /// By the clock that is in doubt.
        var since: Int64
        var message: String
        var newestReceipt: Int64?
        var devicesBehind: Int64?
    }

    let connection: Connection
    private var audit: AuditTable { AuditTable(connection: connection) }

    private static let clockName = "retention_clock"
    private static let waitingName = "retention_waiting"
    private static let acceptedName = "retention_accepted_receipt"
    private static let acceptedBehindName = "retention_accepted_behind"
    private static let requestName = "purge_request"
    private static let answerName = "purge_answer"

    func clock() throws(SQLiteError) -> ClockReading? { try read(Self.clockName) }
    func waiting() throws(SQLiteError) -> Waiting? { try read(Self.waitingName) }
    /// Receipts up to this time are all right.
    func acceptedReceipt() throws(SQLiteError) -> Int64? { try read(Self.acceptedName) }

    /// Devices' clocks may be so far behind.
    func acceptedBehind() throws(SQLiteError) -> Int64? { try read(Self.acceptedBehindName) }

    func set(_ reading: ClockReading) throws(SQLiteError) { try write(reading, Self.clockName) }
    func wait(_ waiting: Waiting) throws(SQLiteError) { try write(waiting, Self.waitingName) }

    /// With its entry in the audit trail.
    /// - Returns: what was waited for; `nil`: nothing.
    func release(by actor: AuditActor, at now: Int64) throws(SQLiteError) -> Waiting? {
        guard let waiting = try waiting() else { return nil }
        if let receipt = waiting.newestReceipt { try write(receipt, Self.acceptedName) }
        if let behind = waiting.devicesBehind { try write(behind, Self.acceptedBehindName) }
        try delete(Self.waitingName)
        try audit.append(
            AuditEntry(
                .retentionRelease, by: actor, organization: "", subject: "records", detail: ["doubt": waiting.message]),
            at: now)
        return waiting
    }

    // MARK: Purge

    /// Asks for files to be removed; the audit trail is told that it has begun before any of them goes.
    /// - Returns: `false`, with nothing changed, where another request has not been done yet.
    func ask(_ request: PurgeRequest, at now: Int64) throws(SQLiteError) -> Bool {
        guard try self.request() == nil else { return false }
        try write(request, Self.requestName)
        try audit.append(request.auditEntry(.begun), at: now)
        return true
    }

    func request() throws(SQLiteError) -> PurgeRequest? { try read(Self.requestName) }
    /// To the last request that was done.
    func answer() throws(SQLiteError) -> PurgeRequest.Answer? { try read(Self.answerName) }

    /// What has become of a request, for whoever asked and for the audit trail.
    func answer(_ answer: PurgeRequest.Answer, to request: PurgeRequest, at now: Int64) throws(SQLiteError) {
        try write(answer, Self.answerName)
        var detail = ["removedFiles": "\(answer.removedFiles)"]
        detail["failure"] = answer.failure
        try audit.append(request.auditEntry(answer.failure == nil ? .done : .failed, detail), at: now)
        // One that came meanwhile is another.
        if try self.request()?.id == request.id { try delete(Self.requestName) }
    }

    /// What waits is not done any more.
    /// - Parameter id: of the request; where it is done, or another one waits, nothing happens. `nil`: whichever waits.
    func withdraw(_ id: UUID? = nil, because reason: String, at now: Int64) throws(SQLiteError) {
        guard let request = try request(), id ?? request.id == request.id else { return }
        try delete(Self.requestName)
        try audit.append(request.auditEntry(.refused, ["reason": reason]), at: now)
    }

    private func read<Value: Decodable>(_ name: String) throws(SQLiteError) -> Value? {
        // What is not readable counts as not there: it is written anew.
        try connection.first("SELECT value FROM meta WHERE name = ?", name) {
            try? JSONDecoder().decode(Value.self, from: $0.data(0))
        }
    }

    private func delete(_ name: String) throws(SQLiteError) {
        try connection.run("DELETE FROM meta WHERE name = ?", name)
    }

    private func write(_ value: some Encodable, _ name: String) throws(SQLiteError) {
        guard let bytes = try? JSONEncoder().encode(value) else { return }
        try connection.run("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)", name, bytes)
    }
}
