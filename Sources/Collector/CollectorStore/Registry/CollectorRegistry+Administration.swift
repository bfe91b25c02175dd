import FoundationEssentials
import Logging
import SQLite
import WireModel

extension CollectorRegistry {
    /// 100 years; a token that lives longer has no expiry.
    package static let maximumTokenSeconds: Int64 = 100 * 366 * 86_400
    /// Of a person's name or a token's note.
    package static let tokenNameBytes = 255

    /// Makes a token; on synced disk, with its entry in the audit trail, when it returns.
    /// - Returns: the token as the list shows it, and its secret, said only here.
    /// - Throws: `.forbidden` where it has more rights than the actor's own, `.notFound` for an unknown organization.
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

    /// In the order of their making; revoked ones too, never the secrets.
    /// - Parameters:
    ///   - organization: `nil` for all, and those of no organization.
    ///   - kind: `nil` for both.
    ///   - limit: 1 to 1,000.
    package func tokens(
        organization: String?, kind: TokenRow.Kind?, after position: TokenPosition?, limit: Int
    ) async throws(StoreError) -> TokenPage {
        try await database.tokens(organization: organization, kind: kind, after: position, limit: limit)
    }

    /// A token of one organization is refused from now on; again, it changes nothing.
    /// - Parameter organization: of which it must be; `nil` for any.
    /// - Throws: `.lastAdministrator` where nobody with a token could take the actor's place.
    package func revokeToken(_ id: String, organization: String?, by actor: AuditActor)
        async throws(AdministrationError)
    {
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
    /// Devices that match, in the order asked for, from memory; exact, what was seen just now included. What moves in
    /// the order between two pages may be told twice or not at all; nothing else is.
    /// - Parameters:
    ///   - position: an earlier page's `next`, of the same order.
    ///   - limit: 1 to 1,000.
    package func devices(
        _ query: DeviceQuery, after position: DevicePosition?, limit: Int
    ) async throws(StoreError) -> DeviceList {
        guard (1...1000).contains(limit) else { throw StoreError(.invalid, "limit is \(limit); expected 1 to 1,000.") }
        return try await database.devices(query, after: position, limit: limit)
    }

    /// The device's credential is refused from now on, until an administrator reinstates it; what it has sent stays.
    /// Again, it changes nothing.
    ///
    /// Whoever holds the device still holds the token that it enrolled with, and that token lets the same machine in as
    /// a new device.
    /// - Parameters:
    ///   - organization: of which it must be; `nil` for any.
    ///   - closingToken: whether that token is revoked in the same transaction.
    /// - Throws: `.forbidden`, with nothing changed, where the token is to be closed and is not known.
    package func revokeDevice(
        _ id: DeviceID, organization: String?, closingToken: Bool = false, by actor: AuditActor
    ) async throws(AdministrationError) -> DeviceRevocation {
        try await database.revoke(id, organization: organization, closesToken: closingToken, by: actor)
    }

    /// Takes a revocation back: the credential that was good when the device was revoked is good again, since nothing
    /// can replace one meanwhile - neither rotating nor enrolling is open to a revoked device. What was to be done on
    /// it then is not done any more: its commands have expired. Of a device that is not revoked, it changes nothing.
    /// - Parameter organization: of which it must be; `nil` for any.
    package func reinstateDevice(
        _ id: DeviceID, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) -> DeviceRow {
        try await database.reinstate(id, organization: organization, by: actor)
    }

    /// The device is gone from all lists, with its commands and its state, and its credential is refused for good. Its
    /// records stay in the record files until retention removes them, shown to nobody; its logs stay until they are
    /// deleted.
    /// - Parameter enrollment: the one to be deleted: a device that enrolled again meanwhile is left alone
    ///   (`.notFound`).
    package func deleteDevice(
        _ id: DeviceID, enrollment: Data, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) {
        try await database.delete(id, enrollment: enrollment, organization: organization, by: actor)
    }

    /// An administrator's word that one device is another one enrolled again: the other's logs are shown with its own.
    /// - Parameter predecessor: of the same organization, deleted or not; `nil` takes the word back.
    package func setPredecessor(
        _ predecessor: DeviceID?, of id: DeviceID, organization: String?, by actor: AuditActor
    ) async throws(AdministrationError) -> DeviceRow {
        try await database.setPredecessor(predecessor, of: id, organization: organization, by: actor)
    }

    package func lineage(of device: DeviceRow) async throws(StoreError) -> DeviceLineage {
        try await database.lineage(of: device)
    }

    /// Devices that have gone silent by the schedule they keep; test devices, left and revoked ones are not looked at.
    package func silentDevices() async throws(StoreError) -> [SilentDevice] {
        try await database.silentDevices()
    }

    /// How many devices of an organization run which revision of their profile; left and revoked ones are not counted.
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

    /// The clock is right: retention goes on at its next pass, within the hour.
    /// - Returns: what it waited for; `nil`, with nothing in the audit trail, where it did not.
    package func releaseRetention(by actor: AuditActor) async throws(StoreError) -> String? {
        try await database.releaseRetention(by: actor)
    }

    /// Whole days of records that came so many days ago or before; never the present day.
    /// - Parameter days: 1 or more.
    package func purgePlan(olderThanDays days: Int, streams: Set<StreamName>) async throws(StoreError) -> PurgePlan {
        try await RecordPurge(directory: directory.path, clock: database.clock, logger: database.logger)
            .plan(olderThanDays: days, streams: streams)
    }

    /// Asks for these files to be removed: whoever serves the records does it within ten seconds, or at the next start.
    /// - Returns: the purge's id, which `retention` tells and the audit trail has as its subject; `nil`, with nothing
    ///   asked, where an earlier purge has not been done yet.
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
