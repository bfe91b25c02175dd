import FoundationEssentials
import RecordStore

/// The state of retention in the registry (`meta`): the last clock reading, whether it waits for an administrator, and
/// what one requested to remove.
///
/// Not `Sendable`: the owner of its connection uses it inside its transactions.
package struct RetentionState {
    /// Retention waits.
    package struct Waiting: Equatable, Codable {
        /// The beginning by the clock that is in doubt.
        package var since: Int64
        package var message: String
        package var newestReceipt: Int64?
        package var devicesBehind: Int64?

        package init(since: Int64, message: String, newestReceipt: Int64? = nil, devicesBehind: Int64? = nil) {
            self.since = since
            self.message = message
            self.newestReceipt = newestReceipt
            self.devicesBehind = devicesBehind
        }
    }

    package let connection: any RegistrySession

    package init(connection: any RegistrySession) {
        self.connection = connection
    }
    private var audit: AuditTable { AuditTable(connection: connection) }

    private static let clockName = "retention_clock"
    private static let waitingName = "retention_waiting"
    private static let acceptedName = "retention_accepted_receipt"
    private static let acceptedBehindName = "retention_accepted_behind"
    private static let requestName = "purge_request"
    private static let answerName = "purge_answer"

    package func clock() throws(StoreError) -> ClockReading? { try read(Self.clockName) }
    package func waiting() throws(StoreError) -> Waiting? { try read(Self.waitingName) }
    /// Receipts up to this time are accepted.
    package func acceptedReceipt() throws(StoreError) -> Int64? { try read(Self.acceptedName) }

    /// Devices' clocks may be this far behind.
    package func acceptedBehind() throws(StoreError) -> Int64? { try read(Self.acceptedBehindName) }

    package func set(_ reading: ClockReading) throws(StoreError) { try write(reading, Self.clockName) }
    package func wait(_ waiting: Waiting) throws(StoreError) { try write(waiting, Self.waitingName) }

    /// Ends the wait, with an audit entry.
    /// - Returns: what it waited for; `nil` if nothing.
    package func release(by actor: AuditActor, at now: Int64) throws(StoreError) -> Waiting? {
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

    /// Requests the removal of files. The audit entry about the beginning is written before any of them is removed.
    /// - Returns: `false`, with nothing changed, if another request is not complete.
    package func ask(_ request: PurgeRequest, at now: Int64) throws(StoreError) -> Bool {
        guard try self.request() == nil else { return false }
        try write(request, Self.requestName)
        try audit.append(request.auditEntry(.begun), at: now)
        return true
    }

    package func request() throws(StoreError) -> PurgeRequest? { try read(Self.requestName) }
    /// The answer to the last completed request.
    package func answer() throws(StoreError) -> PurgeRequest.Answer? { try read(Self.answerName) }

    /// Stores the result of a request, for its requester and the audit trail.
    package func answer(_ answer: PurgeRequest.Answer, to request: PurgeRequest, at now: Int64) throws(StoreError) {
        try write(answer, Self.answerName)
        var detail = ["removedFiles": "\(answer.removedFiles)"]
        detail["failure"] = answer.failure
        try audit.append(request.auditEntry(answer.failure == nil ? .done : .failed, detail), at: now)
        // A later request is a separate one.
        if try self.request()?.id == request.id { try delete(Self.requestName) }
    }

    /// Withdraws the waiting request.
    /// - Parameter id: the request's id. Does nothing if it is complete or another one waits. `nil` for whichever
    ///   waits.
    func withdraw(_ id: UUID? = nil, because reason: String, at now: Int64) throws(StoreError) {
        guard let request = try request(), id ?? request.id == request.id else { return }
        try delete(Self.requestName)
        try audit.append(request.auditEntry(.refused, ["reason": reason]), at: now)
    }

    private func read<Value: Decodable>(_ name: String) throws(StoreError) -> Value? {
        // An unreadable value counts as missing and is written again.
        try connection.first("SELECT value FROM meta WHERE name = ?", name) {
            try? JSONDecoder().decode(Value.self, from: $0.data(0))
        }
    }

    private func delete(_ name: String) throws(StoreError) {
        try connection.run("DELETE FROM meta WHERE name = ?", name)
    }

    private func write(_ value: some Encodable, _ name: String) throws(StoreError) {
        guard let bytes = try? JSONEncoder().encode(value) else { return }
        try connection.setMeta(name, to: bytes)
    }
}
