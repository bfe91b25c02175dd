import Logging
import SQLite
import WireModel

/// Raises, ends and counts notices for those that have no transaction of their own to do it in.
///
/// A notice that cannot be written is logged: nothing else depends on it.
package actor NoticeService {
    private let connection: Connection
    private let table: NoticeTable
    private var auditLimit = DeviceAuditLimit()
    private let clock: any StoreClock
    private let logger: Logger
    private nonisolated let incidents = IncidentBuffer()
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.notices")

    package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// - Throws: what opening `collector.sqlite` says.
    package init(directory: String, clock: any StoreClock, logger: Logger) throws(StoreError) {
        connection = try CollectorDatabase.open(DataDirectory(path: directory))
        table = NoticeTable(connection: connection)
        self.clock = clock
        self.logger = logger
    }

    /// - Parameter organization: whose it is; empty: the collector's own, for its administrators alone.
    package func raise(_ code: NoticeRow.Code, organization: String = "", subject: String, detail: String) {
        write { () throws(SQLiteError) in
            try table.raise(code, organization: organization, subject: subject, detail: detail, at: clock.now())
        }
    }

    /// What a notice tells of is over; nothing happens where there is none.
    package func end(_ code: NoticeRow.Code, organization: String = "", subject: String) {
        write { () throws(SQLiteError) in
            try table.end(code, organization: organization, subject: subject, at: clock.now())
        }
    }

    /// What lasts of the collector's own notices of a code is from now on exactly this: each subject is raised once
    /// ever, with its detail, and those that are not there any more are over.
    package func settle(_ code: NoticeRow.Code, _ present: [String: String]) {
        write { () throws(SQLiteError) in try table.settle(code, organization: "", present, at: clock.now()) }
    }

    /// What lasts of the collector's own notices of a code is exactly this. Others than `settle`, each is raised anew
    /// where it was over, and where its detail is another; what was told already is not.
    /// - Parameter told: what this was called with before; `nil`: nothing yet.
    package func follow(_ code: NoticeRow.Code, _ present: [String: String], told: [String: String]?) {
        write { () throws(SQLiteError) in
            let now = clock.now()
            let same = present.filter { told?[$0.key] == $0.value }
            if told == nil {
                try table.endOthers(code, organization: "", than: Set(present.keys), at: now)
            } else {
                for subject in (told ?? [:]).keys where same[subject] == nil {
                    try table.end(code, organization: "", subject: subject, at: now)
                }
            }
            for (subject, detail) in present.sorted(by: { $0.key < $1.key }) where same[subject] == nil {
                try table.raise(code, organization: "", subject: subject, detail: detail, at: now)
            }
        }
    }

    /// Returns at once; it is written at the next `flush`.
    package nonisolated func note(_ incident: DeviceIncident, count: UInt64 = 1) {
        incidents.note(incident, count: count)
    }

    /// Writes the incidents that were noted, each for the organization of its device; a conflict is in the audit trail,
    /// too.
    package func flush() {
        let (counts, leftOut) = incidents.take()
        if leftOut > 0 {
            logger.warning("incidents of devices left out of the notices", metadata: ["count": "\(leftOut)"])
        }
        guard !counts.isEmpty else { return }
        let formerLimit = auditLimit
        let isWritten = write { () throws(SQLiteError) in
            for (incident, count) in counts {
                guard let organization = try organization(of: incident.device) else { continue }
                if incident.kind == .identityConflict { try tell(incident, count, organization: organization) }
                try table.raise(
                    incident.code, organization: organization, subject: incident.device.description, adding: count,
                    at: clock.now(), detail: incident.detail)
            }
        }
        if !isWritten { auditLimit = formerLimit }
    }

    private func tell(_ conflict: DeviceIncident, _ count: UInt64, organization: String) throws(SQLiteError) {
        let now = clock.now()
        guard let leftOut = auditLimit.admit(.deviceConflict, of: conflict.device, at: now) else { return }
        try AuditTable(connection: connection).append(
            .ofDevice(
                .deviceConflict, conflict.device, organization: organization,
                ["stream": "\(conflict.stream)", "count": "\(count)"], leftOut: leftOut, outcome: .refused), at: now)
    }

    /// Begins and ends the notices of silent devices as `SilencePlan` says.
    /// - Parameters:
    ///   - silent: all that are now.
    ///   - isSettled: whether the collector has listened for long enough to say so.
    func tell(_ silent: [SilentDevice], isSettled: Bool) {
        let now = clock.now()
        let devices = Dictionary(grouping: silent, by: \.organization)
        write { () throws(SQLiteError) in
            let told = try table.toldOfSilence(at: now)
            for organization in Set(devices.keys).union(told.keys) {
                let found = Dictionary((devices[organization] ?? []).map { ($0.id, $0) }) { first, _ in first }
                let former = told[organization] ?? SilencePlan.Told()
                let plan = SilencePlan.of(silent: Set(found.keys), told: former, isSettled: isSettled)
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
                case .tell(let count):
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

    package func counts() throws(StoreError) -> NoticeCounts {
        try StoreError.mapping { () throws(SQLiteError) in try table.counts() }
    }

    /// What was not handed on yet, oldest notice first. The first time ever that it is asked for, that is what lasts by
    /// then and what was raised since `time`.
    func unposted(since time: Int64, limit: Int) throws(StoreError) -> [NoticeNews] {
        try StoreError.mapping { () throws(SQLiteError) in
            if try !table.hasReceiver() {
                try connection.transaction(.immediate) { () throws(SQLiteError) in try table.beginPosting(since: time) }
            }
            return try table.unposted(limit: limit)
        }
    }

    func notePosted(_ news: NoticeNews) throws(StoreError) {
        try StoreError.mapping { () throws(SQLiteError) in
            try connection.transaction(.immediate) { () throws(SQLiteError) in try table.notePosted(news) }
        }
    }

    nonisolated func now() -> Int64 { clock.now() }

    private func organization(of device: DeviceID) throws(SQLiteError) -> String? {
        try connection.first("SELECT organization FROM device WHERE id = ?", device.data) { $0.string(0) }
    }

    /// - Returns: whether it is on disk.
    @discardableResult
    private func write(_ body: () throws(SQLiteError) -> Void) -> Bool {
        do {
            try connection.transaction(.immediate, body)
            return true
        } catch {
            logger.error("a notice could not be written", metadata: ["store.error": "\(error)"])
            return false
        }
    }
}
