import FoundationEssentials
import Logging
import RecordStore
import WireModel

extension MetadataService {
    /// The device of a credential, from memory except for the first time and without a lease. The device comes without
    /// beacon and identity.
    /// - Parameter admits: whether the device is admitted by what else it showed. If not, the new credential of a
    ///   rotation does not count as used, so the former one stays valid.
    package nonisolated func authenticateDevice(
        credential: String, admits: @Sendable (DeviceRow) -> Bool = { _ in true }
    ) async throws(StoreError) -> DeviceAuthentication {
        let hash = Secret.hash(of: credential)
        if let device = devicesByCredential[hash] { return .device(device) }
        return try await authenticate(hash: hash, admits: admits)
    }

    /// Looks a credential up on disk. The first use of a rotation's new credential ends the former one.
    private func authenticate(
        hash: Data, admits: @Sendable (DeviceRow) -> Bool
    ) throws(StoreError) -> DeviceAuthentication {
        let generation = devicesByCredential.generation
        let (device, isNext) = try read { () throws(StoreError) -> (DeviceRow?, Bool) in
            let found = try connection.first(
                """
                SELECT \(DeviceRow.columns), next_credential_hash = ?1 AS is_next FROM device
                WHERE credential_hash = ?1 OR next_credential_hash = ?1
                """, hash
            ) { row throws(StoreError) in
                (try DeviceRow(row, path: connection.name), try row.bool("is_next"))
            }
            guard let found else { return (nil, false) }
            var device = found.0
            device.certificates = try DeviceCertificate.all(of: device.id, in: connection)
            return (device, found.1)
        }
        guard let device else { return try isOfDeletedDevice(hash) ? .revoked : .unknown }
        guard device.revoked == nil else { return .revoked }
        guard device.left == nil else { return .left }
        if isNext {
            guard admits(device) else { return .device(device) }
            let isUsed = try transaction { () throws(StoreError) in
                recordChanged(.device(device.id))
                return try connection.run(
                    """
                    UPDATE device SET credential_hash = next_credential_hash, next_credential_hash = NULL
                    WHERE next_credential_hash = ? AND revoked IS NULL AND left_at IS NULL
                    """, hash) == 1
            }
            // If not, another collector has changed the device since it was read. It is then looked up again.
            return isUsed ? .device(device) : try authenticate(hash: hash, admits: admits)
        }
        devicesByCredential.insert(device, for: hash, readAt: generation)
        return .device(device)
    }

    /// Issues a new credential. The former one stays valid until the new one is first used.
    package func rotateCredential(device id: DeviceID) throws(StoreError) -> String {
        let now = clock.now()
        let issued = try transaction { () throws(StoreError) -> Secret? in
            guard let device = try DeviceRow.one(id, in: connection), device.revoked == nil, device.left == nil else {
                return nil
            }
            let issued = try ledger.issue(to: id, of: device.organization)
            try connection.run(
                "UPDATE device SET next_credential_hash = ?, credential_generation = ? WHERE id = ?",
                issued.secret.hash, issued.generation, id.data)
            try report(.deviceRotate, of: id, organization: device.organization, at: now)
            return issued.secret
        }
        guard let issued else { throw StoreError(.notFound, "device \(id) is not enrolled.") }
        return issued.text
    }

    /// The device is unenrolled: its credential is refused until it enrolls again with it. Its records stay.
    package func unenroll(device id: DeviceID) throws(StoreError) {
        let now = clock.now()
        let changed = try transaction { () throws(StoreError) in
            let changed = try connection.run(
                "UPDATE device SET left_at = coalesce(left_at, ?) WHERE id = ?", now, id.data)
            guard changed == 1, let organization = try organization(ofDevice: id) else { return false }
            recordChanged(.device(id))
            try endCertificates(of: id)
            try endIncidents(of: id, organization: organization, at: now)
            try report(.deviceUnenroll, of: id, organization: organization, at: now)
            return true
        }
        guard changed else { throw StoreError(.notFound, "device \(id) is unknown.") }
    }

    // MARK: Lists

