import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Organizations, tokens, devices and profiles: who may talk to this collector, and what it knows of them
/// (`<data>/collector.sqlite`).
///
/// Safe to call from any number of tasks. Calls are answered one at a time, off the cooperative pool; a device's
/// authentication is answered from memory. A change is on synced disk when its call returns. Secrets are kept as hashes
/// and never logged.
package final class CollectorRegistry: Sendable {
    /// Stays the same for the whole life of the collector.
    package let collectorID: CollectorID
    /// Changes with every restore from backup.
    package let incarnationID: IncarnationID

    /// Devices' clocks compared with the collector's, as noted with `seen`.
    package let deviceClocks = DeviceClocks()

    let database: RegistryDatabase
    let directory: DataDirectory
    private let lock: DirectoryLock?

    /// Opens the registry. The first time it makes the collector's ids, organization `default` with its profile, and
    /// two tokens.
    /// - Parameters:
    ///   - exclusive: whether to hold the data directory (`<data>/lock`) until `close`; `false` for a short
    ///     administrative command beside a running collector.
    ///   - deliver: at the first start, takes the two tokens before they are good. Where it fails nothing is made.
    /// - Returns: the registry and, at the first start, the two tokens; they are told only here.
    /// - Throws: `.inUse` where another collector holds the directory, `.newerVersion`, `.corrupt`, `.diskFull`, `.io`.
    package static func open(
        directory: String, clock: any StoreClock, logger: Logger, exclusive: Bool = true,
        deliver: @Sendable (FirstStart) throws(StoreError) -> Void = { _ in }
    ) throws(StoreError) -> (CollectorRegistry, created: FirstStart?) {
        let directory = DataDirectory(path: directory)
        try directory.prepare()
        let lock = exclusive ? try DirectoryLock(path: directory.lockPath) : nil
        let connection = try CollectorDatabase.open(directory)
        if exclusive { try CollectorDatabase.requireWhole(connection, in: directory) }
        let created = try FirstStart.create(in: connection, at: clock.now(), deliver: deliver)
        guard let collector = CollectorID(try CollectorDatabase.meta("collector_id", connection)),
            let incarnation = IncarnationID(try CollectorDatabase.meta("incarnation_id", connection))
        else { throw StoreError(.corrupt, "\(directory.databasePath): the collector's ids are not there.") }
        let commands = OpenCommands()
        try StoreError.mapping { () throws(SQLiteError) in try commands.load(from: connection, at: clock.now()) }
        let database = RegistryDatabase(connection: connection, commands: commands, clock: clock, logger: logger)
        return (
            CollectorRegistry(
                collectorID: collector, incarnationID: incarnation, database: database, directory: directory, lock: lock
            ),
            created
        )
    }

    private init(
        collectorID: CollectorID, incarnationID: IncarnationID, database: RegistryDatabase, directory: DataDirectory,
        lock: DirectoryLock?
    ) {
        self.collectorID = collectorID
        self.incarnationID = incarnationID
        self.database = database
        self.directory = directory
        self.lock = lock
    }

    static func newTokenID() -> String {
        String(CollectorID.random().description.prefix(18).filter { $0 != "-" })
    }

    // MARK: Devices

    /// Checks an enrollment token without using it up, to refuse before a request's body is read.
    package func checkEnrollmentToken(_ token: String) async throws(EnrollError) {
        try await database.checkEnrollmentToken(token)
    }

    /// Gives a device its credential. The former credential stays good until the new one is first used.
    ///
    /// A known id is kept if its credential is right. An unknown id is kept if its credential proves that this
    /// collector issued it in a time that a restore has lost (`DeviceCredential`). Any other unknown id is replaced by
    /// a new one.
    ///
    /// A request with the `request_id`, token and machine of one from the last seven days is a repeat: it gives the
    /// same device and enrollment with a fresh credential and does not count against the token again.
    package func enroll(token: String, request: WireEnrollRequest) async throws(EnrollError) -> EnrollResult {
        try await database.enroll(token: token, request: request)
    }

    /// Whose credential it is; the device comes without beacon and identity.
    /// - Parameter admits: whether the device is let in by what else it showed. If not, the new credential of a
    ///   rotation does not count as used, so the former one stays good.
    package func authenticateDevice(
        credential: String, admits: @Sendable (DeviceRow) -> Bool = { _ in true }
    ) async throws(StoreError) -> DeviceAuthentication {
        let hash = Secret.hash(of: credential)
        if let device = database.cache[hash] { return .device(device) }
        return try await database.authenticate(hash: hash, admits: admits)
    }

    /// A new credential; the former one stays good until the new one is first used.
    package func rotateCredential(device: DeviceID) async throws(StoreError) -> String {
        try await database.rotateCredential(device)
    }

    /// Accepts a certificate that was issued to the device, until a later one is used. The audit entry is written with
    /// it.
    /// - Parameter reason: `enrollment` or `renewal`.
    /// - Throws: `.notFound` for a device that is not, or no longer, enrolled.
    package func keepCertificate(
        _ certificate: DeviceCertificate, device: DeviceID, reason: String
    ) async throws(StoreError) {
        try await database.keep(certificate, of: device, for: reason)
    }

    /// The device has used a certificate for the first time: those issued before it are refused from now on.
    package func noteCertificateUse(_ fingerprint: Data, device: DeviceID) async throws(StoreError) {
        try await database.noteUse(ofCertificate: fingerprint, by: device)
    }

    /// The device has left: its credential is refused until it enrolls again with it; what it has sent stays.
    package func unenroll(device: DeviceID) async throws(StoreError) {
        try await database.leave(device)
    }

    /// Notes what a device's newest records say of it. Returns at once; it is written every few seconds, and before it
    /// is read.
    package func seen(_ device: DeviceID, _ sight: DeviceObservation) {
        if let time = sight.newestRecordTime { deviceClocks.note(device, newestRecord: time, at: sight.at) }
        let isDue = database.seen.note(device, sight)
        // Not awaited on purpose: whoever stores records must not wait for what can be rebuilt from them.
        if isDue { Task { await database.writeSeen() } }
    }

    /// Writes what stored records say of devices. For those in `resetting`, the former last seen time does not count.
    package func derive(_ sights: [DeviceID: DeviceObservation], resetting: Set<DeviceID>) async throws(StoreError) {
        try await database.write(sights, resetting: resetting)
    }

    /// The latest time at which a device was seen, as far as it has been written; `nil`: none was.
    package func newestSight() async throws(StoreError) -> Int64? {
        try await database.newestSight()
    }

    /// Devices in the order of their ids, with what was last seen of them.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - cursor: an earlier page's `next`.
    ///   - limit: 1 to 1,000.
    package func devices(
        organization: String?, after cursor: String?, limit: Int
    ) async throws(StoreError) -> DevicePage {
        guard (1...1000).contains(limit) else { throw StoreError(.invalid, "limit is \(limit); expected 1 to 1,000.") }
        var after: DeviceID?
        if let cursor {
            after = DeviceID(cursor)
            guard after != nil else { throw StoreError(.invalid, "the cursor is not one of this registry's.") }
        }
        return try await database.devices(organization: organization, after: after, limit: limit)
    }

    /// - Parameter organization: `nil` for any; a device of another one is not there.
    package func device(_ id: DeviceID, organization: String?) async throws(StoreError) -> DeviceRow? {
        try await database.device(id, organization: organization)
    }

    /// Every device's id, ascending, also of those that have left.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - withTest: whether test devices are among them.
    package func deviceIDs(organization: String?, withTest: Bool) async throws(StoreError) -> [DeviceID] {
        try await database.deviceIDs(organization: organization, withTest: withTest)
    }

    // MARK: Tokens

    /// Whose token it is; `nil` for one that is unknown, revoked or expired.
    package func authenticatePerson(token: String) async throws(StoreError) -> Person? {
        try await database.person(hash: Secret.hash(of: token))
    }

    /// Makes an enrollment token at the collector's machine.
    /// - Parameters:
    ///   - expiresInSeconds: 30 days by default; 1 or more.
    ///   - maximumUses: devices that may enroll with it, 100 by default; `nil` for any number.
    /// - Returns: the token, told only here.
    package func createEnrollmentToken(
        organization: String, expiresInSeconds: Int64 = FirstStart.enrollmentTokenSeconds,
        maximumUses: Int? = FirstStart.enrollmentTokenUses, note: String = ""
    ) async throws(StoreError) -> (id: String, token: String) {
        try await create(
            NewToken(
                .device, name: note, organization: organization, expiresInSeconds: expiresInSeconds,
                maximumUses: maximumUses))
    }

    /// A person's token, made at the collector's machine.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - expiresInSeconds: `nil`: it does not expire.
    package func createPersonToken(
        name: String, role: PersonRole, organization: String?, expiresInSeconds: Int64? = nil
    ) async throws(StoreError) -> (id: String, token: String) {
        try await create(
            NewToken(.person(role), name: name, organization: organization, expiresInSeconds: expiresInSeconds))
    }

    private func create(_ new: NewToken) async throws(StoreError) -> (id: String, token: String) {
        do throws(AdministrationError) {
            let made = try await createToken(new, by: .commandLine)
            return (made.row.id, made.secret)
        } catch { throw StoreError(error) }
    }

    /// All tokens, revoked ones too, oldest first; never the secrets.
    package func tokens() async throws(StoreError) -> [TokenRow] {
        try await database.tokens()
    }

    /// Revokes any token at the collector's machine, even the last administrator's.
    package func revokeToken(_ id: String) async throws(StoreError) {
        do throws(AdministrationError) { try await revokeToken(id, organization: nil, by: .commandLine) } catch {
            throw StoreError(error)
        }
    }

    /// Whether the opened file is still in place. A registry whose file was removed or replaced refuses everything.
    package func readiness() async -> StoreReadiness {
        do throws(StoreError) {
            try await database.requireInPlace()
            return .ready
        } catch { return .notReady(error.message) }
    }

    /// Writes what is left to write and closes.
    package func close() async {
        await database.close()
        lock?.release()
    }
}

