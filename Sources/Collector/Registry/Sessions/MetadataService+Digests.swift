import RecordStore
import WireModel

/// A part of a page that may change while somebody looks at it.
package enum LiveTopic: Hashable, Sendable {
    /// Enrollments, and what people change about devices.
    case devices
    case notices
    /// Actions on many devices.
    case jobs
    /// Log text of all devices.
    case logs
    case logsOf(DeviceID)
    case commandsOf(DeviceID)
}

extension MetadataService {
    /// A text that differs after each change of the topic. It costs one look-up in an index, whatever the number of
    /// devices, so it can be asked for every second.
    /// - Parameter organization: `nil` for all.
    package nonisolated func digest(
        of topic: LiveTopic, organization: String?
    ) async throws(StoreError) -> String {
        try await readers.read { connection throws(StoreError) in
            let (sql, values): (String, [any RegistryBindable]) =
                switch topic {
                // Each of those changes has an entry in the audit trail.
                case .devices where organization == nil: ("SELECT max(id), 0 FROM audit", [])
                case .devices:
                    ("SELECT max(id), 0 FROM audit WHERE organization = ?", [organization])
                case .notices:
                    (
                        """
                        SELECT max(id), count(*) FILTER (WHERE ended IS NULL) FROM notice
                        WHERE ?1 IS NULL OR organization = ?1
                        """, [organization]
                    )
                case .jobs:
                    // A new job has a new row. Each step of an unfinished one, and its end, changes the sum.
                    (
                        """
                        SELECT max(row), (SELECT CAST(sum(done + refused + state + 1) AS bigint) FROM device_job
                            WHERE state IN (\(DeviceJobRow.State.preparing.rawValue), \
                        \(DeviceJobRow.State.running.rawValue))
                            AND (?1 IS NULL OR organization = ?1))
                        FROM device_job WHERE \(organization == nil ? "?1 IS NULL" : "organization = ?1")
                        """, [organization]
                    )
                case .logs:
                    (
                        """
                        SELECT CAST(sum(raw_bytes) AS bigint), CAST(sum(chunks) AS bigint) FROM log_usage
                        WHERE ?1 IS NULL OR organization = ?1
                        """,
                        [organization]
                    )
                case .logsOf(let device):
                    (
                        "SELECT CAST(sum(raw_bytes) AS bigint), 0 FROM device_log_usage WHERE device = ?", [device.data]
                    )
                case .commandsOf(let device):
                    (
                        "SELECT max(coalesce(updated, created)), count(*) FROM command WHERE device = ?", [device.data]
                    )
                }
            var digest = ""
            try connection.query(sql, values, isKept: true) { row in
                digest = "\(row.int64(0)) \(row.int64(1))"
                return false
            }
            return digest
        }
    }
}
