import CollectorAPI
import FoundationEssentials
import RecordStore
import WireModel

/// Jobs over many devices as rows of `collector.sqlite`.
extension DeviceJobRow {
    private static let columns = """
        row, id, organization, action, flag, command, expires, filter, actor, token, role, created, ended, \
        ended_because, state,
        devices, done, refused
        """

    package static func one(_ row: Int64, in connection: any RegistrySession) throws(StoreError) -> DeviceJobRow? {
        try connection.first("SELECT \(columns) FROM device_job WHERE row = ?", row) { job throws(StoreError) in
            try DeviceJobRow(job, path: connection.name)
        }
    }

    /// - Parameter organization: `nil` for any.
    package static func one(
        _ id: DeviceJobID, organization: String?, in connection: any RegistrySession
    ) throws(StoreError) -> DeviceJobRow? {
        try connection.first(
            """
            SELECT \(columns) FROM device_job WHERE id = ?1 AND (?2 IS NULL OR organization = ?2) \
            AND state <> \(State.removed.rawValue)
            """,
            id.data, organization
        ) { job throws(StoreError) in try DeviceJobRow(job, path: connection.name) }
    }

    /// The job that a token began with a key.
    package static func former(
        token: String?, key: String, in connection: any RegistrySession
    ) throws(StoreError) -> (job: DeviceJobRow, requestHash: Data)? {
        try connection.first(
            "SELECT \(columns), request_hash FROM device_job WHERE token = ? AND idempotency_key = ?", token, key
        ) { job throws(StoreError) in
            (try DeviceJobRow(job, path: connection.name), try job.data("request_hash"))
        }
    }

    /// Newest first.
    package static func page(
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
    package static func insert(
        _ new: NewDeviceJob, requestHash: Data, at now: Int64, into connection: any RegistrySession
    ) throws(StoreError) -> Int64 {
        var (command, expires): (Data?, Int64?) = (nil, nil)
        if case .command(let action, let until) = new.action { (command, expires) = (action.bytes, until) }
        let row = try connection.first(
            """
            INSERT INTO device_job (id, organization, action, flag, command, expires, filter, actor, token, role, \
            created, state, devices,
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
        let row = try job.int64("row")
        guard let id = try DeviceJobID(job.data("id")),
            let kind = try DeviceJobAction.Kind(rawValue: job.string("action")),
            let action = try DeviceJobAction(
                kind, flag: job.bool("flag"), command: job.data("command"), expires: job.int64("expires")),
            let state = try State(rawValue: job.int("state"))
        else {
            throw StoreError(.corrupt, "\(path): a job over devices cannot be read.")
        }
        self.init(
            row: row, id: id, organization: try job.optionalString("organization"), action: action,
            filter: try job.optionalString("filter"),
            actor: AuditActor(
                name: try job.string("actor"), token: try job.optionalString("token"),
                role: try PersonRole(rawValue: job.int("role")), job: id.description),
            created: try job.int64("created"), ended: try job.optionalInt64("ended"),
            endReason: try job.optionalString("ended_because"), state: state, devices: try job.int("devices"),
            done: try job.int("done"), refused: try job.int("refused"))
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
    package static func page(
        job: Int64, outcome: Outcome?, after device: DeviceID?, limit: Int, in connection: any RegistrySession
    ) throws(StoreError) -> [DeviceJobResult] {
        try connection.rows(
            """
            SELECT device_job_device.device, name, outcome, code, detail, command, at FROM device_job_device
            LEFT JOIN device ON device.id = device_job_device.device
            WHERE job = ?1 AND device_job_device.device > ?2 AND (?3 IS NULL OR outcome = ?3)
            ORDER BY device_job_device.device LIMIT ?4
            """, job, device?.data ?? Data(), outcome?.rawValue, limit
        ) { row throws(StoreError) -> DeviceJobResult? in
            guard let device = try DeviceID(row.data("device")),
                let outcome = try Outcome(rawValue: row.int("outcome"))
            else { return nil }
            return DeviceJobResult(
                device: device, name: try row.optionalString("name"), outcome: outcome,
                code: try row.optionalString("code"), detail: try row.optionalString("detail"),
                command: try row.optionalData("command").flatMap { CommandID($0) }, at: try row.optionalInt64("at"))
        }
    }
}
