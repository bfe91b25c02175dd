import FoundationEssentials
import RecordStore
import Synchronization
import WireModel

/// Works jobs over many devices off, a few devices in each transaction.
///
/// The action on a device and its result are one transaction. So a crash loses neither or both, and each device has the
/// action once.
extension MetadataService {
    /// Devices in one transaction. The writer serves others between two, which wait for some milliseconds at most.
    static let deviceJobBatch = 32

    /// The jobs that have devices to come to, oldest first.
    package func runningDeviceJobs() throws(StoreError) -> [Int64] {
        // Before the read, so that a job that begins meanwhile is not overlooked.
        guard hasDeviceJobs.exchange(false, ordering: .sequentiallyConsistent) else { return [] }
        var mayHaveMore = true
        defer { if mayHaveMore { hasDeviceJobs.store(true, ordering: .sequentiallyConsistent) } }
        let running = try read { () throws(StoreError) in
            try connection.rows(
                "SELECT row FROM device_job WHERE state = \(DeviceJobRow.State.running.rawValue) ORDER BY row"
            ) { $0.int64(0) }
        }
        mayHaveMore = !running.isEmpty
        return running
    }

    package enum DeviceJobStep: Equatable, Sendable {
        /// There are more devices.
        case goesOn
        /// All commands that may be open of an organization are open. It goes on when some have ended.
        case waits
        case ended(DeviceJobRow)
    }

    /// Does the next devices of a job.
    /// - Parameter explain: the problem with which the single action is refused.
    package func workOff(
        deviceJob row: Int64, explaining explain: @Sendable (DeviceJobRefusal) -> Problem
    ) throws(StoreError) -> DeviceJobStep {
        writeSeen()
        writeResults()
        let now = clock.now()
        var work = DeviceJobWork()
        let step = try transaction { () throws(StoreError) -> DeviceJobStep in
            var job = try known(row)
            guard job.state == .running else { return .ended(job) }
            let next = try connection.rows(
                """
                SELECT device, enrolled FROM device_job_device WHERE job = ?1 \
                AND outcome = \(DeviceJobResult.Outcome.waiting.rawValue)
                AND device > (SELECT position FROM device_job WHERE row = ?1) ORDER BY device LIMIT ?2
                """, row, Self.deviceJobBatch
            ) { device in DeviceID(device.data(0)).map { SelectedDevice(id: $0, enrolled: device.int64(1)) } }
            let devices = try next.prefix(roomForCommands(of: job, to: next, at: now))
            guard next.isEmpty || !devices.isEmpty else { return .waits }
            for device in devices {
                switch try perform(job, on: device, &work, at: now) {
                case .success(let command):
                    job.done += 1
                    try write(.done, of: device.id, job: row, command: command, at: now)
                case .failure(let refusal):
                    job.refused += 1
                    try write(.refused, of: device.id, job: row, problem: explain(refusal.reason), at: now)
                }
            }
            if job.action == .delete { try forgetDeletedDevices(at: now) }
            if devices.count == next.count, next.count < Self.deviceJobBatch {
                (job.state, job.ended) = (.done, now)
                try report(job, by: job.actor, job.counts(), outcome: .done, at: now)
            }
            try connection.run(
                """
                UPDATE device_job SET state = ?, ended = ?, done = ?, refused = ?, position = coalesce(?, position) \
                WHERE row = ?
                """, job.state.rawValue, job.ended, job.done, job.refused, devices.last?.id.data, row)
            return job.state == .running ? .goesOn : .ended(job)
        }
        for command in work.commands { give(command) }
        for device in work.ended { openCommands.forget(device) }
        return step
    }

    /// How many of the next devices there is room for, because each gets a command that counts for its organization.
    private func roomForCommands(
        of job: DeviceJobRow, to next: [SelectedDevice], at now: Int64
    ) throws(StoreError) -> Int {
        guard case .command(let action, let expires) = job.action, expires > now, action.places > 0
        else { return next.count }
        var room: [String: Int] = [:]
        for (number, device) in next.enumerated() {
            let found = try connection.first("SELECT organization FROM device WHERE id = ?", device.id.data) {
                $0.string(0)
            }
            guard let organization = found else { continue }
            let left =
                room[organization]
                ?? openCommands.room(below: OpenCommands.limitOfJobs, organization: organization, at: now)
            guard left > 0 else { return number }
            room[organization] = left - action.places
        }
        return next.count
    }

    /// The work in memory that follows once a transaction of a job is committed.
    private struct DeviceJobWork {
        var commands: [IssuedCommand] = []
        /// Nothing reaches them, or not in the enrollment that their commands are for.
        var ended: [DeviceID] = []
    }

    private struct Refused: Error {
        var reason: DeviceJobRefusal
    }

    /// - Returns: the command that was issued, if the job issues one.
    private func perform(
        _ job: DeviceJobRow, on device: SelectedDevice, _ work: inout DeviceJobWork, at now: Int64
    ) throws(StoreError) -> Result<Data?, Refused> {
        let (id, organization) = (device.id, job.organization)
        if job.action.isForOneEnrollment,
            let enrolled = try connection.first(
                "SELECT enrolled FROM device WHERE id = ?", id.data, row: { $0.int64(0) }),
            enrolled != device.enrolled
        {
            return .failure(Refused(reason: .enrolledAgain))
        }
        switch job.action {
        case .command(let action, let expires):
            guard expires > now else { return .failure(Refused(reason: .expired)) }
            let new = NewCommand(
                device: id, action: action, expires: expires, issuer: job.actor, idempotencyKey: nil, request: Data())
            let issued = try self.issued(new, organization: organization, uncommitted: work.commands.count, at: now)
            if case .success(let issued) = issued { work.commands.append(issued) }
            return issued.map(\.row.command.id).mapError { Refused(reason: .command($0)) }
        case .revoke(let closingToken):
            let revoked = try self.revoked(
                id, organization: organization, closingToken: closingToken, by: job.actor, at: now)
            if case .success = revoked { work.ended.append(id) }
            return revoked.map { _ in nil }.mapError { Refused(reason: .administration($0)) }
        case .reinstate:
            let reinstated = try self.reinstated(id, organization: organization, by: job.actor, at: now)
            if case .success(let reinstated) = reinstated, reinstated.isChanged { work.ended.append(id) }
            return reinstated.map { _ in nil }.mapError { Refused(reason: .administration($0)) }
        case .doNotDisturb(let isOn):
            let decided = try self.decided(
                isOn, device: id, organization: organization, by: .person(job.actor), at: now)
            return decided.map { _ in nil }.mapError { Refused(reason: .doNotDisturb($0)) }
        case .delete:
            guard let present = try DeviceRow.one(id, organization: organization, in: connection) else {
                return .failure(Refused(reason: .administration(.noDevice)))
            }
            try delete(present, by: job.actor, at: now)
            work.ended.append(id)
            return .success(nil)
        }
    }

    private func write(
        _ outcome: DeviceJobResult.Outcome, of device: DeviceID, job: Int64, command: Data? = nil,
        problem: Problem? = nil, at now: Int64
    ) throws(StoreError) {
        try connection.run(
            """
            UPDATE device_job_device SET outcome = ?, code = ?, detail = ?, command = ?, at = ? WHERE job = ? \
            AND device = ?
            """,
            outcome.rawValue, problem?.code, problem?.detail, command, now, job, device.data)
    }
}
