import FoundationEssentials
import SQLite
import WireModel

/// What administrators do with devices.
extension RegistryDatabase {
    /// - Parameters:
    ///   - organization: of which it must be; `nil` for any.
    ///   - closesToken: whether the token that it enrolled with is revoked, too.
    func revoke(
        _ id: DeviceID, organization: String?, closesToken: Bool, by actor: AuditActor
    ) throws(AdministrationError) -> DeviceRevocation {
        writeSeen()
        let now = clock.now()
        let revocation: DeviceRevocation = try change { () throws(SQLiteError) in
            guard var device = try row(of: id, organization: organization) else { return .failure(.noDevice) }
            var token: TokenRow?
            if let enrolled = device.enrollmentToken { token = try TokenRow.one(enrolled, in: connection) }
            if closesToken {
                guard let known = token else { return .failure(.noEnrollmentToken) }
                try close(known, by: actor, at: now)
                token?.revoked = known.revoked ?? now
            }
            guard device.revoked == nil else { return .success(DeviceRevocation(device: device, token: token)) }
            device.revoked = now
            try connection.run("UPDATE device SET revoked = ? WHERE id = ?", now, id.data)
            var detail = ["name": device.name]
            if let enrolled = device.enrollmentToken { detail["enrollmentToken"] = enrolled }
            try audit.append(
                AuditEntry(
                    .deviceRevoke, by: actor, organization: device.organization, subject: id.description, detail: detail
                ), at: now)
            return .success(DeviceRevocation(device: device, token: token))
        }
        cache.remove(id)
        commands.forget(id)
        index?.insert(revocation.device)
        return revocation
    }

    /// - Parameter organization: of which it must be; `nil` for any.
    func reinstate(
        _ id: DeviceID, organization: String?, by actor: AuditActor
    ) throws(AdministrationError) -> DeviceRow {
        writeSeen()
        let now = clock.now()
        let device: DeviceRow = try change { () throws(SQLiteError) in
            guard var device = try row(of: id, organization: organization) else { return .failure(.noDevice) }
            guard device.revoked != nil else { return .success(device) }
            device.revoked = nil
            try connection.run("UPDATE device SET revoked = NULL WHERE id = ?", id.data)
            try endCommands(
                of: id, at: now, because: "The device was revoked and reinstated; the command was of the time before.")
            try audit.append(
                AuditEntry(
                    .deviceReinstate, by: actor, organization: device.organization, subject: id.description,
                    detail: ["name": device.name]),
                at: now)
            return .success(device)
        }
        // Those that a start took over while the device was revoked.
        commands.forget(id)
        index?.insert(device)
        return device
    }

    /// - Parameter enrollment: the one that was to be deleted; another is left alone.
    func delete(
        _ id: DeviceID, enrollment: Data, organization: String?, by actor: AuditActor
    ) throws(AdministrationError) {
        writeSeen()
        let now = clock.now()
        try change { () throws(SQLiteError) -> Result<Void, AdministrationError> in
            guard let device = try row(of: id, organization: organization), device.enrollmentID == enrollment else {
                return .failure(.noDevice)
            }
            try connection.run(
                """
                INSERT OR REPLACE INTO deleted_device (id, organization, credential_hash, next_credential_hash, deleted)
                SELECT id, organization, credential_hash, next_credential_hash, ? FROM device WHERE id = ?
                """, now, id.data)
            for table in ["device_state", "command", "enrollment_request", "device_certificate"] {
                try connection.run("DELETE FROM \(table) WHERE device = ?", id.data)
            }
            try connection.run("DELETE FROM device WHERE id = ?", id.data)
            try forgetDeletedDevices(at: now)
            try audit.append(
                AuditEntry(
                    .deviceDelete, by: actor, organization: device.organization, subject: id.description,
                    detail: ["name": device.name]),
                at: now)
            return .success(())
        }
        cache.remove(id)
        commands.forget(id)
        index?.remove(id)
    }

