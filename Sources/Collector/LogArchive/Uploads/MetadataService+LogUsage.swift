import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The owner of a quota: an application of an organization, with a separate quota for its test devices.
struct UsageKey: Hashable, Sendable {
    var organization: String
    var application: String
    var test: Bool

    /// The subject of notices about a quota.
    func subject(_ owner: LogQuotaOwner, device: DeviceID? = nil) -> String {
        switch owner {
        case .application: (application.isEmpty ? "the agent" : application) + (test ? " (test devices)" : "")
        case .device: device.map { "device \($0)" } ?? ""
        case .organization: "all applications" + (test ? " (test devices)" : "")
        }
    }
}

extension MetadataService {
    func usage(of key: UsageKey) throws(StoreError) -> LogUsage {
        let rawBytes = try connection.first(
            "SELECT raw_bytes FROM log_usage WHERE organization = ? AND application = ? AND test = ?",
            key.organization, key.application, key.test
        ) { $0.int(0) }
        return LogUsage(rawBytes: rawBytes ?? 0, quota: try quota(of: key))
    }

    private func quota(of key: UsageKey) throws(StoreError) -> Int {
        try connection.first(
            "SELECT bytes FROM log_quota WHERE organization = ? AND application = ?", key.organization, key.application
        ) { $0.int(0) } ?? logQuotas.value.applicationBytes
    }

    /// The usage of all applications of one device. An application with a raised quota raises the device's too.
    func usage(ofDevice device: DeviceID, _ key: UsageKey) throws(StoreError) -> LogUsage {
        let rawBytes = try connection.first(
            "SELECT raw_bytes FROM device_log_usage WHERE device = ?", device.data
        ) { $0.int(0) }
        return LogUsage(rawBytes: rawBytes ?? 0, quota: max(logQuotas.value.deviceTotalBytes, try quota(of: key)))
    }

    /// Sets the quota of an application's logs in an organization.
    /// - Parameters:
    ///   - bytes: of log text, at most the organization's quota; `nil` returns to the default.
    ///   - actor: for the audit trail.
    /// - Throws: `.notFound` if there is no such organization, `.invalid` above the organization's quota.
    package func setLogQuota(
        _ bytes: Int?, application: String, organization: String, by actor: AuditActor
    ) throws(StoreError) {
        let total = logQuotas.value.totalBytes
        guard bytes ?? 0 <= total else {
            throw StoreError(
                .invalid,
                "is more than the \(total) bytes of the whole organization. Raise --log-organization-bytes first.")
        }
        let now = clock.now()
        let isKnown = try transaction { () throws(StoreError) in
            guard try connection.hasRow("SELECT 1 FROM organization WHERE name = ?", organization) else { return false }
            let keys = [false, true].map {
                UsageKey(organization: organization, application: application, test: $0)
            }
            let former = try keys.map { (key) throws(StoreError) in try usage(of: key) }
            if let bytes {
                try connection.run(
                    """
                    INSERT INTO log_quota (organization, application, bytes) VALUES (?, ?, ?)
                    ON CONFLICT (organization, application) DO UPDATE SET bytes = excluded.bytes
                    """, organization, application, bytes)
            } else {
                try connection.run(
                    "DELETE FROM log_quota WHERE organization = ? AND application = ?", organization, application)
            }
            for (key, former) in zip(keys, former) {
                try report(LogUsage.change(from: former, to: try usage(of: key)), .application, key, at: now)
            }
            try audit.append(
                AuditEntry(
                    .logQuotaChange, by: actor, organization: organization, subject: application,
                    detail: ["bytes": bytes.map { "\($0)" } ?? "default", "former": "\(former[0].quota)"]), at: now)
            return true
        }
        guard isKnown else { throw StoreError(.notFound, "there is no such organization.") }
    }

    /// Quotas that differ from the default, by application.
    package nonisolated func logQuotas(of organization: String) async throws(StoreError) -> [LogQuotaRow] {
        try await readers.read { connection throws(StoreError) in
            try connection.rows(
                "SELECT application, bytes FROM log_quota WHERE organization = ? ORDER BY application", organization
            ) { row in LogQuotaRow(application: row.string(0), bytes: row.int(1)) }
        }
    }

    /// The usage of all applications of its organization.
    func totalUsage(of key: UsageKey) throws(StoreError) -> LogUsage {
        let rawBytes = try connection.first(
            "SELECT CAST(coalesce(sum(raw_bytes), 0) AS bigint) FROM log_usage WHERE organization = ? AND test = ?",
            key.organization, key.test
        ) { $0.int(0) }
        return LogUsage(rawBytes: rawBytes ?? 0, quota: logQuotas.value.totalBytes)
    }

    /// Counts bytes of a device's log text that came or went. Call it inside a transaction.
    func count(_ device: DeviceID, rawBytes: Int) throws(StoreError) {
        try connection.run(
            """
            INSERT INTO device_log_usage (device, raw_bytes) VALUES (?, ?)
            ON CONFLICT (device) DO UPDATE SET raw_bytes = device_log_usage.raw_bytes + excluded.raw_bytes
            """, device.data, rawBytes)
        try connection.run("DELETE FROM device_log_usage WHERE device = ? AND raw_bytes <= 0", device.data)
    }

    /// Counts chunks that came or went, and raises and ends the resulting notices. Call it inside a transaction.
    func count(_ key: UsageKey, chunks: Int, rawBytes: Int, at now: Int64) throws(StoreError) {
        let (former, formerTotal) = (try usage(of: key), try totalUsage(of: key))
        try connection.run(
            """
            INSERT INTO log_usage (organization, application, test, chunks, raw_bytes) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (organization, application, test) DO UPDATE
            SET chunks = log_usage.chunks + excluded.chunks, raw_bytes = log_usage.raw_bytes + excluded.raw_bytes
            """, key.organization, key.application, key.test, chunks, rawBytes)
        let (present, presentTotal) = (try usage(of: key), try totalUsage(of: key))
        try report(LogUsage.change(from: former, to: present), .application, key, at: now)
        try report(LogUsage.change(from: formerTotal, to: presentTotal), .organization, key, at: now)
    }

