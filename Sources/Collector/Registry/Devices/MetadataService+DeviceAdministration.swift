import FoundationEssentials
import RecordStore
import WireModel

/// Actions of administrators on devices.
extension MetadataService {
    /// Refuses the device's credential until an administrator reinstates it. Its records stay. Revoking again changes
    /// nothing.
    ///
    /// The device's holder still has its enrollment token, which admits the same machine as a new device.
    /// - Parameters:
    ///   - organization: the device's; `nil` for any.
    ///   - closingToken: also revokes that token in the same transaction.
    /// - Throws: `.forbidden`, with nothing changed, if the token must be revoked and is not known.
    package func revokeDevice(
        _ id: DeviceID, organization: String?, closingToken: Bool = false, by actor: AuditActor
    ) throws(AdministrationError) -> DeviceRevocation {
        let revocation = try changeNow { now throws(StoreError) in
            try revoked(id, organization: organization, closingToken: closingToken, by: actor, at: now)
        }
        openCommands.forget(id)
        return revocation
    }

    /// Revokes a device. Call it inside a transaction, and let `openCommands` forget the device once that is
    /// committed.
    package func revoked(
        _ id: DeviceID, organization: String?, closingToken: Bool, by actor: AuditActor, at now: Int64
    ) throws(StoreError) -> Result<DeviceRevocation, AdministrationError> {
        guard var device = try DeviceRow.one(id, organization: organization, in: connection) else {
            return .failure(.noDevice)
        }
        var token: TokenRow?
        if let enrolled = device.enrollmentToken { token = try TokenRow.one(enrolled, in: connection) }
        if closingToken {
            guard let known = token else { return .failure(.noEnrollmentToken) }
            try close(known, by: actor, at: now)
            token?.revoked = known.revoked ?? now
        }
        guard device.revoked == nil else { return .success(DeviceRevocation(device: device, token: token)) }
        device.revoked = now
        try connection.run("UPDATE device SET revoked = ? WHERE id = ?", now, id.data)
        recordChanged(.device(id))
        // A reinstated device goes on in the same enrollment, and may have been wiped before.
        try withholdWipes(of: id, organization: device.organization, at: now)
        var detail = ["name": device.name]
        if let enrolled = device.enrollmentToken { detail["enrollmentToken"] = enrolled }
        try report(.deviceRevoke, device, by: actor, detail, at: now)
        return .success(DeviceRevocation(device: device, token: token))
    }

    /// Ends a revocation: the credential that was valid then is valid again. Nothing can have replaced it, because a
    /// revoked device can neither rotate nor enroll. The commands of that time have expired. Does nothing if the device
    /// is not revoked.
    /// - Parameter organization: the device's; `nil` for any.
    package func reinstateDevice(
        _ id: DeviceID, organization: String?, by actor: AuditActor
    ) throws(AdministrationError) -> DeviceRow {
        let (device, isChanged) = try changeNow { now throws(StoreError) in
            try reinstated(id, organization: organization, by: actor, at: now)
        }
        // Its commands are those that a start loaded while the device was revoked.
        if isChanged { openCommands.forget(id) }
        return device
    }

    /// Reinstates a device. Call it inside a transaction, and let `openCommands` forget the device once that is
    /// committed.
    func reinstated(
        _ id: DeviceID, organization: String?, by actor: AuditActor, at now: Int64
    ) throws(StoreError) -> Result<(device: DeviceRow, isChanged: Bool), AdministrationError> {
        guard var device = try DeviceRow.one(id, organization: organization, in: connection) else {
            return .failure(.noDevice)
        }
        guard device.revoked != nil else { return .success((device, false)) }
        device.revoked = nil
        try connection.run("UPDATE device SET revoked = NULL WHERE id = ?", id.data)
        recordChanged(.device(id))
        try endCommands(
            of: id, at: now, because: "The device was revoked and reinstated after the command was issued.")
        try report(.deviceReinstate, device, by: actor, ["name": device.name], at: now)
        return .success((device, true))
    }

