import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

extension MetadataService {
    /// How long an enrollment may be repeated: 7 days.
    private static let repeatMicroseconds: Int64 = 7 * CivilDate.microsecondsPerDay

    /// Issues a credential to a device. The former credential stays valid until the new one is first used.
    ///
    /// A known id is kept if its credential is right. An unknown id is kept if its credential proves that this
    /// collector issued it in a time that a restore has lost (`DeviceCredential`). Any other unknown id is replaced by
    /// a new one.
    ///
    /// A request with the `request_id`, token and machine of one from the last seven days is a repeat. It returns the
    /// same device and enrollment with a new credential, and does not count against the token again.
    package func enroll(token: String, request: WireEnrollRequest) throws(EnrollError) -> EnrollResult {
        let request = request.bounded
        let now = clock.now()
        let result = try change { () throws(StoreError) -> Result<EnrollResult, EnrollError> in
            let (organization, refusal) = try Self.organization(ofEnrollmentToken: token, at: now, in: connection)
            if organization != nil || refusal == .tokenUsedUp,
                let result = try repeated(request, tokenHash: Secret.hash(of: token), at: now)
            {
                recordChanged(.device(result.deviceID))
                return .success(result)
            }
            guard let organization else { return .failure(refusal) }
            let enrolled = try enrollAnew(request, token: token, organization, at: now)
            if case .success(let result) = enrolled { recordChanged(.device(result.deviceID)) }
            return enrolled
        }
        openCommands.forget(result.deviceID, but: result.enrollmentID)
        return result
    }

    private func enrollAnew(
        _ request: WireEnrollRequest, token: String, _ organization: String, at now: Int64
    ) throws(StoreError) -> Result<EnrollResult, EnrollError> {
        let asked = DeviceID(request.deviceID)
        let known = try asked.map { id throws(StoreError) in try credentials(of: id) } ?? nil
        let enrollmentID = Identifier<Never>.random().data
        var id = asked ?? .random()
        let isKept: Bool
        let issued: Issue
        let tokenID = try self.tokenID(token)
        if let known {
            guard known.organization == organization, try isProved(known, of: id, by: request.previousCredential) else {
                try reportRefusal(.deviceConflict, id, of: known, organization, token: tokenID, at: now)
                return .failure(.deviceConflict)
            }
            if known.isRevoked {
                try reportRefusal(.deviceReenroll, id, of: known, organization, token: tokenID, at: now)
                return .failure(.deviceRevoked)
            }
            isKept = true
            issued = try ledger.issue(to: id, of: organization)
            try renew(id, request, enrollmentID: enrollmentID, issued, token: tokenID, at: now)
            // Commands belong to one enrollment, so the next enrollment ends them.
            try endCommands(
                of: id, at: now, because: "The device enrolled again after the command was issued.")
            // A device with a credential of a time that a restore has lost may have been wiped in that time.
            if known.isProved(by: request.previousCredential) {
                try endIncidents(of: id, organization: organization, at: now)
            } else {
                try withholdWipes(of: id, organization: organization, at: now)
            }
        } else if let asked, let deleted = try deletedCredentials(of: asked) {
            var isProved = deleted.isProved(by: request.previousCredential)
            if !isProved {
                isProved = try ledger.isIssued(request.previousCredential, to: id, of: deleted.organization)
            }
            try reportRefusal(
                isProved ? .deviceReenroll : .deviceConflict, id, of: deleted, organization, token: tokenID, at: now)
            return .failure(isProved ? .deviceRevoked : .deviceConflict)
        } else {
            // This collector does not know the id. If it was restored from a backup of before the device enrolled, the
            // device's records have that id and its credential proves it.
            if asked != nil {
                isKept = try ledger.isOfLostTime(request.previousCredential, to: id, of: organization, newest: 0)
            } else {
                isKept = false
            }
            if !isKept { id = .random() }
            issued = try ledger.issue(to: id, of: organization)
            try insert(id, organization, request, enrollmentID: enrollmentID, issued, token: tokenID, at: now)
            try connection.run("UPDATE token SET uses = uses + 1 WHERE hash = ?", Secret.hash(of: token))
            if isKept { try withholdWipes(of: id, organization: organization, at: now) }
            if !isKept { try reportPredecessor(of: id, request, organization, at: now) }
        }
        try report(
            known == nil ? .deviceEnroll : .deviceReenroll, of: id, organization: organization,
            ["enrollmentToken": tokenID, "name": request.deviceName], at: now)
        try keep(request, tokenHash: Secret.hash(of: token), device: id, at: now)
        return .success(
            try result(id, issued.secret, organization, application: request.application, enrollmentID, kept: isKept))
    }

