import Logging
import RecordStore
import TelemetryBasics
import WireModel

/// Raises, ends, lists and counts notices, and returns those that `NoticeCourier` has not yet delivered to the webhook.
///
/// Code with a transaction of its own on `collector.sqlite` raises notices in it, with `NoticeTable`. All other code
/// raises them here, in a transaction of the metadata service's writer. A notice that cannot be written is logged:
/// nothing else depends on it.
package struct NoticeService: Sendable {
    private let metadata: MetadataService
    private let incidents = IncidentBuffer()

    private var logger: Logger { metadata.logger }

    package init(metadata: MetadataService) { self.metadata = metadata }

    // MARK: Raising and ending

    /// - Parameter organization: whose it is; empty: the collector's own, for its administrators alone.
    /// - Returns: whether it was written, like `end`, `settle` and `follow`. Who raises a notice only once records it
    ///   as reported after that alone, and otherwise tries again.
    @discardableResult
    package func raise(
        _ code: NoticeRow.Code, organization: String = "", subject: String, detail: String
    ) async -> Bool {
        await write { table, now throws(StoreError) in
            try table.raise(code, organization: organization, subject: subject, detail: detail, at: now)
        }
    }

    /// Ends a notice. Does nothing if there is none.
    @discardableResult
    package func end(_ code: NoticeRow.Code, organization: String = "", subject: String) async -> Bool {
        await write { table, now throws(StoreError) in
            try table.end(code, organization: organization, subject: subject, at: now)
        }
    }

    /// Makes the collector's open notices of a code exactly these. Each subject is raised only once ever, with its
    /// detail. Notices of other subjects end.
    @discardableResult
    package func settle(_ code: NoticeRow.Code, _ present: [String: String]) async -> Bool {
        await write { table, now throws(StoreError) in try table.settle(code, present, at: now) }
    }

    /// Makes the collector's open notices of a code exactly these. Unlike `settle`, it raises a notice again if it had
    /// ended or its detail changed, unless `told` has it already.
    /// - Parameter told: the notices of the previous call; `nil` for none.
    @discardableResult
    package func follow(_ code: NoticeRow.Code, _ present: [String: String], reported: [String: String]?) async -> Bool
    {
        await write { table, now throws(StoreError) in
            let same = present.filter { reported?[$0.key] == $0.value }
            if reported == nil {
                try table.endOthers(code, than: Set(present.keys), at: now)
            } else {
                for subject in (reported ?? [:]).keys where same[subject] == nil {
                    try table.end(code, organization: "", subject: subject, at: now)
                }
            }
            for (subject, detail) in present.sorted(by: { $0.key < $1.key }) where same[subject] == nil {
                try table.raise(code, organization: "", subject: subject, detail: detail, at: now)
            }
        }
    }

    /// Returns at once; it is written at the next `flush`.
    package func record(_ incident: DeviceIncident, count: UInt64 = 1) {
        incidents.record(incident, count: count)
    }

    /// Writes the incidents that were recorded, each for the organization of its device; a conflict is in the audit
    /// trail, too.
    package func flush() async {
        let (counts, leftOut) = incidents.drain()
        if leftOut > 0 {
            logger.warning("incidents of devices left out of the notices ", metadata: ["count": "\(leftOut)"])
        }
        guard !counts.isEmpty else { return }
        do throws(StoreError) { try await metadata.write(counts) } catch {
            logFailure(error)
            for (incident, count) in counts { incidents.record(incident, count: count) }
        }
    }

    /// Begins and ends the notices of silent devices as `SilencePlan` says.
    /// - Parameters:
    ///   - silent: all that are now.
    ///   - isSettled: whether the collector has listened for long enough to say so.
    package func report(_ silent: [SilentDevice], isSettled: Bool) async {
        let devices = Dictionary(grouping: silent, by: \.organization)
        await write { table, now throws(StoreError) in
            let reported = try table.silenceReported(at: now)
            for organization in Set(devices.keys).union(reported.keys) {
                let found = Dictionary((devices[organization] ?? []).map { ($0.id, $0) }) { first, _ in first }
                let former = reported[organization] ?? SilencePlan.Reported()
                let plan = SilencePlan.of(silent: Set(found.keys), reported: former, isSettled: isSettled)
                for id in plan.end {
                    try table.end(.deviceSilent, organization: organization, subject: id.description, at: now)
                }
                for id in plan.begin {
                    try table.raise(
                        .deviceSilent, organization: organization, subject: id.description,
                        detail: found[id]?.detail ?? "", again: SilencePlan.dayMicroseconds, at: now)
                }
                switch plan.many {
                case .unchanged: break
                case .end: try table.end(.devicesSilent, organization: organization, subject: Self.manyDevices, at: now)
                case .report(let count):
                    let detail = SilencePlan.detail(ofMany: count)
                    guard detail != former.many else { continue }
                    try table.raise(
                        .devicesSilent, organization: organization, subject: Self.manyDevices, detail: detail,
                        again: SilencePlan.manyAgainMicroseconds, at: now)
                }
            }
        }
    }

    private static let manyDevices = "devices"

    /// Brings the notices about quotas of records up to date: after a new day, or after a change of the quotas.
    package func followRecordQuotas() async {
        let quotas = metadata.recordUsage.quotas
        await write { table, now throws(StoreError) in try table.followRecordQuotas(quotas, at: now) }
    }

    // MARK: Listing

    /// Newest first.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - subject: the application, device, stream or directory concerned; `nil` for any.
    ///   - id: those below it; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    package func page(
        organization: String?, _ filter: NoticeFilter = NoticeFilter(), below id: Int64?, limit: Int
    ) async throws(StoreError) -> ListPage<NoticeRow, Int64> {
        // An upload that has just expired has its notice.
        await metadata.ageBeforeReading()
        await metadata.writeRecordUsage()
        let now = now()
        return try await metadata.readers.read { connection throws(StoreError) in
            try NoticeTable(connection: connection).page(
                organization: organization, filter, below: id, limit: limit, at: now)
        }
    }

    /// How many notices are open and not muted.
    /// - Parameter organization: `nil` for all.
    package func openCount(organization: String?) async throws(StoreError) -> Int {
        let now = now()
        return try await metadata.readers.read { connection throws(StoreError) in
            try NoticeTable(connection: connection).openCount(organization: organization, at: now)
        }
    }

    /// Mutes a notice and all others of its code, organization and subject.
    /// - Parameters:
    ///   - organization: whose notices are meant; `nil` for all.
    ///   - until: when the mute is over; `nil`: never.
    /// - Returns: the notice as it is then.
    /// - Throws: `.notFound`; `.conflict` if the organization has muted as many as it may.
    package func mute(
        _ id: Int64, organization: String?, until: Int64?, by actor: AuditActor
    ) async throws(StoreError) -> NoticeRow {
        try await metadata.change(id, organization: organization, until: until, isMuted: true, by: actor)
    }

    /// Ends the mute of a notice and of all others of its code, organization and subject. Does nothing if there is
    /// none.
    /// - Returns: the notice as it is then.
    /// - Throws: `.notFound`.
    package func unmute(
        _ id: Int64, organization: String?, by actor: AuditActor
    ) async throws(StoreError) -> NoticeRow {
        try await metadata.change(id, organization: organization, until: nil, isMuted: false, by: actor)
    }

    package func counts() async throws(StoreError) -> NoticeCounts {
        try await metadata.readers.read { connection throws(StoreError) in
            try NoticeTable(connection: connection).counts()
        }
    }

    // MARK: Handing on

    /// Undelivered notices, oldest first. The first call ever returns the open ones and those raised since `time`.
    func unposted(since time: Int64, limit: Int) async throws(StoreError) -> [NoticeNews] {
        try await metadata.withNotices { table, now throws(StoreError) in
            if try !table.hasReceiver() { try table.beginPosting(since: time) }
            return try table.unposted(limit: limit, at: now)
        }
    }

    func recordPosted(_ news: NoticeNews) async throws(StoreError) {
        try await metadata.withNotices { table, _ throws(StoreError) in try table.recordPosted(news) }
    }

    package func now() -> Int64 { metadata.clock.now() }

    @discardableResult
    private func write(_ body: @Sendable (NoticeTable, _ now: Int64) throws(StoreError) -> Void) async -> Bool {
        do throws(StoreError) { try await metadata.withNotices(body) } catch {
            logFailure(error)
            return false
        }
        return true
    }

    private func logFailure(_ error: StoreError) {
        logger.error("a notice could not be written", metadata: ["store.error": "\(error)"])
    }
}

