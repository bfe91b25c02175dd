import Crypto
import FoundationEssentials
import Logging
import RecordStore
import WipeCertificates
import WireModel

extension MetadataService {
    /// The most commands of one device. The oldest that have ended go first.
    private static let keptCommands = 1000
    /// The most rows that a page over all devices reads.
    private static let readRows: Int64 = 10_000

    /// Issues a command to a device's present enrollment. On synced disk when it returns.
    /// - Parameter organization: `nil` for any; a device of another organization is not found.
    /// - Returns: the command, and whether it is new. A repeated request with the same key returns the former command.
    package func issue(
        _ new: NewCommand, organization: String?
    ) throws(IssueError) -> (row: CommandRow, isNew: Bool) {
        let now = clock.now()
        writeResults()
        let issued = try change { () throws(StoreError) -> Result<IssuedCommand, IssueError> in
            try self.issued(new, organization: organization, at: now)
        }
        if issued.isNew { give(issued) }
        return (issued.row, issued.isNew)
    }

    /// Lets a device have a command that is committed.
    package nonisolated func give(_ issued: IssuedCommand) {
        _ = openCommands.add(issued.row.command, of: issued.row.device, organization: issued.organization)
        // The transaction has reported it, and a device that asked since then may have got no command.
        observers.notify(.changes([.commands(issued.row.device)]))
    }

    /// Issues a command. Call it inside a transaction, and `give` a new command once that is committed.
    /// - Parameter uncommitted: the commands that the same transaction has issued to other devices.
    func issued(
        _ new: NewCommand, organization: String?, uncommitted: Int = 0, at now: Int64
    ) throws(StoreError) -> Result<IssuedCommand, IssueError> {
        let requestHash = Data(SHA256.hash(data: new.request))
        guard let device = try enrollment(of: new.device, organization: organization) else {
            return .failure(.unknownDevice)
        }
        if let key = new.idempotencyKey, let (row, hash) = try former(new.device, key: key) {
            return hash == requestHash
                ? .success(IssuedCommand(row: row, organization: device.organization, isNew: false))
                : .failure(.keyUsed)
        }
        guard device.hasAgent else { return .failure(.deviceWithoutAgent) }
        guard device.isWelcome else { return .failure(.deviceLeft) }
        if case .cancel(let cancel) = new.action,
            try CommandRow.one(cancel.commandID, of: new.device, in: connection) == nil
        {
            return .failure(.unknownCommand)
        }
        let share = CommandShare(new.action)
        let hasRoom = try hasRoom(
            for: share, of: new.device, organization: device.organization, uncommitted: uncommitted, at: now)
        guard hasRoom else { return .failure(.tooMany(limit: share.limitPerDevice)) }
        let issued = try insert(
            new, organization: device.organization, enrollmentID: device.enrollmentID, requestHash: requestHash,
            at: now)
        return .success(issued)
    }

    /// Counts the device's open commands on disk, because another collector may have issued some. Call it inside a
    /// transaction.
    func hasRoom(
        for share: CommandShare, of device: DeviceID, organization: String, uncommitted: Int = 0, at now: Int64
    ) throws(StoreError) -> Bool {
        if share.countsForOrganization {
            let room = openCommands.room(below: OpenCommands.limit, organization: organization, at: now)
            guard room > uncommitted else { return false }
        }
        let open = try OpenCommands.read(of: device, from: connection, at: now)
        return open.count { $0.share == share } < share.limitPerDevice
    }

