import Crypto
import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

/// Jobs: actions on many devices, which are worked off one device after the other.
///
/// A job begins with the ids of its devices, which never change: what the filter finds later is of no account.
/// `MetadataService+DeviceJobWork.swift` works it off.
extension MetadataService {
    /// The most unfinished jobs of an organization, and of people of all organizations.
    static let unfinishedDeviceJobs = 16
    /// The most ended jobs that are kept of each of them, and their devices. The newest is kept however large it is.
    static let keptDeviceJobs = 1000
    static let keptDevicesOfJobs = 1_000_000
    static let keptDeviceJobMicroseconds: Int64 = 400 * CivilDate.microsecondsPerDay
    /// The newest are kept at any age, so that a clock that jumps forward does not remove all.
    static let keptDeviceJobsOfAnyAge = 20
    /// How many devices are written down or removed in one transaction, so that other changes do not wait for long.
    private static let devicesPerTransaction = 5_000

    // MARK: Selecting

    /// The devices that match a query, whatever its order, from memory and up to date.
    package nonisolated func selection(_ query: DeviceQuery) async throws(StoreError) -> DeviceSelection {
        await writeSeen()
        return try await search.selection(query, at: clock.now())
    }

    /// Those of the named devices that exist.
    /// - Parameter organization: `nil` for any; devices of others do not exist.
    package nonisolated func selection(
        of devices: Set<DeviceID>, organization: String?
    ) async throws(StoreError) -> DeviceSelection {
        try await search.selection(of: devices, organization: organization)
    }

    // MARK: Beginning

    /// Begins a job. When it returns, the job with its devices and the audit entry are on synced disk.
    /// - Returns: the job, and whether it is new. A repeated request with the same key returns the former job.
    package nonisolated func begin(
        _ new: NewDeviceJob
    ) async throws(DeviceJobError) -> (job: DeviceJobRow, isNew: Bool) {
        let reserved = try await reserve(new)
        guard reserved.isNew else { return reserved }
        let row = reserved.job.row
        do throws(StoreError) {
            let devices = new.selection.devices
            for start in stride(from: 0, to: devices.count, by: Self.devicesPerTransaction) {
                try await add(devices[start..<min(start + Self.devicesPerTransaction, devices.count)], to: row)
            }
            return (try await start(row), true)
        } catch {
            await discard(row)
            throw .store(error)
        }
    }

    /// The job that the same request has begun.
    /// - Throws: `.keyUsed` if the key was used for another one.
    package nonisolated func deviceJob(
        key: String, request: Data, of actor: AuditActor
    ) async throws(DeviceJobError) -> DeviceJobRow? {
        let former: (job: DeviceJobRow, requestHash: Data)?
        do throws(StoreError) {
            former = try await readers.read { connection throws(StoreError) in
                try DeviceJobRow.former(token: actor.token, key: key, in: connection)
            }
        } catch { throw .store(error) }
        guard let former else { return nil }
        guard former.requestHash == Data(SHA256.hash(data: request)) else { throw .keyUsed }
        return former.job
    }

    private func reserve(_ new: NewDeviceJob) throws(DeviceJobError) -> (job: DeviceJobRow, isNew: Bool) {
        let (now, hash) = (clock.now(), Data(SHA256.hash(data: new.request)))
        return try change { () throws(StoreError) -> Result<(job: DeviceJobRow, isNew: Bool), DeviceJobError> in
            if let key = new.idempotencyKey,
                let (job, former) = try DeviceJobRow.former(token: new.actor.token, key: key, in: connection)
            {
                return former == hash ? .success((job, false)) : .failure(.keyUsed)
            }
            let unfinished = try connection.first(
                """
                SELECT count(*) FROM device_job WHERE state IN (\(Self.unfinishedStates))
                AND \(new.organization == nil ? "organization IS NULL AND ?1 IS NULL" : "organization = ?1")
                """, new.organization
            ) { $0.int(0) }
            guard unfinished ?? 0 < Self.unfinishedDeviceJobs else {
                return .failure(.tooMany(limit: Self.unfinishedDeviceJobs))
            }
            let row = try DeviceJobRow.insert(new, requestHash: hash, at: now, into: connection)
            return .success((try known(row), true))
        }
    }

