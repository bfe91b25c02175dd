import FoundationEssentials
import Logging
import SQLite
import WireModel

extension CollectorRegistry {
    /// 100 years; a token that lives longer has no expiry.
    package static let maximumTokenSeconds: Int64 = 100 * 366 * 86_400
    /// The most bytes of a person's name or a token's note.
    package static let tokenNameBytes = 255

    /// Makes a token. When it returns, the token and its audit entry are on synced disk.
    /// - Returns: the token as lists show it, and its secret, which is told only here.
    /// - Throws: `.forbidden` where the token would have more rights than the actor's own, `.notFound` for an unknown
    ///   organization.
    package func createToken(
        _ new: NewToken, by actor: AuditActor
    ) async throws(AdministrationError) -> (row: TokenRow, secret: String) {
        let now = database.clock.now()
        guard new.name.utf8.count <= Self.tokenNameBytes, !new.name.hasControlCharacters, new.maximumUses ?? 1 >= 1,
            (1...Self.maximumTokenSeconds).contains(new.expiresInSeconds ?? 1)
        else {
            throw .store(
                StoreError(
                    .invalid,
                    "a token lives for 1 second to 100 years, is used once or more, and its name has at most \(Self.tokenNameBytes) bytes and "
                        + "no control characters.")
            )
        }
        let (secret, kind): (Secret, TokenRow.Kind) =
            switch new.holder {
            case .device: (Secret(.enrollment), .enrollment)
            case .person: (Secret(.person), .person)
            }
        var row = TokenRow(
            id: Self.newTokenID(), kind: kind, name: new.name, organization: new.organization, created: now,
            expires: new.expiresInSeconds.map { now + $0 * 1_000_000 }, maximumUses: new.maximumUses, uses: 0)
        if case .person(let role) = new.holder { row.role = role }
        // Nobody's token outlives the one it is made with: where nothing is said, it lives as long.
        if row.kind == .person, row.expires == nil, let maker = actor.token {
            row.expires = try await database.expiry(ofToken: maker)
        }
        try await database.create(row, secret: secret, by: actor)
        return (row, secret.text)
    }

    /// In the order of their making, with revoked ones, never with secrets.
    /// - Parameters:
    ///   - organization: `nil` for all, and those of no organization.
    ///   - kind: `nil` for both.
    ///   - limit: 1 to 1,000.
    package func tokens(
        organization: String?, kind: TokenRow.Kind?, after position: TokenPosition?, limit: Int
    ) async throws(StoreError) -> TokenPage {
        try await database.tokens(organization: organization, kind: kind, after: position, limit: limit)
    }

    /// Refuses a token from now on. A token that is revoked already stays as it is.
    /// - Parameter organization: the token's; `nil` for any.
    /// - Throws: `.lastAdministrator` where nobody with a token could take the actor's place.
    package func revokeToken(
        _ id: String, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) {
        try await database.revokeToken(id, organization: organization, by: actor)
    }

    /// What was done by whom, newest first; bounded as `AuditTable` says.
    /// - Parameters:
    ///   - id: those below it; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    package func audit(_ query: AuditQuery, below id: Int64?, limit: Int) async throws(StoreError) -> AuditPage {
        try await database.auditPage(query, below: id, limit: limit)
    }
}

// MARK: Devices

extension CollectorRegistry {
    /// Devices that match, in the order asked for, from memory; up to date. A device that moves in the order between
    /// two pages may be listed twice or not at all.
    /// - Parameters:
    ///   - position: an earlier page's `next`, of the same order.
    ///   - limit: 1 to 1,000.
    package func devices(
        _ query: DeviceQuery, after position: DevicePosition?, limit: Int
    ) async throws(StoreError) -> DeviceList {
        guard (1...1000).contains(limit) else { throw StoreError(.invalid, "limit is \(limit); expected 1 to 1,000.") }
        return try await database.devices(query, after: position, limit: limit)
    }

    /// Refuses the device's credential until an administrator reinstates it. What it has sent stays. A device that is
    /// revoked already stays as it is.
    ///
    /// The device's holder still has the token it enrolled with, and that token lets the same machine in as a new
    /// device.
    /// - Parameters:
    ///   - organization: the device's; `nil` for any.
    ///   - closingToken: whether that token is revoked in the same transaction.
    /// - Throws: `.forbidden`, with nothing changed, where the token is to be closed and is not known.
    package func revokeDevice(
        _ id: DeviceID, organization: String?, closingToken: Bool = false, by actor: AuditActor
    ) async throws(AdministrationError) -> DeviceRevocation {
        try await database.revoke(id, organization: organization, closesToken: closingToken, by: actor)
    }