    /// Devices in the order of their ids, with what was last seen of them.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - cursor: `next` of a former page.
    ///   - limit: 1 to 1,000.
    package nonisolated func devices(
        organization: String?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> DevicePage {
        try Self.check(limit: limit)
        let after = cursor.map { DeviceID($0) }
        if let after, after == nil { throw StoreError(.invalid, "the cursor is not one of this collector's.") }
        await writeSeen()
        var devices = try await readers.read { connection throws(StoreError) in
            try connection.rows(
                """
                \(DeviceRow.select) WHERE \(organization == nil ? "?1 IS NULL" : "organization = ?1") AND device.id > ?2
                ORDER BY device.id LIMIT ?3
                """, organization, after??.data ?? Data(), limit + 1
            ) { statement throws(StoreError) in try DeviceRow(withState: statement, path: connection.name) }
        }
        guard devices.count > limit else { return DevicePage(devices: devices, next: nil) }
        devices.removeLast()
        return DevicePage(devices: devices, next: devices.last?.id.description)
    }

    /// Matching devices in the requested order, from memory and up to date. A device that moves in the order between
    /// two pages may be listed twice or not at all.
    /// - Parameters:
    ///   - position: `next` of a former page with the same order.
    ///   - limit: 1 to 1,000.
    package nonisolated func devices(
        _ query: DeviceQuery, after position: DevicePosition?, limit: Int
    ) async throws(StoreError) -> DeviceList {
        try Self.check(limit: limit)
        await writeSeen()
        return try await search.page(query, after: position, limit: limit, at: clock.now())
    }

    /// All devices with their organizations, ascending by id, from memory and up to date.
    package nonisolated func deviceOwners() async throws(StoreError) -> [DeviceOwner] { try await search.owners() }

    /// How many devices have each value of what lists are filtered by, from memory and up to date.
    package nonisolated func deviceFacets(_ query: DeviceQuery) async throws(StoreError) -> DeviceFacets {
        await writeSeen()
        return try await search.facets(query, at: clock.now())
    }

    /// The number of an organization's devices that apply each profile revision: of those that enrolled and were
    /// neither unenrolled nor revoked.
    package nonisolated func profileAdoption(
        organization: String, withTest: Bool = false
    ) async throws(StoreError) -> [ProfileAdoption] {
        await writeSeen()
        return try await search.adoption(organization: organization, withTest: withTest)
    }

    /// - Parameter organization: `nil` for any; a device of another organization is not found.
    package nonisolated func device(_ id: DeviceID, organization: String?) async throws(StoreError) -> DeviceRow? {
        await writeSeen()
        return try await readers.read { connection throws(StoreError) in
            var device = try DeviceRow.one(id, organization: organization, in: connection)
            device?.certificates = try DeviceCertificate.all(of: id, in: connection)
            return device
        }
    }

    /// The most devices that one statement reads.
    private static let rowsPerStatement = 100

    /// The names of these devices. Deleted ones and those without a name are not in the answer.
    package nonisolated func names(of devices: Set<DeviceID>) async throws(StoreError) -> [DeviceID: String] {
        try await rows(of: devices).mapValues(\.newestName).filter { !$0.value.isEmpty }
    }

    /// These devices, with what their newest records report. Deleted ones are not in the answer.
    package nonisolated func rows(of devices: Set<DeviceID>) async throws(StoreError) -> [DeviceID: DeviceRow] {
        guard !devices.isEmpty else { return [:] }
        await writeSeen()
        let ids = devices.map(\.data)
        return try await readers.read { connection throws(StoreError) in
            var rows: [DeviceID: DeviceRow] = [:]
            for start in stride(from: 0, to: ids.count, by: Self.rowsPerStatement) {
                let some = Array(ids[start..<min(start + Self.rowsPerStatement, ids.count)])
                let places = Array(repeating: "?", count: some.count).joined(separator: ", ")
                // Full statements have one text, which is kept prepared. The rest has a text of its own.
                try connection.query(
                    "\(DeviceRow.select) WHERE device.id IN (\(places))", some,
                    isKept: some.count == Self.rowsPerStatement
                ) { row throws(StoreError) in
                    let device = try DeviceRow(withState: row, path: connection.name)
                    rows[device.id] = device
                    return true
                }
            }
            return rows
        }
    }

    /// The organizations of these devices, also of deleted ones. Devices that never were are not in the answer.
    package nonisolated func owners(of devices: Set<DeviceID>) async throws(StoreError) -> [DeviceID: String] {
        try await readers.read { connection throws(StoreError) in
            var owners: [DeviceID: String] = [:]
            for device in devices { owners[device] = try Self.organization(ofDevice: device, in: connection) }
            return owners
        }
    }

    /// The ids of all devices, ascending, including unenrolled ones.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - withTest: whether to include test devices.
    package nonisolated func deviceIDs(
        organization: String?, withTest: Bool
    ) async throws(StoreError) -> [DeviceID] {
        try await readers.read { connection throws(StoreError) in
            try connection.rows(
                "SELECT id FROM device WHERE (?1 IS NULL OR organization = ?1) AND (?2 <> 0 OR test = 0) ORDER BY id",
                organization, withTest
            ) { statement throws(StoreError) in
                guard let id = DeviceID(statement.data(0)) else {
                    throw StoreError(.corrupt, "\(connection.name): a device's id is not 16 bytes.")
                }
                return id
            }
        }
    }

    // MARK: What records say of devices

    /// Records what a device's newest records report. Returns at once. It is written every few seconds, and before it
    /// is read. It is derived data, so losing it loses nothing.
    package nonisolated func seen(_ device: DeviceID, _ sight: DeviceObservation) {
        if let time = sight.newestRecordTime { deviceClocks.record(device, newestRecord: time, at: sight.at) }
        let isDue = seen.record(device, sight)
        // Not awaited on purpose: storing records must not wait for data that can be rebuilt from them.
        if isDue { Task { await writeSeen() } }
    }

    /// Writes what waits to be written. A collector beside others calls it often, so that they do not learn of it late.
    package func flush() {
        writeSeen()
        writeResults()
    }

    /// Writes observations, and sessions that are held in memory. After a failure the next call tries again.
    func writeSeen() {
        writeHeldSessions()
        let entries = seen.drain(at: clock.now())
        guard !entries.isEmpty else { return }
        // Also if it is called on the way of housekeeping whose turn is over.
        HousekeepingTerm.$current.withValue(nil) {
            do throws(StoreError) { try derive(entries, resetting: []) } catch {
                logger.warning("device state not written", metadata: ["store.error": "\(error)"])
                seen.putBack(entries)
            }
        }
    }

    /// Writes what stored records report about devices, and what follows from the verdicts among it.
    /// - Parameters:
    ///   - resetting: devices whose last seen time becomes that of the entry, even if it is earlier.
    ///   - isNews: whether incidents begin and end with it. `false` while everything is derived again: earlier verdicts
    ///     are then read once more.
    package func derive(
        _ entries: [DeviceID: DeviceObservation], resetting: Set<DeviceID>, isNews: Bool = true
    ) throws(StoreError) {
        let now = clock.now()
        let wipes = try transaction { () throws(StoreError) -> [IssuedCommand] in
            for device in resetting {
                try connection.run(
                    """
                    UPDATE device_state SET last_seen = 0, verdicts_wall = NULL, verdicts_boot = NULL WHERE device = ?
                    """,
                    device.data)
                recordChanged(.observation(device))
            }
            var wipes: [IssuedCommand] = []
            for (device, sight) in entries {
                var reported = sight.verdicts
                if let verdicts = reported, let row = try DeviceRow.one(device, in: connection) {
                    if !verdicts.replaces(row.verdicts) {
                        reported = nil
                    } else if isNews, let wipe = try judge(verdicts, of: row, at: now) {
                        wipes.append(wipe)
                    }
                }
                try write(sight, verdicts: reported, of: device)
                recordChanged(.observation(device))
            }
            return wipes
        }
        for wipe in wipes { give(wipe) }
        for (device, sight) in entries { search.recordChange(device, sight) }
    }

    /// The columns of `device_state` that keep their value where newer records say nothing, as SQL.
    private static let newerOrFormer = [
        "beacon", "identity", "last_beacon", "expected_beacon_seconds", "profile_revision", "verdicts", "verdicts_at",
        "verdicts_wall", "verdicts_since_boot",
    ].map { "\($0) = coalesce(excluded.\($0), device_state.\($0))" }.joined(separator: ", ")

    private func write(
        _ sight: DeviceObservation, verdicts: DeviceVerdicts?, of device: DeviceID
    ) throws(StoreError) {
        try connection.run(
            """
            INSERT INTO device_state (device, last_seen, beacon, identity, last_beacon, expected_beacon_seconds, \
            push_token,
                profile_revision, verdicts, verdicts_at, verdicts_wall, verdicts_boot, verdicts_since_boot)
            SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?9, ?10, ?11, ?12, ?13, ?14 WHERE EXISTS (SELECT 1 FROM device \
            WHERE id = ?1)
            ON CONFLICT (device) DO UPDATE SET
            last_seen = CASE WHEN excluded.last_seen > device_state.last_seen THEN excluded.last_seen ELSE \
            device_state.last_seen END,
            \(Self.newerOrFormer), push_token = CASE WHEN ?8 <> 0 THEN excluded.push_token ELSE \
            device_state.push_token END,
            verdicts_boot = CASE WHEN ?12 IS NULL THEN device_state.verdicts_boot ELSE excluded.verdicts_boot END
            """, device.data, sight.at, sight.beacon?.encoded, sight.identity?.encoded,
            sight.beacon == nil ? nil : sight.beaconAt, sight.expectedBeaconSeconds.map { Int64($0) },
            sight.pushToken.token, sight.pushToken.isSaid, sight.profileRevision.map { Int64(clamping: $0) },
            verdicts?.beacon.encoded, verdicts?.at, verdicts?.made.wallTime, verdicts?.made.bootID?.data,
            verdicts.map { Int64(clamping: $0.made.timeSinceBoot) })
        try withholdName(sight, of: device)
        // 1 stays: the device enrolled as a test device. 2: its profile makes its data test data.
        guard let test = sight.test else { return }
        try connection.run(
            "UPDATE device SET test = ?2 WHERE id = ?1 AND test NOT IN (1, ?2)", device.data, test ? 2 : 0)
    }

    /// The profile withholds the name of the device, or a part of it: then the name that the device reported when it
    /// enrolled goes, too. A beacon that is reduced for another reason says nothing of that.
    private func withholdName(_ sight: DeviceObservation, of device: DeviceID) throws(StoreError) {
        guard let beacon = sight.beacon, beacon.profileRevision > 0, beacon.consent == .granted,
            !beacon.telemetryDisabled
        else { return }
        let changed = try connection.run(
            """
            UPDATE device SET name = ?2 WHERE id = ?1 AND name <> ?2
            AND (?2 = '' OR ?2 LIKE 'hash:%' OR name LIKE '%.' || ?2)
            """, device.data, beacon.deviceName.cut(toBytes: WireEnrollRequest.textBytes))
        if changed > 0 { recordChanged(.device(device)) }
    }

    /// The latest written time at which a device was seen; `nil` if none was.
    package nonisolated func newestSight() async throws(StoreError) -> Int64? {
        try await readers.read { connection throws(StoreError) in
            try connection.first("SELECT max(last_seen) FROM device_state") { $0.optionalInt64(0) }
        }
    }
}

/// The client certificates of devices.
extension MetadataService {
    /// The most certificates a device has not used yet. More lost answers in a row are unlikely.
    private static let unusedCertificates = 4