    /// A machine enrolls while another device of the same machine and application is still enrolled. It has most likely
    /// lost its identity, because its directory was deleted or its disk replaced. If there are several such devices,
    /// they are copies of one image, and nothing is reported.
    private func reportPredecessor(
        of id: DeviceID, _ request: WireEnrollRequest, _ organization: String, at now: Int64
    ) throws(StoreError) {
        guard !request.machineHash.isEmpty, !request.test else { return }
        let formers = try connection.rows(
            """
            SELECT id, name FROM device AS former WHERE organization = ?1 AND machine_hash = ?2 AND application = ?3
            AND id <> ?4 AND left_at IS NULL AND revoked IS NULL
            AND NOT EXISTS (SELECT 1 FROM device WHERE predecessor = former.id) LIMIT 2
            """, organization, request.machineHash, request.application, id.data
        ) { (id: DeviceID($0.data(0)), name: $0.string(1)) }
        guard formers.count == 1, let former = formers[0].id else { return }
        let name = formers[0].name
        try notices.raise(
            .deviceReplaced, organization: organization, subject: id.description,
            detail:
                """
                This device was enrolled on the machine of device \(former)\(name.isEmpty ? "" : " (\(name))"), which \
                is still enrolled. The identity of that device was lost, or two agents run on one machine. If it is \
                the same device, declare it with POST /api/v1/devices/\(id)/predecessor {"device": "\(former)"}, \
                and revoke the old one.
                """,
            at: now)
    }

    /// Somebody with an enrollment token asked for a device's id and did not get it. Another organization's token is
    /// not named.
    private func reportRefusal(
        _ action: AuditEntry.Action, _ device: DeviceID, of known: KnownCredentials, _ organization: String,
        token: String, at now: Int64
    ) throws(StoreError) {
        var detail = ["reason": action == .deviceConflict ? "credential-not-proved" : "revoked"]
        if organization == known.organization { detail["enrollmentToken"] = token }
        try report(action, of: device, organization: known.organization, detail, outcome: .refused, at: now)
    }

    // MARK: Asking again

    /// Repeats the answer with a new credential. The credential that was lost on its way is no longer valid.
    /// - Returns: `nil` if it is no repeat, or if the device was unenrolled or revoked since.
    private func repeated(
        _ request: WireEnrollRequest, tokenHash: Data, at now: Int64
    ) throws(StoreError) -> EnrollResult? {
        guard request.requestID.count == 16 else { return nil }
        let found = try connection.first(
            """
            SELECT device.id, organization, application, enrollment_id FROM enrollment_request JOIN device \
            ON device.id = device
            WHERE token_hash = ? AND request = ? AND enrollment_request.machine_hash = ? AND at > ? \
            AND revoked IS NULL AND left_at IS NULL
            """, tokenHash, request.requestID, request.machineHash, now - Self.repeatMicroseconds
        ) {
            (
                id: DeviceID($0.data(0)), organization: $0.string(1), application: $0.string(2),
                enrollmentID: $0.data(3)
            )
        }
        guard let found, let id = found.id else { return nil }
        let asked = DeviceID(request.deviceID)
        let issued = try ledger.issue(to: id, of: found.organization)
        try connection.run(
            "UPDATE device SET next_credential_hash = ?, credential_generation = ?, wipe_key = ? WHERE id = ?",
            issued.secret.hash, issued.generation, request.wipeKey, id.data)
        try report(
            .deviceEnroll, of: id, organization: found.organization, ["again": "true", "name": request.deviceName],
            at: now)
        return try result(
            id, issued.secret, found.organization, application: found.application, found.enrollmentID,
            kept: asked == id)
    }

    private func keep(
        _ request: WireEnrollRequest, tokenHash: Data, device: DeviceID, at now: Int64
    ) throws(StoreError) {
        try connection.run("DELETE FROM enrollment_request WHERE at <= ?", now - Self.repeatMicroseconds)
        guard request.requestID.count == 16 else { return }
        try connection.run(
            """
            INSERT INTO enrollment_request (token_hash, request, machine_hash, device, at) VALUES (?, ?, ?, ?, ?)
            ON CONFLICT (token_hash, request)
            DO UPDATE SET machine_hash = excluded.machine_hash, device = excluded.device, at = excluded.at
            """, tokenHash, request.requestID, request.machineHash, device.data, now)
    }

    // MARK: Tokens

    /// Checks an enrollment token without using it up, to refuse a request before its body is read. A token that is
    /// used up may still be presented again by those who used it.
    package nonisolated func checkEnrollmentToken(_ token: String) async throws(EnrollError) {
        let now = clock.now()
        let refusal: EnrollError?
        do {
            refusal = try await readers.read { connection throws(StoreError) in
                let (organization, refusal) = try Self.organization(
                    ofEnrollmentToken: token, at: now, in: connection)
                if organization != nil { return nil }
                if refusal == .tokenUsedUp,
                    try connection.hasRow(
                        "SELECT 1 FROM enrollment_request WHERE token_hash = ? AND at > ? LIMIT 1",
                        Secret.hash(of: token), now - Self.repeatMicroseconds)
                {
                    return nil
                }
                return refusal
            }
        } catch { throw .store(error) }
        if let refusal { throw refusal }
    }

    private func tokenID(_ token: String) throws(StoreError) -> String {
        try connection.first("SELECT id FROM token WHERE hash = ?", Secret.hash(of: token)) { $0.string(0) } ?? ""
    }