    private static let unfinishedStates = [DeviceJobRow.State.preparing, .running].map { "\($0.rawValue)" }.joined(
        separator: ", ")

    private func add(_ devices: ArraySlice<SelectedDevice>, to job: Int64) throws(StoreError) {
        try transaction { () throws(StoreError) in
            for device in devices {
                try connection.run(
                    "INSERT INTO device_job_device (job, device, enrolled) VALUES (?, ?, ?)", job, device.id.data,
                    device.enrolled)
            }
        }
    }

    private func start(_ row: Int64) throws(StoreError) -> DeviceJobRow {
        let now = clock.now()
        let job = try transaction { () throws(StoreError) in
            var job = try known(row)
            // It may have been cancelled meanwhile.
            guard job.state == .preparing else { return job }
            job.state = .running
            try connection.run(
                "UPDATE device_job SET state = ? WHERE row = ?", DeviceJobRow.State.running.rawValue, row)
            var detail = ["action": job.action.kind.rawValue, "devices": "\(job.devices)"]
            if case .command(let command, _) = job.action { detail["kind"] = command.kind }
            detail["filter"] = job.filter
            try report(job, by: job.actor, detail, outcome: .begun, at: now)
            recordChanged(.deviceJobs)
            return job
        }
        return job
    }

    /// Undoes what was prepared, after a failure. What a crash leaves is undone at the next start.
    private func discard(_ row: Int64) {
        _ = try? transaction { () throws(StoreError) in
            try connection.run("DELETE FROM device_job_device WHERE job = ?", row)
            try connection.run("DELETE FROM device_job WHERE row = ?", row)
        }
    }

    /// - Precondition: a collector has just opened the file, so nobody prepares a job.
    static func discardPreparedDeviceJobs(in connection: any RegistrySession) throws(StoreError) {
        let prepared = "SELECT row FROM device_job WHERE state = \(DeviceJobRow.State.preparing.rawValue)"
        guard try connection.hasRow(prepared) else { return }
        try connection.transaction { () throws(StoreError) in
            try connection.run("DELETE FROM device_job_device WHERE job IN (\(prepared))")
            try connection.run("DELETE FROM device_job WHERE row IN (\(prepared))")
        }
    }

    /// A job whose row was just written or found.
    package func known(_ row: Int64) throws(StoreError) -> DeviceJobRow {
        guard let job = try DeviceJobRow.one(row, in: connection) else {
            throw StoreError(.corrupt, "\(connection.name): job \(row) over devices is gone.")
        }
        return job
    }

    /// Writes an audit entry about the job itself.
    package func report(
        _ job: DeviceJobRow, by actor: AuditActor, _ detail: [String: String], outcome: AuditEntry.Outcome,
        at now: Int64
    ) throws(StoreError) {
        var actor = actor
        // Those of its devices have limits of their own; these two are a person's.
        actor.job = nil
        try audit.append(
            AuditEntry(
                .deviceJob, by: actor, organization: job.organization ?? "", subject: job.id.description,
                detail: detail, outcome: outcome), at: now)
    }

    // MARK: Asking and ending