extension CollectorRegistry {
    /// By name.
    package func organizations() async throws(StoreError) -> [OrganizationRow] {
        try await database.organizations()
    }

    /// Makes an organization with a privacy key of its own and the default profile.
    /// - Parameters:
    ///   - name: 1 to 63 letters, digits, `.`, `_` and `-`, beginning with a letter or digit: it is used in paths and
    ///     file names.
    ///   - actor: for the audit trail.
    /// - Throws: `.invalid` for another name, `.conflict` where it exists.
    package func createOrganization(_ name: String, by actor: AuditActor = .commandLine) async throws(StoreError) {
        let isPlain = name.utf8.allSatisfy { byte in
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"): true
            default: false
            }
        }
        guard isPlain, (1...63).contains(name.utf8.count),
            ![UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-")].contains(name.utf8.first)
        else {
            throw StoreError(
                .invalid,
                "an organization's name is 1 to 63 letters, digits, \".\", \"_\" and \"-\", and begins with a letter or digit."
            )
        }
        try await database.createOrganization(name, by: actor)
    }
}

extension CollectorRegistry {
    /// The revision of a device's profile, from memory once it was read.
    package func profileRevision(of scope: ProfileScope) async throws(StoreError) -> UInt64 {
        if let known = database.profiles[scope] { return known.revision }
        return try await database.deviceProfile(of: scope).revision
    }