extension MetadataService {
    /// One transaction on the notices.
    fileprivate func withNotices<Value: Sendable>(
        _ body: @Sendable (NoticeTable, _ now: Int64) throws(StoreError) -> Value
    ) throws(StoreError) -> Value {
        let now = clock.now()
        return try transaction { () throws(StoreError) in try body(notices, now) }
    }

    /// Mutes or unmutes, with an entry in the audit trail.
    fileprivate func change(
        _ id: Int64, organization: String?, until: Int64?, isMuted: Bool, by actor: AuditActor
    ) throws(StoreError) -> NoticeRow {
        let now = clock.now()
        let result = try transaction { () throws(StoreError) -> Result<NoticeRow, StoreError> in
            guard let notice = try notices.notice(id, organization: organization, at: now) else {
                return .failure(StoreError(.notFound, "There is no such notice, or you do not see it."))
            }
            if !isMuted, notice.muted == nil { return .success(notice) }
            var changed = notice
            var detail = ["code": notice.code.rawValue]
            if isMuted {
                let mute = NoticeMute(by: actor.name, at: now, until: until)
                guard try notices.mute(notice, mute) else {
                    return .failure(
                        StoreError(
                            .conflict,
                            "\(NoticeMute.maximum) notices of this organization are muted. Unmute some first."))
                }
                changed.muted = mute
                detail["until"] = until.map(Timestamp.text)
            } else {
                try notices.unmute(notice)
                changed.muted = nil
            }
            let entry = AuditEntry(
                isMuted ? .noticeMute : .noticeUnmute, by: actor, organization: notice.organization,
                subject: notice.subject, detail: detail)
            try audit.append(entry, at: now)
            return .success(changed)
        }
        return try result.get()
    }

    /// Raises the notices of incidents, each for the organization of its device; a conflict is in the audit trail, too.
    fileprivate func write(_ incidents: [DeviceIncident: UInt64]) throws(StoreError) {
        let now = clock.now()
        try transaction { () throws(StoreError) in
            for (incident, count) in incidents {
                let found = try connection.first(
                    "SELECT organization, test FROM device WHERE id = ?", incident.device.data
                ) { (organization: $0.string(0), isTest: $0.bool(1)) }
                guard let (organization, isTest) = found else { continue }
                if incident.kind == .identityConflict {
                    try report(
                        .deviceConflict, of: incident.device, organization: organization,
                        ["stream": "\(incident.stream)", "count": "\(count)"], outcome: .refused, at: now)
                }
                // Records that the collector lost are its own failing, whatever device they are of.
                guard !isTest || incident.kind == .recordsLost else { continue }
                try notices.raise(
                    incident.code, organization: organization, subject: incident.device.description, adding: count,
                    of: incident.stream, at: now, detail: incident.detail)
            }
        }
    }
}
