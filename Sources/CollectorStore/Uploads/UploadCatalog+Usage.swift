import SQLite

/// Whose quota it is: an application's in an organization; what test devices send has one of its own.
struct UsageKey: Hashable, Sendable {
    var organization: String
    var application: String
    var test: Bool

    var subject: String { (application.isEmpty ? "the agent" : application) + (test ? " (test devices)" : "") }
}

extension UploadCatalog {
    func usage(of key: UsageKey) throws(SQLiteError) -> LogUsage {
        let statement = try connection.cached("SELECT raw_bytes FROM log_usage WHERE organization = ? AND application = ? AND test = ?")
        try statement.bind(key.organization, key.application, key.test)
        defer { statement.reset() }
        return LogUsage(rawBytes: try statement.step() ? statement.int(0) : 0, quota: quotaBytes)
    }

    /// Counts chunks that have come or gone, and raises and ends the notices that follow. Inside a transaction.
    func count(_ key: UsageKey, chunks: Int, rawBytes: Int, at now: Int64) throws(SQLiteError) {
        let former = try usage(of: key)
        let statement = try connection.cached(
            """
            INSERT INTO log_usage (organization, application, test, chunks, raw_bytes) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET chunks = chunks + excluded.chunks, raw_bytes = raw_bytes + excluded.raw_bytes
            """)
        try statement.bind(key.organization, key.application, key.test, chunks, rawBytes)
        try statement.run()
        let present = try usage(of: key)
        let change = LogUsage.change(from: former, to: present)
        for code in change.raised { try raise(code, key, present, at: now) }
        for code in change.ended { try notices.end(code, organization: key.organization, subject: key.subject, at: now) }
    }

    func raise(_ code: NoticeRow.Code, _ key: UsageKey, _ usage: LogUsage, at now: Int64) throws(SQLiteError) {
        let remedy =
            code == .logQuotaReached
            ? "Further chunks are refused and stay on their devices. Delete logs, or purge old ones." : "Delete logs, or purge old ones."
        try notices.raise(
            code, organization: key.organization, subject: key.subject,
            detail: "Logs of \(key.subject) take \(usage.rawBytes) of \(usage.quota) bytes. \(remedy)", at: now)
    }
}