    /// Jobs, newest first.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - row: jobs that began before this one; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    package nonisolated func deviceJobs(
        organization: String?, below row: Int64?, limit: Int
    ) async throws(StoreError) -> ListPage<DeviceJobRow, Int64> {
        try Self.check(limit: limit)
        let jobs = try await readers.read { connection throws(StoreError) in
            try DeviceJobRow.page(organization: organization, below: row, limit: limit + 1, in: connection)
        }
        return ListPage(jobs, limit: limit) { $0.row }
    }

    /// - Parameter organization: `nil` for any; a job of another organization is not found.
    package nonisolated func deviceJob(
        _ id: DeviceJobID, organization: String?
    ) async throws(StoreError) -> DeviceJobRow? {
        try await readers.read { connection throws(StoreError) in
            try DeviceJobRow.one(id, organization: organization, in: connection)
        }
    }

    /// Returns the outcome of a job for its devices, in the order of their ids.
    /// - Parameter outcome: `nil` for all.
    package nonisolated func results(
        of job: DeviceJobRow, outcome: DeviceJobResult.Outcome?, after device: DeviceID?, limit: Int
    ) async throws(StoreError) -> ListPage<DeviceJobResult, DeviceID> {
        try Self.check(limit: limit)
        let results = try await readers.read { connection throws(StoreError) in
            try DeviceJobResult.page(
                job: job.row, outcome: outcome, after: device, limit: limit + 1, in: connection)
        }
        return ListPage(results, limit: limit) { $0.device }
    }

    /// Ends a job before it comes to further devices. Does nothing to a job that has ended.
    /// - Returns: `nil` if there is no such job.
    package func cancelDeviceJob(
        _ id: DeviceJobID, organization: String?, by actor: AuditActor
    ) throws(StoreError) -> DeviceJobRow? {
        let now = clock.now()
        return try transaction { () throws(StoreError) -> DeviceJobRow? in
            guard var job = try DeviceJobRow.one(id, organization: organization, in: connection) else { return nil }
            guard job.ended == nil else { return job }
            (job.state, job.ended, job.endReason) = (.cancelled, now, "cancelled by \(actor.name)")
            try connection.run(
                "UPDATE device_job SET state = ?, ended = ?, ended_because = ? WHERE row = ?",
                DeviceJobRow.State.cancelled.rawValue, now, job.endReason, job.row)
            try report(job, by: actor, job.counts(because: "cancelled"), outcome: .failed, at: now)
            return job
        }
    }

    // MARK: Keeping

    /// Removes what is over the limits of ended jobs, a part at a time.
    /// - Returns: whether there is more to remove.
    package func removeOldDeviceJobs() throws(StoreError) -> Bool {
        let now = clock.now()
        return try transaction { () throws(StoreError) in
            let removed = DeviceJobRow.State.removed.rawValue
            try connection.run(
                """
                UPDATE device_job SET state = \(removed) WHERE row IN (SELECT row FROM (
                SELECT row, ended, row_number() OVER newest AS place, sum(devices) OVER newest AS sum FROM device_job
                WHERE state IN (\(DeviceJobRow.State.done.rawValue), \(DeviceJobRow.State.cancelled.rawValue))
                WINDOW newest AS (PARTITION BY organization ORDER BY row DESC)) AS ended_job
                WHERE place > ?1 OR (place > 1 AND sum > ?2) OR (place > ?3 AND ended <= ?4))
                """, Self.keptDeviceJobs, Self.keptDevicesOfJobs, Self.keptDeviceJobsOfAnyAge,
                now - Self.keptDeviceJobMicroseconds)
            let job = try connection.first("SELECT row FROM device_job WHERE state = \(removed) LIMIT 1") {
                $0.int64(0)
            }
            guard let job else { return false }
            let gone = try connection.run(
                """
                DELETE FROM device_job_device WHERE job = ?1
                AND device IN (SELECT device FROM device_job_device WHERE job = ?1 LIMIT ?2)
                """, job, Self.devicesPerTransaction)
            if gone < Self.devicesPerTransaction {
                try connection.run("DELETE FROM device_job WHERE row = ?", job)
            }
            return true
        }
    }
}

extension DeviceJobRow {
    /// The facts of the audit entry at its end.
    package func counts(because reason: String? = nil) -> [String: String] {
        var detail = [
            "action": action.kind.rawValue, "devices": "\(devices)", "done": "\(done)", "refused": "\(refused)",
        ]
        detail["because"] = reason
        return detail
    }
}