    private static func organization(
        ofEnrollmentToken token: String, at now: Int64, in connection: any RegistrySession
    ) throws(StoreError) -> (String?, EnrollError) {
        let found = try connection.first(
            "SELECT organization, expires, maximum_uses, uses, revoked FROM token WHERE hash = ? AND kind = ?",
            Secret.hash(of: token), TokenRow.Kind.enrollment.rawValue
        ) { row throws(StoreError) -> (String?, EnrollError) in
            guard let organization = try row.optionalString("organization") else { return (nil, .tokenUnknown) }
            if try !row.isNull("revoked") { return (nil, .tokenRevoked) }
            if let expires = try row.optionalInt64("expires"), expires <= now { return (nil, .tokenExpired) }
            if let maximum = try row.optionalInt64("maximum_uses"), try row.int64("uses") >= maximum {
                return (nil, .tokenUsedUp)
            }
            return (organization, .tokenUnknown)
        }
        return found ?? (nil, .tokenUnknown)
    }

    // MARK: Rows

    package typealias Issue = (secret: Secret, generation: Int64)

    private struct KnownCredentials {
        var organization: String
        var hashes: [Data]
        var isRevoked: Bool
        /// The newest generation that the collector issued to it; 0 for none.
        var generation: Int64 = 0

        func isProved(by credential: String) -> Bool {
            let hash = Secret.hash(of: credential)
            return hashes.reduce(false) { Secret.areEqual($1, hash) || $0 }
        }
    }

    /// Whether the credential belongs to the device: by its hash, or because a restore has lost it.
    private func isProved(
        _ known: KnownCredentials, of id: DeviceID, by credential: String
    ) throws(StoreError) -> Bool {
        if known.isProved(by: credential) { return true }
        return try ledger.isOfLostTime(credential, to: id, of: known.organization, newest: known.generation)
    }

    private func credentials(of id: DeviceID) throws(StoreError) -> KnownCredentials? {
        try connection.first(
            """
            SELECT organization, credential_hash, next_credential_hash, revoked, credential_generation FROM device \
            WHERE id = ?
            """,
            id.data
        ) { row throws(StoreError) in
            KnownCredentials(
                organization: try row.string("organization"),
                hashes: try [row.data("credential_hash")]
                    + [row.optionalData("next_credential_hash")].compactMap { $0 },
                isRevoked: try !row.isNull("revoked"), generation: try row.int64("credential_generation"))
        }
    }

    /// The credentials of a device that an administrator deleted.
    private func deletedCredentials(of id: DeviceID) throws(StoreError) -> KnownCredentials? {
        try connection.first(
            "SELECT organization, credential_hash, next_credential_hash FROM deleted_device WHERE id = ?", id.data
        ) { statement in
            KnownCredentials(
                organization: statement.string(0),
                hashes: [statement.data(1)] + [statement.optionalData(2)].compactMap { $0 }, isRevoked: true)
        }
    }

    private func insert(
        _ id: DeviceID, _ organization: String, _ request: WireEnrollRequest, enrollmentID: Data, _ issued: Issue,
        token: String, at now: Int64
    ) throws(StoreError) {
        let system = request.operatingSystem
        try connection.run(
            """
            INSERT INTO device (id, organization, name, os_name, os_distribution, os_version, os_kernel, \
            os_architecture, agent_version,
                application, machine_hash, test, credential_hash, created, enrolled, enrollment_id, \
            credential_generation, enrollment_token, wipe_key)
            VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)
            """, id.data, organization, request.deviceName, system.name, system.distribution, system.version,
            system.kernel,
            system.architecture, request.agentVersion, request.application, request.machineHash, request.test,
            issued.secret.hash, now, now,
            enrollmentID, issued.generation, token, request.wipeKey)
    }

    /// The former credential stays valid until the new one is first used, because the answer with the new one may be
    /// lost.
    private func renew(
        _ id: DeviceID, _ request: WireEnrollRequest, enrollmentID: Data, _ issued: Issue, token: String, at now: Int64
    ) throws(StoreError) {
        let system = request.operatingSystem
        try connection.run(
            """
            UPDATE device SET name = ?, os_name = ?, os_distribution = ?, os_version = ?, os_kernel = ?, \
            os_architecture = ?,
                agent_version = ?, application = ?, machine_hash = ?, test = ?, next_credential_hash = ?, enrolled = \
            ?, left_at = NULL,
                enrollment_id = ?, credential_generation = ?, enrollment_token = ?, wipe_key = ?
            WHERE id = ?
            """, request.deviceName, system.name, system.distribution, system.version, system.kernel,
            system.architecture,
            request.agentVersion, request.application, request.machineHash, request.test, issued.secret.hash, now,
            enrollmentID,
            issued.generation, token, request.wipeKey, id.data)
    }

    private func result(
        _ id: DeviceID, _ credential: Secret, _ organization: String, application: String, _ enrollmentID: Data,
        kept: Bool
    ) throws(StoreError) -> EnrollResult {
        let profile = try DeviceProfile.composed(
            of: ProfileScope(organization: organization, application: application), in: connection)
        return EnrollResult(
            deviceID: id, credential: credential.text, organization: organization,
            profileRevision: profile?.revision ?? 0, deviceKept: kept, enrollmentID: enrollmentID)
    }
}