    /// What remains of a deleted device keeps it from coming back under its id. It may go when nothing is left that its
    /// return could show or take up: 400 days after, when every record file of before its deletion has been removed,
    /// and its uploads with their logs. Whoever has its credential then is a stranger like any other: refused, and with
    /// an enrollment token a new device. Marks stay in the baseline for good, so even under its old id nothing would be
    /// stored twice.
    private func forgetDeletedDevices(at now: Int64) throws(SQLiteError) {
        try connection.run(
            """
            DELETE FROM deleted_device WHERE deleted <= ?1 AND NOT EXISTS (SELECT 1 FROM upload WHERE device = deleted_device.id)
            AND NOT EXISTS (SELECT 1 FROM record_file WHERE day <= deleted_device.deleted / 86400000000 AND NOT EXISTS (
            SELECT 1 FROM removed_partition WHERE removed_partition.day = record_file.day AND removed_partition.stream = record_file.stream))
            """, now - AuditTable.keptMicroseconds)
    }

    /// - Parameter predecessor: of the same organization, deleted or not; `nil` takes the word back.
    func setPredecessor(
        _ predecessor: DeviceID?, of id: DeviceID, organization: String?, by actor: AuditActor
    ) throws(AdministrationError) -> DeviceRow {
        writeSeen()
        let now = clock.now()
        let device: DeviceRow = try change { () throws(SQLiteError) in
            guard var device = try row(of: id, organization: organization) else { return .failure(.noDevice) }
            if let predecessor {
                guard try self.organization(ofDevice: predecessor) == device.organization else {
                    return .failure(
                        .notFound("The predecessor is no device of the organization, and none that was deleted."))
                }
                guard try !predecessors(of: predecessor).contains(id), predecessor != id else {
                    return .failure(.forbidden("A device cannot come before itself."))
                }
            }
            guard device.predecessor != predecessor else { return .success(device) }
            device.predecessor = predecessor
            try connection.run("UPDATE device SET predecessor = ? WHERE id = ?", predecessor?.data, id.data)
            try audit.append(
                AuditEntry(
                    .devicePredecessor, by: actor, organization: device.organization, subject: id.description,
                    detail: ["predecessor": predecessor?.description ?? ""]),
                at: now)
            return .success(device)
        }
        index?.insert(device)
        return device
    }

    func lineage(of device: DeviceRow) throws(StoreError) -> DeviceLineage {
        try read { () throws(SQLiteError) in
            var lineage = DeviceLineage(predecessors: try predecessors(of: device.id))
            guard !device.machineHash.isEmpty else { return lineage }
            lineage.possibleSuccessors = try connection.rows(
                """
                SELECT id FROM device WHERE organization = ?1 AND machine_hash = ?2 AND application = ?3 AND id <> ?4 AND created >= ?5
                AND predecessor IS NULL ORDER BY created, id LIMIT \(DeviceLineage.maximum)
                """, device.organization, device.machineHash, device.application, device.id.data, device.created
            ) { DeviceID($0.data(0)) }
            return lineage
        }
    }

    /// From the nearest on.
    private func predecessors(of id: DeviceID) throws(SQLiteError) -> [DeviceID] {
        let sql = "SELECT predecessor FROM device WHERE id = ? AND predecessor IS NOT NULL"
        var found: [DeviceID] = []
        while found.count < DeviceLineage.maximum {
            let former = try connection.first(sql, (found.last ?? id).data) { DeviceID($0.data(0)) }
            guard let former else { break }
            found.append(former)
        }
        return found
    }

    /// Also of a deleted one.
    func organization(ofDevice id: DeviceID) throws(SQLiteError) -> String? {
        try connection.first(
            "SELECT organization FROM device WHERE id = ?1 UNION ALL SELECT organization FROM deleted_device WHERE id = ?1",
            id.data
        ) { $0.string(0) }
    }

    func profileAdoption(organization: String) throws(StoreError) -> [ProfileAdoption] {
        writeSeen()
        return try loadedIndex().adoption(organization: organization)
    }

    /// Whether a credential was a deleted device's.
    func isOfDeletedDevice(_ hash: Data) throws(StoreError) -> Bool {
        try read { () throws(SQLiteError) in
            try connection.hasRow(
                "SELECT 1 FROM deleted_device WHERE credential_hash = ?1 UNION ALL SELECT 1 FROM deleted_device WHERE next_credential_hash = ?1",
                hash)
        }
    }
}

extension AdministrationError {
    package static let noEnrollmentToken = AdministrationError.forbidden(
        "The token that the device enrolled with cannot be closed: it is not known any more, or the device enrolled before the collector "
            + "kept it. Nothing was changed. Revoke the device without closing the token, and revoke tokens by their ids."
    )

    package static let noDevice = AdministrationError.notFound("Your organization has no such device.")
}
