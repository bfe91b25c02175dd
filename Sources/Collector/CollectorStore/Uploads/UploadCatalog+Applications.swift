import SQLite
import WireModel

/// How many names of applications devices have in use. A name is in use while an upload of it is open or a chunk of it
/// is kept.
extension UploadCatalog {
    private static let noticeSubject = "names of applications"

    /// Why a device may not begin an upload of an application; `nil` where it may. Inside a transaction.
    func refusal(ofApplication application: String, from device: DeviceRow, at now: Int64) throws(SQLiteError)
        -> UploadError?
    {
        let inUse = try connection.cached(
            """
            SELECT 1 FROM upload WHERE device = ?1 AND phase = \(UploadPhase.open.rawValue) AND application = ?2
            UNION ALL SELECT 1 FROM chunk WHERE device = ?1 AND fate = \(ChunkFate.stored.rawValue) AND application = ?2 LIMIT 1
            """)
        try inUse.bind(device.id.data, application)
        defer { inUse.reset() }
        if try inUse.step() { return nil }
        let ofDevice = try names(
            """
            SELECT application FROM upload WHERE device = ?1 AND phase = \(UploadPhase.open.rawValue)
            UNION SELECT application FROM chunk WHERE device = ?1 AND fate = \(ChunkFate.stored.rawValue)
            """, device.id.data)
        guard ofDevice.count < quotas.applicationsPerDevice else {
            return .tooManyApplications(ofDevice: true, limit: quotas.applicationsPerDevice)
        }
        let ofOrganization = try names(
            """
            SELECT application FROM upload WHERE organization = ?1 AND phase = \(UploadPhase.open.rawValue)
            UNION SELECT application FROM log_usage WHERE organization = ?1 AND chunks > 0
            """, device.organization)
        if ofOrganization.contains(application) { return nil }
        let limit = quotas.applicationsPerOrganization
        guard ofOrganization.count < limit else {
            try notices.raise(
                .logQuotaReached, organization: device.organization, subject: Self.noticeSubject,
                detail:
                    "Devices send logs under \(ofOrganization.count) names of applications; at most \(limit) are taken. "
                    + "Uploads under further names are refused and stay on their devices. Delete logs, or raise --log-applications.",
                at: now)
            return .tooManyApplications(ofDevice: false, limit: limit)
        }
        // Names of which all logs were deleted are told until others come: devices choose them, so they must not add up.
        let forget = try connection.cached(
            "DELETE FROM log_usage WHERE organization = ? AND chunks <= 0 AND raw_bytes <= 0")
        try forget.bind(device.organization)
        try forget.run()
        try notices.end(.logQuotaReached, organization: device.organization, subject: Self.noticeSubject, at: now)
        return nil
    }

    private func names(_ sql: String, _ value: some BindableValue) throws(SQLiteError) -> Set<String> {
        let statement = try connection.cached(sql)
        try value.bind(to: statement, at: 1)
        defer { statement.reset() }
        var names: Set<String> = []
        while try statement.step() { names.insert(statement.string(0)) }
        return names
    }
}
