import FoundationEssentials
import Logging
import RecordStore
import WireModel

extension MetadataService {
    /// Why a device may send no records now; `nil` if it may. From memory.
    package nonisolated func recordRefusal(of device: DeviceRow, at now: Int64) -> RecordQuotaRefusal? {
        recordUsage.refusal(of: device.id, in: device.organization, at: now)
    }

    /// Why no device of an organization may send records now; `nil` if some may. From memory.
    package nonisolated func recordRefusal(ofOrganization name: String, at now: Int64) -> RecordQuotaRefusal? {
        recordUsage.refusal(of: nil, in: name, at: now)
    }

    /// Why a device may not name these epochs now; `nil` if it may. From memory.
    package nonisolated func epochRefusal(
        _ epochs: some Sequence<EpochID>, of device: DeviceRow, at now: Int64
    ) -> EpochRefusal? {
        recordUsage.refusal(ofEpochs: epochs, of: device.id, in: device.organization, at: now)
    }

    /// Counts what a device's stored parts count against its quotas. Returns at once.
    package nonisolated func recordStored(_ bytes: Int, of device: DeviceRow, at now: Int64) {
        guard bytes > 0, recordUsage.record(bytes, of: device.id, in: device.organization, at: now) else { return }
        // Not awaited on purpose: the answer to a device must not wait for it.
        Task { await writeRecordUsage() }
    }

    /// The quotas of records from now on.
    package nonisolated func setRecordQuotas(_ quotas: RecordQuotas) { recordUsage.quotas = quotas }

    /// Reads what was stored today. Call it before the service is used.
    nonisolated static func loadRecordUsage(
        _ usage: RecordUsage, from connection: any RegistrySession, at now: Int64
    ) throws(StoreError) {
        let today = UTCDay(microseconds: now)
        usage.begin(at: now)
        try connection.each(
            "SELECT organization, device, bytes FROM record_usage WHERE day = ?", Int64(today.number)
        ) { usage.learn($0.int(2), of: RecordOwner($0), day: today) }
    }

    /// Writes what is due, learns what other collectors wrote, and brings the notices up to date. After a failure the
    /// next call tries again.
    /// - Parameter all: also what can wait.
    func writeRecordUsage(all: Bool = false) {
        let unwritten = recordUsage.drain(all: all)
        guard !unwritten.isEmpty else { return }
        // Also if it is called on the way of housekeeping whose turn is over.
        HousekeepingTerm.$current.withValue(nil) {
            do throws(StoreError) { try write(unwritten) } catch {
                logger.warning("bytes of records not counted", metadata: ["store.error": "\(error)"])
                recordUsage.putBack(unwritten)
            }
        }
    }

    private func write(_ unwritten: [RecordUsage.Unwritten]) throws(StoreError) {
        let now = clock.now()
        let totals = try transaction { () throws(StoreError) -> [Int?] in
            let totals = try unwritten.map { (one) throws(StoreError) in
                try connection.first(
                    """
                    INSERT INTO record_usage (day, organization, device, bytes) VALUES (?, ?, ?, ?)
                    ON CONFLICT (day, organization, device) DO UPDATE SET bytes = record_usage.bytes + excluded.bytes
                    RETURNING bytes
                    """, Int64(one.day.number), one.owner.organization, one.owner.device?.data ?? Data(), one.bytes
                ) { $0.int(0) }
            }
            let today = Int64(UTCDay(microseconds: now).number)
            try connection.run("DELETE FROM record_usage WHERE day < ? OR day > ?", today - 1, today + 1)
            try notices.followRecordQuotas(recordUsage.quotas, at: now)
            return totals
        }
        for (one, total) in zip(unwritten, totals) {
            if let total { recordUsage.learn(total, of: one.owner, day: one.day) }
        }
    }
}

extension RecordOwner {
    /// Creates the owner from the first two columns, `organization` and `device`.
    init(_ row: RegistryRow) {
        self.init(organization: row.string(0), device: DeviceID(row.data(1)))
    }
}

extension NoticeTable {
    /// The most notices of one code that are raised for devices of an organization. They are those with the most bytes.
    private static let devicesReported = 50

    /// Makes the open notices about quotas of records what the day's usage and the quotas say. A new day ends all of
    /// them, a raised quota those that it concerns.
    package func followRecordQuotas(_ quotas: RecordQuotas, at now: Int64) throws(StoreError) {
        struct Key: Hashable {
            var code: NoticeRow.Code
            var owner: RecordOwner
        }
        let codes: [NoticeRow.Code] = [.recordQuotaHigh, .recordQuotaReached]
        var present: [(key: Key, detail: String)] = []
        let least = min(quotas.deviceBytes, quotas.bytes(of: RecordOwner(organization: "", device: nil)))
        try connection.each(
            """
            SELECT organization, device, bytes FROM record_usage WHERE day = ? AND bytes >= ?
            ORDER BY bytes DESC, organization, device
            """, Int64(UTCDay(microseconds: now).number), least - least / 4
        ) { row in
            let owner = RecordOwner(row)
            let share = QuotaShare(bytes: row.int(2), quota: quotas.bytes(of: owner))
            for code in codes where code == .recordQuotaHigh ? share.isHigh : share.isReached {
                present.append((Key(code: code, owner: owner), Self.detail(of: code, owner, share)))
            }
        }
        var open: Set<Key> = []
        var reported: [String: Int] = [:]
        let lasting = Set(present.map(\.key))
        for code in codes {
            let rows = try connection.rows(
                "SELECT organization, subject FROM notice WHERE code = ? AND ended IS NULL", code.rawValue
            ) { (organization: $0.string(0), subject: $0.string(1)) }
            for row in rows {
                let owner = RecordOwner(organization: row.organization, device: DeviceID(row.subject))
                guard lasting.contains(Key(code: code, owner: owner)) else {
                    try end(code, organization: row.organization, subject: row.subject, at: now)
                    continue
                }
                open.insert(Key(code: code, owner: owner))
                reported["\(code) \(row.organization)", default: 0] += 1
            }
        }
        for (key, detail) in present where !open.contains(key) {
            let organization = key.owner.organization
            if key.owner.device != nil {
                guard reported["\(key.code) \(organization)", default: 0] < Self.devicesReported else { continue }
                reported["\(key.code) \(organization)", default: 0] += 1
            }
            try raise(key.code, organization: organization, subject: key.owner.subject, detail: detail, at: now)
        }
    }

    private static func detail(of code: NoticeRow.Code, _ owner: RecordOwner, _ share: QuotaShare) -> String {
        let (whose, setting) =
            owner.device == nil
            ? ("Records of all devices", "--record-organization-bytes-per-day")
            : ("Records of this device", "--record-device-bytes-per-day")
        let consequence =
            code == .recordQuotaReached
            ? " Further ones are refused until tomorrow (UTC) and stay on their devices." : ""
        return "\(whose) took \(share.bytes) of \(share.quota) bytes today.\(consequence) "
            + "Look for what sends so much, or raise \(setting)."
    }
}