    /// Accepts a certificate issued to the device until a later one is used. The audit entry is written with it.
    /// - Parameter reason: `enrollment` or `renewal`.
    /// - Throws: `.notFound` for a device that is not, or no longer, enrolled.
    package func keepCertificate(
        _ certificate: DeviceCertificate, device id: DeviceID, reason: String
    ) throws(StoreError) {
        let kept = try transaction { () throws(StoreError) in
            guard let device = try DeviceRow.one(id, in: connection), device.revoked == nil, device.left == nil else {
                return false
            }
            try connection.run(
                "INSERT INTO device_certificate (device, fingerprint, serial, issued, expires) VALUES (?, ?, ?, ?, ?)",
                id.data, certificate.fingerprint, certificate.serial, certificate.issued, certificate.expires)
            try connection.run(
                """
                DELETE FROM device_certificate WHERE row IN (SELECT row FROM device_certificate WHERE device = ? \
                AND used IS NULL
                ORDER BY row DESC \(RegistryDialect.everyRow) OFFSET \(Self.unusedCertificates))
                """, id.data)
            try audit.append(
                AuditEntry(
                    .certificateIssue, by: .device(id), organization: device.organization, subject: id.description,
                    detail: ["serial": certificate.serial.hexadecimal, "for": reason]),
                at: certificate.issued)
            recordChanged(.device(id))
            return true
        }
        guard kept else { throw StoreError(.notFound, "device \(id) is not enrolled.") }
    }