    /// Removes the device from all lists, with its commands and state, and refuses its credential for good. Nobody sees
    /// its records any more; they and its logs are erased a little later (`devicesToErase`).
    /// - Parameter enrollment: the enrollment to delete. A device that enrolled again since is left alone
    ///   (`.notFound`).
    package func deleteDevice(
        _ id: DeviceID, enrollment: Data, organization: String?, by actor: AuditActor
    ) throws(AdministrationError) {
        try changeNow { now throws(StoreError) in
            let device = try DeviceRow.one(id, organization: organization, in: connection)
            guard let device, device.enrollmentID == enrollment else {
                return Result<Void, AdministrationError>.failure(.noDevice)
            }
            try delete(device, by: actor, at: now)
            try forgetDeletedDevices(at: now)
            return .success(())
        }
        openCommands.forget(id)
    }

    /// Call it inside a transaction, and let `openCommands` forget the device once that is committed.
    package func delete(_ device: DeviceRow, by actor: AuditActor, at now: Int64) throws(StoreError) {
        let id = device.id
        try connection.run(
            """
            INSERT INTO deleted_device (id, organization, credential_hash, next_credential_hash, deleted)
            SELECT id, organization, credential_hash, next_credential_hash, ? FROM device WHERE id = ?
            ON CONFLICT (id) DO UPDATE SET organization = excluded.organization, \
            credential_hash = excluded.credential_hash,
            next_credential_hash = excluded.next_credential_hash, deleted = excluded.deleted, erased = NULL
            """, now, id.data)
        try endIncidents(of: id, organization: device.organization, at: now)
        for table in ["device_state", "command", "enrollment_request", "device_certificate"] {
            try connection.run("DELETE FROM \(table) WHERE device = ?", id.data)
        }
        try connection.run("DELETE FROM device WHERE id = ?", id.data)
        recordChanged(.device(id))
        try report(.deviceDelete, device, by: actor, ["name": device.name], at: now)
    }

    /// - Parameter body: gets the time, in a transaction.
    private func changeNow<Value>(
        _ body: (Int64) throws(StoreError) -> Result<Value, AdministrationError>
    ) throws(AdministrationError) -> Value {
        writeSeen()
        let now = clock.now()
        return try change { () throws(StoreError) in try body(now) }
    }

    private func report(
        _ action: AuditEntry.Action, _ device: DeviceRow, by actor: AuditActor, _ detail: [String: String],
        at now: Int64
    ) throws(StoreError) {
        let (organization, subject) = (device.organization, device.id.description)
        try audit.append(
            AuditEntry(action, by: actor, organization: organization, subject: subject, detail: detail), at: now)
    }

    /// Forgets deleted devices. The row of a deleted device keeps it from returning under its id. The row may go after
    /// 400 days, if its records, its logs and their uploads are gone, because then its return could reveal nothing. Its
    /// credential is then unknown: it is refused, and with an enrollment token the device becomes a new one. Marks
    /// stay in the baseline for good, so nothing would be stored twice even under the old id.
    func forgetDeletedDevices(at now: Int64) throws(StoreError) {
        try connection.run(
            """
            DELETE FROM deleted_device WHERE deleted <= ?1 AND erased IS NOT NULL
            AND NOT EXISTS (SELECT 1 FROM upload WHERE device = deleted_device.id)
            """, now - AuditTable.keptMicroseconds)
    }

