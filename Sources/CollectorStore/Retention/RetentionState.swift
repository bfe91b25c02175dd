import FoundationEssentials
import SQLite

/// What retention remembers in `collector.sqlite` (`meta`): the last clock reading, whether it waits for an administrator, and what one has
/// asked to be removed.
///
/// Not `Sendable`: used by whoever owns its connection, inside that one's transactions.
struct RetentionState {
    /// Retention waits.
    struct Waiting: Equatable, Codable {
        /// By the clock that is in doubt.
        var since: Int64
        var message: String
        var newestReceipt: Int64?
    }

    let connection: Connection

    private static let clockName = "retention_clock"
    private static let waitingName = "retention_waiting"
    private static let acceptedName = "retention_accepted_receipt"
    private static let requestName = "purge_request"
    private static let answerName = "purge_answer"

    func clock() throws(SQLiteError) -> ClockReading? { try read(Self.clockName) }
    func waiting() throws(SQLiteError) -> Waiting? { try read(Self.waitingName) }
    /// Receipts up to this time are all right.
    func acceptedReceipt() throws(SQLiteError) -> Int64? { try read(Self.acceptedName) }

    func set(_ reading: ClockReading) throws(SQLiteError) { try write(reading, Self.clockName) }
    func wait(_ waiting: Waiting) throws(SQLiteError) { try write(waiting, Self.waitingName) }

    /// - Returns: what was waited for; `nil`: nothing.
    func release() throws(SQLiteError) -> Waiting? {
        guard let waiting = try waiting() else { return nil }
        if let receipt = waiting.newestReceipt { try write(receipt, Self.acceptedName) }
        try delete(Self.waitingName)
        return waiting
    }

    // MARK: Purge

    /// Replaces what was asked before and not done yet.
    func ask(_ request: PurgeRequest) throws(SQLiteError) { try write(request, Self.requestName) }
    func request() throws(SQLiteError) -> PurgeRequest? { try read(Self.requestName) }
    func forgetRequest() throws(SQLiteError) { try delete(Self.requestName) }
    /// To the last request that was done.
    func answer() throws(SQLiteError) -> PurgeRequest.Answer? { try read(Self.answerName) }

    func answer(_ answer: PurgeRequest.Answer) throws(SQLiteError) {
        try write(answer, Self.answerName)
        // One that came meanwhile is another.
        if try request()?.id == answer.id { try forgetRequest() }
    }

    private func read<Value: Decodable>(_ name: String) throws(SQLiteError) -> Value? {
        let statement = try connection.cached("SELECT value FROM meta WHERE name = ?")
        try statement.bind(name)
        defer { statement.reset() }
        guard try statement.step() else { return nil }
        // What is not readable counts as not there: it is written anew.
        return try? JSONDecoder().decode(Value.self, from: statement.data(0))
    }

    private func delete(_ name: String) throws(SQLiteError) {
        let statement = try connection.cached("DELETE FROM meta WHERE name = ?")
        try statement.bind(name)
        try statement.run()
    }

    private func write(_ value: some Encodable, _ name: String) throws(SQLiteError) {
        guard let bytes = try? JSONEncoder().encode(value) else { return }
        let statement = try connection.cached("INSERT OR REPLACE INTO meta (name, value) VALUES (?, ?)")
        try statement.bind(name, bytes)
        try statement.run()
    }
}
