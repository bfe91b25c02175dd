import SQLite

/// Whose quota it is: an application's in an organization; what test devices send has one of its own.
struct UsageKey: Hashable, Sendable {
    var organization: String
    var application: String
    var test: Bool

    var subject: String { (application.isEmpty ? "the agent" : application) + (test ? " (test devices)" : "") }
    /// Of all applications together.
    var totalSubject: String { "all applications" + (test ? " (test devices)" : "") }
}

extension UploadCatalog {
    func usage(of key: UsageKey) throws(SQLiteError) -> LogUsage {
        let statement = try connection.cached("SELECT raw_bytes FROM log_usage WHERE organization = ? AND application = ? AND test = ?")
        try statement.bind(key.organization, key.application, key.test)
        defer { statement.reset() }
        return LogUsage(rawBytes: try statement.step() ? statement.int(0) : 0, quota: quotas.applicationBytes)
    }

    /// Of all applications of its organization.
    func totalUsage(of key: UsageKey) throws(SQLiteError) -> LogUsage {
        let statement = try connection.cached(
            "SELECT coalesce(sum(raw_bytes), 0) FROM log_usage WHERE organization = ? AND test = ?")
        try statement.bind(key.organization, key.test)
        defer { statement.reset() }
        return LogUsage(rawBytes: try statement.step() ? statement.int(0) : 0, quota: quotas.totalBytes)
    }

    /// Counts chunks that have come or gone, and raises and ends the notices that follow. Inside a transaction.
    func count(_ key: UsageKey, chunks: Int, rawBytes: Int, at now: Int64) throws(SQLiteError) {
        let (former, formerTotal) = (try usage(of: key), try totalUsage(of: key))
        let statement = try connection.cached(
            """
            INSERT INTO log_usage (organization, application, test, chunks, raw_bytes) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT DO UPDATE SET chunks = chunks + excluded.chunks, raw_bytes = raw_bytes + excluded.raw_bytes
            """)
        try statement.bind(key.organization, key.application, key.test, chunks, rawBytes)
        try statement.run()
        let (present, presentTotal) = (try usage(of: key), try totalUsage(of: key))
        for (former, present, ofAll) in [(former, present, false), (formerTotal, presentTotal, true)] {
            let change = LogUsage.change(from: former, to: present)
            for code in change.raised { try raise(code, key, present, ofAll: ofAll, at: now) }
            for code in change.ended {
                try notices.end(
                    code, organization: key.organization, subject: ofAll ? key.totalSubject : key.subject, at: now)
            }
        }
    }

    /// - Parameter ofAll: whether it is about all applications of the organization together.
    func raise(
        _ code: NoticeRow.Code, _ key: UsageKey, _ usage: LogUsage, ofAll: Bool = false, at now: Int64
    ) throws(SQLiteError) {
        let subject = ofAll ? key.totalSubject : key.subject
        let remedy =
            code == .logQuotaReached
            ? "Further chunks are refused and stay on their devices. Delete logs, or purge old ones." : "Delete logs, or purge old ones."
        try notices.raise(
            code, organization: key.organization, subject: subject,
            detail: "Logs of \(subject) take \(usage.rawBytes) of \(usage.quota) bytes. \(remedy)", at: now)
    }
}