    /// What a device of this organization and application gets. Its revision changes whenever either profile changes,
    /// and only grows.
    /// - Throws: `.notFound` where there is no such organization.
    package func deviceProfile(of scope: ProfileScope) async throws(StoreError) -> DeviceProfile {
        if let known = database.profiles[scope] { return known }
        return try await database.deviceProfile(of: scope)
    }

    /// A scope's own profile as it was put, without the overlay.
    /// - Parameter revision: `nil` for the newest.
    package func profile(_ scope: ProfileScope, revision: UInt64?) async throws(StoreError) -> ProfileRow? {
        try await database.profile(scope, revision: revision)
    }

    /// Revisions, newest first.
    /// - Parameters:
    ///   - application: `nil` for the organization's and all of its applications'; empty for the organization's own.
    ///   - revision: those below it; `nil` from the newest.
    ///   - limit: 1 to 1,000.
    package func profileRevisions(
        organization: String, application: String?, below revision: UInt64?, limit: Int
    ) async throws(StoreError) -> ProfilePage {
        guard (1...1000).contains(limit) else { throw StoreError(.invalid, "limit is \(limit); expected 1 to 1,000.") }
        return try await database.profileRevisions(
            organization: organization, application: application, below: revision, limit: limit)
    }

    /// Makes a new revision, checked as a device will check it. The privacy key is neither taken nor given.
    /// - Parameters:
    ///   - expected: the scope's newest revision as the caller knows it, 0 for none; `nil`: whatever it is.
    ///   - author: who does it, for the list of revisions and the audit trail.
    package func putProfile(
        _ profile: WireProfile, _ scope: ProfileScope, expected: UInt64?, by author: AuditActor
    ) async throws(ProfileError) -> ProfileRow {
        try await database.putProfile(profile, scope, expected: expected, by: author)
    }