    private func report(
        _ change: LogUsage.Change, _ owner: LogQuotaOwner, _ key: UsageKey, at now: Int64
    ) throws(StoreError) {
        let subject = key.subject(owner)
        // Nobody is notified of the logs of test devices. Earlier notices of them end.
        for code in key.test ? [] : change.raised {
            try raise(code, key.organization, subject, change.present, at: now)
        }
        for code in change.ended {
            try notices.end(code, organization: key.organization, subject: subject, at: now)
        }
    }

    func raise(
        _ code: NoticeRow.Code, _ organization: String, _ subject: String, _ usage: LogUsage, at now: Int64
    ) throws(StoreError) {
        let remedy =
            code == .logQuotaReached
            ? "Further chunks are refused and stay on their devices. Delete logs, or purge old ones."
            : "Delete logs, or purge old ones."
        try notices.raise(
            code, organization: organization, subject: subject,
            detail: "Logs of \(subject) take \(usage.rawBytes) of \(usage.quota) bytes. \(remedy)", at: now)
    }
}

/// An application's own quota.
package struct LogQuotaRow: Equatable, Sendable {
    package var application: String
    package var bytes: Int
}

/// How much of a quota is used, and the resulting notices. Pure.
struct LogUsage: Equatable, Sendable {
    /// Bytes of text in all stored chunks.
    var rawBytes: Int
    let quota: Int

    /// The share in ten-thousandths, rounded down.
    var share: Int { quota > 0 ? Int((Double(rawBytes) / Double(quota) * 10_000).rounded(.down)) : 10_000 }

    var isHigh: Bool { share >= 7500 }
    var isReached: Bool { rawBytes >= quota }

    /// Notices that begin and end with a change.
    struct Change {
        var present: LogUsage
        var raised: [NoticeRow.Code] = []
        var ended: [NoticeRow.Code] = []
    }

    /// - Parameters:
    ///   - former: before the usage or the quota changed; `present` after it.
    static func change(from former: LogUsage, to present: LogUsage) -> Change {
        var change = Change(present: present)
        if present.isHigh, !former.isHigh { change.raised.append(.logQuotaHigh) }
        if present.isReached, !former.isReached { change.raised.append(.logQuotaReached) }
        if !present.isHigh { change.ended.append(.logQuotaHigh) }
        // A refusal also raises it below the limit, because the next chunk did not fit. It ends when there is less, or
        // more is allowed, than before.
        if !present.isReached, present.rawBytes < former.rawBytes || present.quota > former.quota {
            change.ended.append(.logQuotaReached)
        }
        return change
    }
}

/// Counts the application names in use. A name is in use while an upload of it is open or a chunk of it is stored.
extension MetadataService {
    private static let noticeSubject = "names of applications"

    /// Why a device may not begin an upload for an application; `nil` if it may. Call it inside a transaction.
    func refusal(
        ofApplication application: String, from device: DeviceRow, at now: Int64
    ) throws(StoreError) -> UploadError? {
        let isInUse = try connection.hasRow(
            """
            SELECT 1 FROM upload WHERE device = ?1 AND phase = \(UploadPhase.open.rawValue) AND application = ?2
            UNION ALL SELECT 1 FROM chunk WHERE device = ?1 AND fate = \(ChunkFate.stored.rawValue) \
            AND application = ?2 LIMIT 1
            """, device.id.data, application)
        if isInUse { return nil }
        let ofDevice = try names(
            """
            SELECT application FROM upload WHERE device = ?1 AND phase = \(UploadPhase.open.rawValue)
            UNION SELECT application FROM chunk WHERE device = ?1 AND fate = \(ChunkFate.stored.rawValue)
            """, device.id.data)
        guard ofDevice.count < logQuotas.value.applicationsPerDevice else {
            return .tooManyApplications(ofDevice: true, limit: logQuotas.value.applicationsPerDevice)
        }
        let ofOrganization = try names(
            """
            SELECT application FROM upload WHERE organization = ?1 AND phase = \(UploadPhase.open.rawValue)
            UNION SELECT application FROM log_usage WHERE organization = ?1 AND chunks > 0
            """, device.organization)
        if ofOrganization.contains(application) { return nil }
        let limit = logQuotas.value.applicationsPerOrganization
        guard ofOrganization.count < limit else {
            try notices.raise(
                .logQuotaReached, organization: device.organization, subject: Self.noticeSubject,
                detail:
                    """
                    Devices send logs under \(CountText.of(ofOrganization.count, "application name")); the limit is \
                    \(limit). Uploads under other names are refused and stay on their devices. Delete logs, or raise \
                    --log-applications.
                    """,
                at: now)
            return .tooManyApplications(ofDevice: false, limit: limit)
        }
        // Names without any logs are remembered until others come. Devices choose names, so they must not accumulate.
        try connection.run(
            "DELETE FROM log_usage WHERE organization = ? AND chunks <= 0 AND raw_bytes <= 0", device.organization)
        try notices.end(.logQuotaReached, organization: device.organization, subject: Self.noticeSubject, at: now)
        return nil
    }

    private func names(_ sql: String, _ value: any RegistryBindable) throws(StoreError) -> Set<String> {
        Set(try connection.rows(sql, value) { $0.string(0) })
    }
}
