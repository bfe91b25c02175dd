import FoundationEssentials
import Logging
import SQLite
import WireModel

/// Who may talk to this collector, and what is known of them: organizations, tokens, devices, profiles (`<data>/collector.sqlite`).
///
/// Safe to call from any number of tasks; calls are answered one at a time, off the cooperative pool, but for a device's authentication,
/// which memory answers. What changes something returns after it is on synced disk. Secrets are kept as hashes, and never logged.
package final class CollectorRegistry: Sendable {
    /// This collector, for ever.
    package let collectorID: CollectorID
    /// This collector between two restores from backup.
    package let incarnationID: IncarnationID

    /// What devices' clocks say of the collector's, from what is noted with `seen`.
    package let deviceClocks = DeviceClocks()

    let database: RegistryDatabase
    let directory: DataDirectory
    private let lock: DirectoryLock?

    /// Opens the registry; the very first time it makes the collector's ids, organization `default`, its profile and two tokens.
    /// - Parameter exclusive: holds the data directory (`<data>/lock`) until it is released; `false` for a short administrative command
    ///   beside a running collector.
    /// - Parameter deliver: at the first start, given the two tokens, to be kept before they are good; where it fails nothing is made.
    /// - Returns: with the registry, the two tokens if this was the first start; they are said only here.
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
            CollectorRegistry(collectorID: collector, incarnationID: incarnation, database: database, directory: directory, lock: lock),
            created
        )
    }

    private init(
        collectorID: CollectorID, incarnationID: IncarnationID, database: RegistryDatabase, directory: DataDirectory, lock: DirectoryLock?
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

    /// Whether an enrollment token may be used; nothing is used up. For refusing before a request's body is read.
    package func checkEnrollmentToken(_ token: String) async throws(EnrollError) {
        try await database.checkEnrollmentToken(token)
    }

    /// Gives a device its credential. A known id with its right credential is kept. So is an unknown one whose
    /// credential proves that this collector issued it in a time that a restore has lost (`DeviceCredential` says how);
    /// any other unknown id is replaced by a new one. The former credential stays good until the new one is first used.
    ///
    /// A request with the `request_id`, token and machine of one that was answered in the last seven days is that one asked again: it
    /// gives the same device and enrollment with a fresh credential, and uses the token no second time.
    package func enroll(token: String, request: WireEnrollRequest) async throws(EnrollError) -> EnrollResult {
        try await database.enroll(token: token, request: request)
    }

    /// Whose credential it is; the device comes without beacon and identity.
    /// - Parameter admits: whether the device is let in with what else it showed; where it is not, the new credential of a rotation does not
    ///   count as used, so that the former one stays good.
    package func authenticateDevice(
        credential: String, admits: @Sendable (DeviceRow) -> Bool = { _ in true }
    ) async throws(StoreError) -> DeviceAuthentication {
        let hash = Secret.hash(of: credential)
        if let device = database.cache.device(hash: hash) { return .device(device) }
        return try await database.authenticate(hash: hash, admits: admits)
    }

    /// A new credential; the former one stays good until the new one is first used.
    package func rotateCredential(device: DeviceID) async throws(StoreError) -> String {
        try await database.rotateCredential(device)
    }

    /// A certificate that was issued to the device is good from now on, as long as it is not followed by one that is used. Its entry in the
    /// audit trail is written with it.
    /// - Parameter reason: `enrollment` or `renewal`.
    /// - Throws: `.notFound` for a device that is not, or no longer, enrolled.
    package func keepCertificate(
        _ certificate: DeviceCertificate, device: DeviceID, reason: String
    ) async throws(StoreError) {
        try await database.keep(certificate, of: device, for: reason)
    }

    /// The device has come with a certificate for the first time: those issued before it are refused from now on.
    package func noteCertificateUse(_ fingerprint: Data, device: DeviceID) async throws(StoreError) {
        try await database.noteUse(ofCertificate: fingerprint, by: device)
    }

    /// The device has left: its credential is refused until it enrolls again with it; what it has sent stays.
    package func unenroll(device: DeviceID) async throws(StoreError) {
        try await database.leave(device)
    }

    /// Notes what a device's newest records say of it. Returns at once: it is written every few seconds at most, and before it is asked for.
    package func seen(_ device: DeviceID, _ sight: DeviceObservation) {
        if let time = sight.newestRecordTime { deviceClocks.note(device, newestRecord: time, at: sight.at) }
        let isDue = database.seen.note(device, sight)
        // Not awaited on purpose: whoever stores records must not wait for what can be rebuilt from them.
        if isDue { Task { await database.writeSeen() } }
    }

    /// Writes what stored records say of devices, of those in `resetting` whatever was known of when they were last seen.
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
    package func devices(organization: String?, after cursor: String?, limit: Int) async throws(StoreError) -> DevicePage {
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

    /// An enrollment token, made at the collector's machine.
    /// - Parameters:
    ///   - expiresInSeconds: 30 days by default; 1 or more.
    ///   - maximumUses: devices that may enroll with it, 100 by default; `nil` for any number.
    /// - Returns: the token, said only here.
    package func createEnrollmentToken(
        organization: String, expiresInSeconds: Int64 = FirstStart.enrollmentTokenSeconds,
        maximumUses: Int? = FirstStart.enrollmentTokenUses, note: String = ""
    ) async throws(StoreError) -> (id: String, token: String) {
        try await create(
            NewToken(
                .device, name: note, organization: organization, expiresInSeconds: expiresInSeconds, maximumUses: maximumUses))
    }

    /// A person's token, made at the collector's machine.
    /// - Parameters:
    ///   - organization: `nil` for all.
    ///   - expiresInSeconds: `nil`: it does not expire.
    package func createPersonToken(
        name: String, role: PersonRole, organization: String?, expiresInSeconds: Int64? = nil
    ) async throws(StoreError) -> (id: String, token: String) {
        try await create(NewToken(.person(role), name: name, organization: organization, expiresInSeconds: expiresInSeconds))
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

    /// At the collector's machine: any token, the last administrator's too.
    package func revokeToken(_ id: String) async throws(StoreError) {
        do throws(AdministrationError) { try await revokeToken(id, organization: nil, by: .commandLine) } catch { throw StoreError(error) }
    }

    /// Whether the file that was opened is still there: a registry whose file was removed or replaced refuses everything.
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
