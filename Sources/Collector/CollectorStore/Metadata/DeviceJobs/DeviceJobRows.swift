import FoundationEssentials
import WireModel

/// Jobs over many devices as rows of `collector.sqlite`.
extension DeviceJobRow {
    private static let columns = """
        row, id, organization, action, flag, command, expires, filter, actor, token, role, created, ended, ended_because, state,
        devices, done, refused
        """

    static func one(_ row: Int64, in connection: any RegistrySession) throws(StoreError) -> DeviceJobRow? {
        try connection.first("SELECT \(columns) FROM device_job WHERE row = ?", row) { job throws(StoreError) in
            try DeviceJobRow(job, path: connection.name)
        }
    }

    /// - Parameter organization: `nil` for any.
    static func one(
        _ id: DeviceJobID, organization: String?, in connection: any RegistrySession
    ) throws(StoreError) -> DeviceJobRow? {
        try connection.first(
            "SELECT \(columns) FROM device_job WHERE id = ?1 AND (?2 IS NULL OR organization = ?2) AND state <> \(State.removed.rawValue)",
            id.data, organization
        ) { job throws(StoreError) in try DeviceJobRow(job, path: connection.name) }
    }

    /// The job that a token began with a key.
    static func former(
        token: String?, key: String, in connection: any RegistrySession
    ) throws(StoreError) -> (job: DeviceJobRow, requestHash: Data)? {
        try connection.first(
            "SELECT \(columns), request_hash FROM device_job WHERE token = ? AND idempotency_key = ?", token, key
        ) { job throws(StoreError) in (try DeviceJobRow(job, path: connection.name), job.data(18)) }
    }

    /// Newest first.
    static func page(
        organization: String?, below row: Int64?, limit: Int, in connection: any RegistrySession
    ) throws(StoreError) -> [DeviceJobRow] {
        try connection.rows(
            """
            SELECT \(columns) FROM device_job WHERE \(organization == nil ? "?1 IS NULL" : "organization = ?1")
            AND (?2 IS NULL OR row < ?2)
            AND state <> \(State.removed.rawValue) ORDER BY row DESC LIMIT ?3
            """, organization, row, limit
        ) { job throws(StoreError) in try DeviceJobRow(job, path: connection.name) }
    }

    /// Writes a job that is being prepared.
    static func insert(
        _ new: NewDeviceJob, requestHash: Data, at now: Int64, into connection: any RegistrySession
    ) throws(StoreError) -> Int64 {
        var (command, expires): (Data?, Int64?) = (nil, nil)
        if case .command(let action, let until) = new.action { (command, expires) = (action.bytes, until) }
        let row = try connection.first(
            """
            INSERT INTO device_job (id, organization, action, flag, command, expires, filter, actor, token, role, created, state, devices,
            idempotency_key, request_hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) RETURNING row
            """, DeviceJobID.random().data, new.organization, new.action.kind.rawValue, new.action.flag, command,
            expires, new.filter, new.actor.name, new.actor.token, (new.actor.role?.rawValue).map(Int64.init), now,
            State.preparing.rawValue, new.selection.devices.count, new.idempotencyKey, requestHash
        ) { $0.int64(0) }
        return row ?? 0
    }

    /// Ends all jobs that have not ended, because the collector was restored from a backup: they may have ended since.
    static func endAll(
        in connection: any RegistrySession, because reason: String, at now: Int64
    ) throws(StoreError) {
        try connection.run(
            "UPDATE device_job SET state = ?, ended = ?, ended_because = ? WHERE ended IS NULL AND state <> ?",
            State.cancelled.rawValue, now, reason, State.removed.rawValue)
    }

    private init(_ job: RegistryRow, path: String) throws(StoreError) {
        guard let id = DeviceJobID(job.data(1)), let kind = DeviceJobAction.Kind(rawValue: job.string(3)),
            let action = DeviceJobAction(kind, flag: job.bool(4), command: job.data(5), expires: job.int64(6)),
            let state = State(rawValue: job.int(14))
        else {
            throw StoreError(.corrupt, "\(path): a job over devices cannot be read.")
        }
        self.init(
            row: job.int64(0), id: id, organization: job.optionalString(2), action: action,
            filter: job.optionalString(7),
            actor: AuditActor(
                name: job.string(8), token: job.optionalString(9), role: PersonRole(rawValue: job.int(10)),
                job: id.description),
            created: job.int64(11), ended: job.optionalInt64(12), endReason: job.optionalString(13), state: state,
            devices: job.int(15), done: job.int(16), refused: job.int(17))
    }
}

extension DeviceJobAction {
    fileprivate init?(_ kind: Kind, flag: Bool, command: Data, expires: Int64) {
        switch kind {
        case .command:
            guard let action = try? WireCommand.decode(command).action else { return nil }
            self = .command(action, expires: expires)
        case .revoke: self = .revoke(closingToken: flag)
        case .reinstate: self = .reinstate
        case .doNotDisturb: self = .doNotDisturb(flag)
        case .delete: self = .delete
        }
    }
}

extension DeviceJobResult {
    /// Ascending by device.
    static func page(
        job: Int64, outcome: Outcome?, after device: DeviceID?, limit: Int, in connection: any RegistrySession
    ) throws(StoreError) -> [DeviceJobResult] {
        try connection.rows(
            """
            SELECT device_job_device.device, name, outcome, code, detail, command, at FROM device_job_device
            LEFT JOIN device ON device.id = device_job_device.device
            WHERE job = ?1 AND device_job_device.device > ?2 AND (?3 IS NULL OR outcome = ?3)
            ORDER BY device_job_device.device LIMIT ?4
            """, job, device?.data ?? Data(), outcome?.rawValue, limit
        ) { row -> DeviceJobResult? in
            guard let device = DeviceID(row.data(0)), let outcome = Outcome(rawValue: row.int(2)) else { return nil }
            return DeviceJobResult(
                device: device, name: row.optionalString(1), outcome: outcome, code: row.optionalString(3),
                detail: row.optionalString(4), command: row.optionalData(5).flatMap { CommandID($0) },
                at: row.optionalInt64(6))
        }
    }
}