    /// The device used a certificate for the first time. Those issued before it are refused from now on.
    package func recordCertificateUse(_ fingerprint: Data, device id: DeviceID) throws(StoreError) {
        let now = clock.now()
        try transaction { () throws(StoreError) in
            try connection.run(
                "UPDATE device_certificate SET used = ? WHERE device = ? AND fingerprint = ? AND used IS NULL", now,
                id.data, fingerprint)
            try connection.run(
                """
                DELETE FROM device_certificate WHERE device = ?1
                AND row < (SELECT row FROM device_certificate WHERE device = ?1 AND fingerprint = ?2)
                """, id.data, fingerprint)
            recordChanged(.device(id))
        }
    }

    /// Ends all certificates of a device. Call it inside a transaction.
    func endCertificates(of id: DeviceID) throws(StoreError) {
        try connection.run("DELETE FROM device_certificate WHERE device = ?", id.data)
    }
}

extension MetadataService {
    /// Devices that are silent by their own schedule, without test devices and those unenrolled or revoked.
    package nonisolated func silentDevices() async throws(StoreError) -> [SilentDevice] {
        await writeSeen()
        let now = clock.now()
        return try await readers.read { connection throws(StoreError) in
            // This reads few rows of a fleet that reports; `ReportingState` decides. A device that is switched off has
            // said with its last beacon that it has no schedule.
            return try connection.rows(
                """
                SELECT id, organization, enrolled, last_beacon, expected_beacon_seconds FROM device JOIN device_state \
                ON device = id
                WHERE test = 0 AND revoked IS NULL AND left_at IS NULL AND expected_beacon_seconds > 0
                AND enrolled <= ?1 - expected_beacon_seconds * ?2
                AND coalesce(last_beacon, enrolled) <= ?1 - expected_beacon_seconds * ?2
                """, now, ReportingState.silentAfter * 1_000_000
            ) { row throws(StoreError) in
                guard let id = try DeviceID(row.data("id")) else { return nil }
                let organization = try row.string("organization")
                let (enrolled, beacon) = (try row.int64("enrolled"), try row.optionalInt64("last_beacon"))
                let seconds = UInt32(clamping: try row.int64("expected_beacon_seconds"))
                let state = ReportingState(
                    kind: .enrolled, hasLeft: false, isRevoked: false, isOff: false, expectedBeaconSeconds: seconds,
                    lastBeacon: beacon,
                    enrolled: enrolled, at: now)
                guard state == .silent else { return nil }
                return SilentDevice(
                    id: id, organization: organization,
                    silentSeconds: now.subtractingSaturating(max(beacon ?? .min, enrolled)) / 1_000_000,
                    expectedBeaconSeconds: seconds)
            }
        }
    }
}

extension DeviceCertificate {
    /// Returns all certificates in the order of issue.
    package static func all(of id: DeviceID, in connection: any RegistrySession) throws(StoreError)
        -> [DeviceCertificate]
    {
        try connection.rows(
            "SELECT fingerprint, serial, issued, expires, used FROM device_certificate WHERE device = ? ORDER BY row",
            id.data
        ) { row throws(StoreError) in
            DeviceCertificate(
                fingerprint: try row.data("fingerprint"), serial: try row.data("serial"),
                issued: try row.int64("issued"), expires: try row.int64("expires"),
                used: try row.optionalInt64("used"))
        }
    }
}