    /// Writes a command with its audit entry, and ends those that it makes pointless. Call it inside a transaction, and
    /// `give` the command once that is committed.
    /// - Parameter detail: further facts for the audit entry.
    package func insert(
        _ new: NewCommand, organization: String, enrollmentID: Data, requestHash: Data = Data(),
        _ detail: [String: String] = [:], at now: Int64
    ) throws(StoreError) -> IssuedCommand {
        var command = WireCommand()
        command.id = CommandID.random().data
        command.expires = new.expires
        command.enrollmentID = enrollmentID
        command.action = new.action
        let row = CommandRow(
            device: new.device, command: command, created: now, expires: new.expires, issuer: new.issuer.name,
            status: CommandStatus())
        if command.share == .wipes {
            let open = try OpenCommands.read(of: new.device, from: connection, at: now)
            for pointless in open where pointless.isEnded(by: command) {
                try end(pointless.id, of: new.device, because: "A wipe was issued after the command.", at: now)
            }
        }
        try insert(row, key: new.idempotencyKey, requestHash: requestHash)
        try removeOldest(of: new.device, at: now)
        recordChanged(.commands(new.device))
        let facts = ["command": row.id?.description ?? "", "kind": new.action.kind]
        try audit.append(
            AuditEntry(
                .commandIssue, by: new.issuer, organization: organization, subject: new.device.description,
                detail: facts.merging(detail) { $1 }),
            at: now)
        return IssuedCommand(row: row, organization: organization, isNew: true)
    }

    /// Ends a command at the collector: it is not sent to its device any more. A device that has it may carry it out
    /// all the same, and its result then replaces this end. On synced disk when it returns.
    /// - Returns: the command as it is now; one that has ended or expired is left alone. `nil` if the device has none.
    package func endCommand(
        _ id: CommandID, of device: DeviceRow, by actor: AuditActor
    ) throws(StoreError) -> CommandRow? {
        let now = clock.now()
        writeResults()
        let row = try transaction { () throws(StoreError) -> CommandRow? in
            guard let row = try CommandRow.one(id.data, of: device.id, in: connection) else { return nil }
            guard !CommandStatus.isFinal(row.state(at: now)) else { return row }
            try end(id.data, of: device.id, because: "It was ended at the collector by \(actor.name).", at: now)
            recordChanged(.commands(device.id))
            try audit.append(
                AuditEntry(
                    .commandEnd, by: actor, organization: device.organization, subject: device.id.description,
                    detail: ["command": "\(id)", "kind": row.command.action?.kind ?? "unknown"]),
                at: now)
            return try CommandRow.one(id.data, of: device.id, in: connection)
        }
        if row != nil { openCommands.end([id.data], of: device.id) }
        return row
    }

    private func end(_ id: Data, of device: DeviceID, because detail: String, at now: Int64) throws(StoreError) {
        try connection.run(
            "UPDATE command SET state = ?, detail = ?, updated = ? WHERE id = ? AND device = ?",
            WireCommandState.expired.rawValue, detail, now, id, device.data)
    }