    /// Records that a device is another one that enrolled again. The other's logs are then shown with its own.
    /// - Parameter predecessor: of the same organization, deleted or not; `nil` removes the record.
    package func setPredecessor(
        _ predecessor: DeviceID?, of id: DeviceID, organization: String?, by actor: AuditActor
    ) throws(AdministrationError) -> DeviceRow {
        return try changeNow { now throws(StoreError) -> Result<DeviceRow, AdministrationError> in
            guard var device = try DeviceRow.one(id, organization: organization, in: connection) else {
                return .failure(.noDevice)
            }
            if let predecessor {
                guard try self.organization(ofDevice: predecessor) == device.organization else {
                    return .failure(
                        .notFound("The predecessor is not a device of the organization, present or deleted."))
                }
                guard try !DeviceLineage.predecessors(of: predecessor, in: connection).contains(id), predecessor != id
                else {
                    return .failure(.forbidden("A device cannot be its own predecessor."))
                }
            }
            guard device.predecessor != predecessor else { return .success(device) }
            device.predecessor = predecessor
            try connection.run("UPDATE device SET predecessor = ? WHERE id = ?", predecessor?.data, id.data)
            recordChanged(.device(id))
            let detail = ["predecessor": predecessor?.description ?? ""]
            try report(.devicePredecessor, device, by: actor, detail, at: now)
            return .success(device)
        }
    }

    /// Other devices that are, or may be, the same machine.
    package nonisolated func lineage(of device: DeviceRow) async throws(StoreError) -> DeviceLineage {
        try await readers.read { connection throws(StoreError) in
            var lineage = DeviceLineage(
                predecessors: try DeviceLineage.predecessors(of: device.id, in: connection),
                successors: try connection.rows(
                    "SELECT id FROM device WHERE predecessor = ? ORDER BY created, id LIMIT \(DeviceLineage.maximum)",
                    device.id.data
                ) { DeviceID($0.data(0)) })
            guard !device.machineHash.isEmpty else { return lineage }
            func others(_ condition: String) throws(StoreError) -> [DeviceID] {
                try connection.rows(
                    """
                    SELECT id FROM device WHERE organization = ?1 AND machine_hash = ?2 AND application = ?3 \
                    AND id <> ?4
                    AND \(condition) LIMIT \(DeviceLineage.maximum)
                    """, device.organization, device.machineHash, device.application, device.id.data, device.created
                ) { DeviceID($0.data(0)) }
            }
            lineage.possibleSuccessors = try others("created >= ?5 AND predecessor IS NULL ORDER BY created, id")
            if device.predecessor == nil {
                lineage.possiblePredecessors = try others("created <= ?5 ORDER BY created DESC, id")
            }
            return lineage
        }
    }

    /// Includes deleted devices.
    package func organization(ofDevice id: DeviceID) throws(StoreError) -> String? {
        try Self.organization(ofDevice: id, in: connection)
    }

    package static func organization(
        ofDevice id: DeviceID, in connection: any RegistrySession
    ) throws(StoreError) -> String? {
        try connection.first(
            """
            SELECT organization FROM device WHERE id = ?1 UNION ALL SELECT organization FROM deleted_device \
            WHERE id = ?1
            """,
            id.data
        ) { $0.string(0) }
    }

    /// Whether a credential belonged to a deleted device.
    func isOfDeletedDevice(_ hash: Data) throws(StoreError) -> Bool {
        try read { () throws(StoreError) in
            try connection.hasRow(
                """
                SELECT 1 FROM deleted_device WHERE credential_hash = ?1 UNION ALL SELECT 1 FROM deleted_device \
                WHERE next_credential_hash = ?1
                """,
                hash)
        }
    }
}

extension DeviceLineage {
    /// The nearest first.
    fileprivate static func predecessors(
        of id: DeviceID, in connection: any RegistrySession
    ) throws(StoreError) -> [DeviceID] {
        let sql = "SELECT predecessor FROM device WHERE id = ? AND predecessor IS NOT NULL"
        var found: [DeviceID] = []
        while found.count < maximum {
            let former = try connection.first(sql, (found.last ?? id).data) { DeviceID($0.data(0)) }
            guard let former else { break }
            found.append(former)
        }
        return found
    }
}

extension AdministrationError {
    package static let noEnrollmentToken = AdministrationError.forbidden(
        """
        The device's enrollment token cannot be closed: it is unknown, or the device enrolled before the collector \
        stored it. Nothing was changed. Revoke the device without closing the token, and revoke tokens by their ids.
        """
    )

    package static let noDevice = AdministrationError.notFound("Your organization has no such device.")
}