    /// Makes a new revision of an earlier one's profile, checked as any other.
    /// - Returns: `nil` where the scope has no such revision.
    package func rollBackProfile(
        _ scope: ProfileScope, to revision: UInt64, expected: UInt64?, by author: AuditActor
    ) async throws(ProfileError) -> ProfileRow? {
        try await database.rollBackProfile(scope, to: revision, expected: expected, by: author)
    }

    /// Checks a profile as `putProfile` does and tells what devices would get. Changes nothing.
    /// - Parameter application: whose devices; counts only where the profile is the organization's.
    package func previewProfile(
        _ profile: WireProfile, _ scope: ProfileScope, application: String
    ) async throws(ProfileError) -> WireProfile {
        try await database.previewProfile(profile, scope, application: application)
    }
}

extension CollectorRegistry {
    /// Issues a command to a device's present enrollment; on synced disk when it returns.
    /// - Parameter organization: `nil` for any; a device of another one is not found.
    /// - Returns: the command, and whether it is new: a repeated request with the same key gives the command issued
    ///   before.
    package func issue(
        _ command: NewCommand, organization: String?
    ) async throws(IssueError) -> (row: CommandRow, isNew: Bool) {
        try await database.issue(command, organization: organization)
    }

    /// A device's commands, newest first.
    /// - Parameter limit: 1 to 1,000.
    package func commands(
        of device: DeviceID, below position: CommandPosition?, limit: Int
    ) async throws(StoreError) -> CommandPage {
        guard (1...1000).contains(limit) else { throw StoreError(.invalid, "limit is \(limit); expected 1 to 1,000.") }
        return try await database.commands(of: device, below: position, limit: limit)
    }

    package func command(_ id: CommandID, of device: DeviceID) async throws(StoreError) -> CommandRow? {
        try await database.command(id, of: device)
    }

    /// What a device gets with an answer, from memory: commands of its present enrollment that have neither ended nor
    /// expired, oldest first.
    package func openCommands(of device: DeviceRow, at now: Int64) -> [WireCommand] {
        database.commands.commands(of: device.id, enrollmentID: device.enrollmentID, at: now)
    }

    /// Takes what a device says of its commands, in its order. Returns at once: ended commands are not given to the
    /// device again, and the results are written soon after and before they are read.
    package func noteResults(_ results: [WireCommandResult], of device: DeviceID, at now: Int64) {
        let results = results.filter { $0.commandID.count == 16 }
        guard !results.isEmpty else { return }
        let taken = database.results.note(ResultBuffer.Entry(device: device, at: now, results: results))
        if case .full = taken { return }
        database.commands.end(Set(results.filter { CommandStatus.isFinal($0.state) }.map(\.commandID)), of: device)
        // Not awaited on purpose: whoever stores records must not wait for it.
        if case .keptFirst = taken { Task { await database.writeResults() } }
    }
}