    /// A device's commands, newest first.
    /// - Parameter limit: 1 to 1,000.
    package nonisolated func commands(
        of device: DeviceID, below position: CommandPosition?, limit: Int
    ) async throws(StoreError) -> ListPage<CommandRow, CommandPosition> {
        try Self.check(limit: limit)
        await writeResults()
        let rows = try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                SELECT \(CommandRow.columns) FROM command WHERE device = ?1 \
                AND (?2 IS NULL OR created < ?2 OR (created = ?2 AND id < ?3))
                ORDER BY created DESC, id DESC LIMIT ?4
                """, device.data, position?.created, position?.id.data, limit + 1
            ) { statement throws(StoreError) in try CommandRow(statement, path: connection.name) }
        }
        return ListPage(rows, limit: limit) { row in row.id.map { CommandPosition(created: row.created, id: $0) } }
    }

    /// Commands of all devices, newest issued first. A page reads a bounded number of rows, so it may have fewer
    /// commands than wanted and still a next page.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - kind: `nil` for all.
    ///   - row: where the page before ended.
    ///   - limit: 1 to 1,000.
    package nonisolated func commands(
        organization: String?, kind: String?, below row: Int64?, limit: Int
    ) async throws(StoreError) -> (rows: [CommandRow], next: Int64?) {
        try Self.check(limit: limit)
        await writeResults()
        return try await readers.read { connection throws(StoreError) in
            let newest = try connection.first("SELECT max(row) FROM command") { $0.int64(0) } ?? 0
            let end = min(row ?? newest + 1, newest + 1)
            let begin = max(end - Self.readRows, 1)
            var rows: [CommandRow] = []
            var next = begin > 1 ? begin : nil
            try connection.query(
                """
                SELECT \(CommandRow.columns), row FROM command WHERE row >= ?1 AND row < ?2
                AND (?3 IS NULL OR EXISTS (SELECT 1 FROM device WHERE device.id = command.device \
                AND device.organization = ?3))
                ORDER BY row DESC
                """, [begin, end, organization], isKept: true
            ) { row throws(StoreError) in
                let command = try CommandRow(row, path: connection.name)
                guard kind == nil || command.command.action?.kind == kind else { return true }
                rows.append(command)
                guard rows.count == limit else { return true }
                next = try row.int64("row")
                return false
            }
            return (rows, next)
        }
    }

    package nonisolated func command(
        _ id: CommandID, of device: DeviceID
    ) async throws(StoreError) -> CommandRow? {
        await writeResults()
        return try await readers.read { connection throws(StoreError) in
            try CommandRow.one(id.data, of: device, in: connection)
        }
    }

    // MARK: With every batch

    /// The commands a device receives with an answer, from memory: those of its present enrollment that have neither
    /// ended nor expired, oldest first. Without a lease there are none, and the device gets them with a later answer.
    package nonisolated func openCommands(of device: DeviceRow, at now: Int64) -> [WireCommand] {
        openCommands.commands(of: device.id, enrollmentID: device.enrollmentID, at: now)
    }

    /// Applies a device's reports about its commands, in its order. Ended commands are not sent to the device again.
    ///
    /// Returns when an end is written: the device removes its report with the answer, and a collector that is killed
    /// must not forget what it acknowledged. Other reports are written soon after, and before they are read.
    package nonisolated func recordResults(_ results: [WireCommandResult], of device: DeviceID, at now: Int64) async {
        let said = results.filter { $0.commandID.count == 16 }.map(\.bounded)
        guard !said.isEmpty else { return }
        let taken = self.results.record(ResultBuffer.Entry(device: device, at: now, results: said))
        if case .full = taken { return }
        let ended = Set(said.filter { CommandStatus.isFinal($0.state) }.map(\.commandID))
        openCommands.end(ended, of: device)
        if !ended.isEmpty {
            // Ends are rare, and those that come meanwhile share the next transaction.
            await writeResults()
        } else if case .keptFirst = taken {
            Task { await writeResults() }
        }
    }

    /// Writes devices' reports about commands. A failed write is ignored: a command whose end is not on disk is sent to
    /// its device again after a restart, and the device repeats its result.
    func writeResults() {
        let entries = results.drain()
        guard !entries.isEmpty else { return }
        // As in `writeSeen`.
        HousekeepingTerm.$current.withValue(nil) {
            do throws(StoreError) {
                try transaction { () throws(StoreError) in
                    for entry in entries {
                        for result in entry.results { try write(result, of: entry.device, at: entry.at) }
                    }
                }
            } catch {
                logger.warning("results of commands were not written", metadata: ["store.error": "\(error)"])
                results.putBack(entries)
            }
        }
    }

    private func write(_ result: WireCommandResult, of device: DeviceID, at time: Int64) throws(StoreError) {
        guard var row = try CommandRow.one(result.commandID, of: device, in: connection) else { return }
        let former = row.status
        row.status.apply(result)
        guard row.status != former else { return }
        // A state that is final is kept, so a certificate that arrived with it is never replaced.
        if row.status.state == .done { row.status.certificate = try certificate(in: result, of: row, at: time) }
        try connection.run(
            """
            UPDATE command SET state = ?, progress = ?, detail = ?, result = ?, certificate = ?, updated = ? \
            WHERE id = ?
            """, row.status.state.rawValue, Int(row.status.progress), row.status.detail,
            row.status.information?.encoded, try row.status.certificate.map(Self.stored), time, result.commandID)
        if CommandStatus.isFinal(row.status.state) { recordChanged(.commands(device)) }
    }

    /// Ends the commands that a device will never carry out.
    func endCommands(of device: DeviceID, at now: Int64, because detail: String) throws(StoreError) {
        try connection.run(
            """
            UPDATE command SET state = ?, detail = ?, updated = ? WHERE device = ? \
            AND state NOT IN \(CommandStatus.finalStates)
            """,
            WireCommandState.expired.rawValue, detail, now, device.data)
        recordChanged(.commands(device))
    }

    // MARK: Rows

    private func enrollment(
        of id: DeviceID, organization: String?
    ) throws(StoreError) -> (organization: String, enrollmentID: Data, isWelcome: Bool, hasAgent: Bool)? {
        try connection.first(
            """
            SELECT organization, enrollment_id, revoked IS NULL AND left_at IS NULL, kind FROM device
            WHERE id = ?1 AND (?2 IS NULL OR organization = ?2)
            """, id.data, organization
        ) { ($0.string(0), $0.data(1), $0.bool(2), $0.int(3) == DeviceRow.Kind.enrolled.rawValue) }
    }

    private func former(_ device: DeviceID, key: String) throws(StoreError) -> (CommandRow, requestHash: Data)? {
        try connection.first(
            "SELECT \(CommandRow.columns), request_hash FROM command WHERE device = ? AND idempotency_key = ?",
            device.data, key
        ) { row throws(StoreError) in (try CommandRow(row, path: connection.name), try row.data("request_hash")) }
    }

    private func insert(_ row: CommandRow, key: String?, requestHash: Data) throws(StoreError) {
        try connection.run(
            """
            INSERT INTO command (id, device, enrollment_id, bytes, created, expires, issuer, idempotency_key, \
            request_hash)
            VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)
            """, row.command.id, row.device.data, row.command.enrollmentID, row.command.encoded, row.created,
            row.expires, row.issuer,
            key, requestHash)
    }

    private func removeOldest(of device: DeviceID, at now: Int64) throws(StoreError) {
        try connection.run(
            """
            DELETE FROM command WHERE id IN
            (SELECT id FROM command WHERE device = ?1 ORDER BY created DESC, \
            id DESC \(RegistryDialect.everyRow) OFFSET ?2)
            AND (state IN \(CommandStatus.finalStates) OR expires <= ?3)
            """, device.data, Self.keptCommands, now)
    }
}

extension CommandRow {
    fileprivate static let columns =
        "device, bytes, created, expires, issuer, state, progress, detail, result, updated, certificate"

    fileprivate static func one(
        _ id: Data, of device: DeviceID, in connection: any RegistrySession
    ) throws(StoreError) -> CommandRow? {
        try connection.first(
            "SELECT \(columns) FROM command WHERE id = ? AND device = ?", id, device.data
        ) { statement throws(StoreError) in try CommandRow(statement, path: connection.name) }
    }

    /// - Parameter row: has `columns`.
    fileprivate init(_ row: RegistryRow, path: String) throws(StoreError) {
        let (device, bytes) = (try row.data("device"), try row.data("bytes"))
        guard let device = DeviceID(device), let command = try? WireCommand.decode(bytes) else {
            throw StoreError(.corrupt, "\(path): a command cannot be read.")
        }
        let (created, expires) = (try row.int64("created"), try row.int64("expires"))
        let issuer = try row.string("issuer")
        var status = CommandStatus()
        status.state = try WireCommandState(rawValue: row.int("state")) ?? .unspecified
        status.progress = UInt32(clamping: try row.int64("progress"))
        status.detail = try row.string("detail")
        status.information = try row.optionalData("result").flatMap { try? WireDeviceInformation.decode($0) }
        status.certificate = try row.optionalData("certificate").flatMap {
            try? WipeCertificateFile(bytes: $0)
        }
        self.init(
            device: device, command: command, created: created, expires: expires, issuer: issuer, status: status,
            updated: try row.optionalInt64("updated"))
    }
}