    /// Takes a revocation back: the credential that was good then is good again. Nothing can have replaced it, because
    /// a revoked device can neither rotate nor enroll. The commands of that time have expired. A device that is not
    /// revoked stays as it is.
    /// - Parameter organization: the device's; `nil` for any.
    package func reinstateDevice(
        _ id: DeviceID, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) -> DeviceRow {
        try await database.reinstate(id, organization: organization, by: actor)
    }

    /// Removes the device from all lists, with its commands and state, and refuses its credential for good. Its records
    /// stay in the record files until retention removes them, but nobody is shown them. Its logs stay until they are
    /// deleted.
    /// - Parameter enrollment: the one to delete: a device that has enrolled again since is left alone (`.notFound`).
    package func deleteDevice(
        _ id: DeviceID, enrollment: Data, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) {
        try await database.delete(id, enrollment: enrollment, organization: organization, by: actor)
    }

    /// Notes that a device is another one enrolled again: the other's logs are shown with its own.
    /// - Parameter predecessor: of the same organization, deleted or not; `nil` takes it back.
    package func setPredecessor(
        _ predecessor: DeviceID?, of id: DeviceID, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) -> DeviceRow {
        try await database.setPredecessor(predecessor, of: id, organization: organization, by: actor)
    }

    package func lineage(of device: DeviceRow) async throws(StoreError) -> DeviceLineage {
        try await database.lineage(of: device)
    }

    /// Devices that are silent by their own schedule, without test devices and those that have left or are revoked.
    package func silentDevices() async throws(StoreError) -> [SilentDevice] {
        try await database.silentDevices()
    }

    /// How many devices of an organization run which profile revision, without those that have left or are revoked.
    package func profileAdoption(organization: String) async throws(StoreError) -> [ProfileAdoption] {
        try await database.profileAdoption(organization: organization)
    }
}

/// Retention as administrators see it over a collector that runs. A day's file holds the records of all organizations,
/// so all of it is of the collector as a whole.
extension CollectorRegistry {
    /// What is kept of the records, whether retention waits, and what has become of the last purge.
    package func retention() async throws(StoreError) -> RetentionService.Status {
        try await database.retention(directory)
    }

    /// An administrator says that the clock is right: retention goes on at its next pass, within the hour.
    /// - Returns: what it waited for; `nil`, without an audit entry, where it did not wait.
    package func releaseRetention(by actor: AuditActor) async throws(StoreError) -> String? {
        try await database.releaseRetention(by: actor)
    }

    /// The whole days of records that came so many days ago or earlier; never today.
    /// - Parameter days: 1 or more.
    package func purgePlan(olderThanDays days: Int, streams: Set<StreamName>) async throws(StoreError) -> PurgePlan {
        try await RecordPurge(directory: directory.path, clock: database.clock, logger: database.logger)
            .plan(olderThanDays: days, streams: streams)
    }

    /// Asks for these files to be removed. The collector that serves the records does it within ten seconds, or at its
    /// next start.
    /// - Returns: the purge's id, as in `retention` and the audit trail; `nil`, with nothing asked, while an earlier
    ///   purge is not done.
    package func purge(_ plan: PurgePlan, by actor: AuditActor) async throws(StoreError) -> String? {
        try await database.ask(PurgeRequest(files: plan.files.map { PurgeRequest.File($0.partition) }, actor: actor))
    }
}

extension RegistryDatabase {
    func retention(_ directory: DataDirectory) throws(StoreError) -> RetentionService.Status {
        try requireInPlace()
        return try RetentionService(directory: directory.path).status()
    }

    func releaseRetention(by actor: AuditActor) throws(StoreError) -> String? {
        let now = clock.now()
        return try transaction { () throws(SQLiteError) in
            try RetentionState(connection: connection).release(by: actor, at: now)?.message
        }
    }

    func ask(_ request: PurgeRequest) throws(StoreError) -> String? {
        let now = clock.now()
        let isAsked = try transaction { () throws(SQLiteError) in
            try RetentionState(connection: connection).ask(request, at: now)
        }
        return isAsked ? request.idText : nil
    }
}

/// What an administrator could not do.
package enum AdministrationError: Error, Equatable, Sendable {
    /// What was named is not there, or another organization's.
    case notFound(String)
    /// It is more than the actor's own token allows, and why.
    case forbidden(String)
    /// No administrator would be left.
    case lastAdministrator
    case store(StoreError)
}

extension StoreError {
    /// For callers that need no rights of their own: the command line.
    init(_ error: AdministrationError) {
        switch error {
        case .notFound(let message): self.init(.notFound, message)
        case .forbidden(let message): self.init(.invalid, message)
        case .lastAdministrator: self.init(.conflict, "no administrator would be left.")
        case .store(let error): self = error
        }
    }
}
