import Crypto
import FoundationEssentials
import RecordQueue
import Synchronization
import Transmitter
import WipeCertificates
import WireModel

/// The transmitter's `EnrollmentStore`, based on the identity file. Safe from any thread.
///
/// The queue holds a copy of the file, written directly after it. If the file is damaged or gone, the copy replaces it,
/// and a notice reports it. Like the file, the copy names its machine, so on another machine it makes a clone and never
/// the device itself. The copy also contains an unenrollment.
final class IdentityStore: EnrollmentStore {
    private let file: IdentityFile
    private let enrolling: EnrollingFile
    private let machineHash: String?
    private let request: WireEnrollRequest
    private let signing: SigningRequestFile?
    private let queue: RecordQueue?
    private let report: @Sendable (DataSamplerNotice) -> Void
    /// The configured token; `nil` if there is none.
    let configuredToken: String?
    /// One caller at a time, so decisions on the file's content stay valid until it is replaced. The value says whether
    /// the copy was compared with the file.
    private let access = Mutex(false)

    /// - Parameters:
    ///   - machineHash: of this machine; `nil` if it has no machine id.
    ///   - request: what an enrollment says about this device, without its proof.
    ///   - signingRequest: the request for a client certificate; `nil` for none.
    ///   - seal: as of `DurableFile`; the copy in the queue has the file's form.
    ///   - queue: keeps the copy; `nil` uses the file alone.
    ///   - report: called when the copy was needed or could not be stored.
    init(
        directory: String, machineHash: String?, enrollmentToken: String?, request: WireEnrollRequest,
        signingRequest: SigningRequestFile? = nil, seal: StateSeal? = nil, queue: RecordQueue? = nil,
        report: @escaping @Sendable (DataSamplerNotice) -> Void = { _ in }
    ) {
        self.queue = queue
        self.report = report
        signing = signingRequest
        file = IdentityFile(directory: directory, seal: seal)
        enrolling = EnrollingFile(directory: directory, seal: seal)
        self.machineHash = machineHash
        configuredToken = enrollmentToken
        self.request = request
    }

    /// Throws `identity` if the file is unreadable, or damaged without a copy. A file of another machine belongs to a
    /// clone. Two machines with one device id would break its history.
    func state() throws -> EnrollmentState {
        try access.withLock { isCopyKept in
            switch try content(&isCopyKept) {
            case nil: .none
            case .enrolled(let enrollment, let recorded):
                isOfAnotherMachine(recorded) ? .clone(of: enrollment) : .enrolled(enrollment)
            case .unenrolled(let device, _): .unenrolled(device)
            }
        }
    }

    /// Whether a directory contains the identity of an enrolled device. An unreadable identity counts as one; the start
    /// reports the fault, and a token would not help.
    static func isEnrolled(in directory: String) -> Bool {
        do throws(DataSamplerError) {
            if case .enrolled? = try IdentityFile(directory: directory).load() { return true }
            return false
        } catch { return true }
    }

    func save(_ enrollment: Enrollment) throws {
        try access.withLock { try save(.enrolled(enrollment, machineHash: machineHash), &$0) }
    }

    /// The file has another form now, so its copy must be written again.
    func copyIsOutdated() { access.withLock { $0 = false } }

    func requestAnswered() throws { try access.withLock { _ in try enrolling.finish() } }

    func unenroll() throws {
        try access.withLock { isCopyKept in
            let end: IdentityFile.Content
            switch try content(&isCopyKept) {
            case nil: return
            case .enrolled(let enrollment, _):
                end = .unenrolled(enrollment.deviceID, tokenDigest: configuredToken.map(Self.digest))
            // A crash may have come before the rest of this.
            case .unenrolled(let device, let tokenDigest): end = .unenrolled(device, tokenDigest: tokenDigest)
            }
            try file.save(end)
            // Unlike another change, this one is not complete without the copy, which holds the credential.
            try queue?.keepCopy(try file.bytes(end), of: .identity)
            isCopyKept = true
            try file.removeLeftovers()
            try enrolling.finish()
        }
    }

    private func isOfAnotherMachine(_ recorded: String?) -> Bool {
        if let recorded, let machineHash { recorded != machineHash } else { false }
    }

    // MARK: - File and copy

    private func save(_ content: IdentityFile.Content, _ isCopyKept: inout Bool) throws {
        try file.save(content)
        keepCopy(content, &isCopyKept)
    }

    /// The file's content, or the copy's if the file is damaged or gone.
    private func content(_ isCopyKept: inout Bool) throws -> IdentityFile.Content? {
        let reading = try file.read()
        if case .content(let content) = reading {
            if !isCopyKept { keepCopy(content, &isCopyKept) }
            return content
        }
        let copy = try queue?.copy(of: .identity).flatMap { bytes -> IdentityFile.Content? in
            guard
                case .content(let content) = try file.reading(
                    bytes, from: "the copy of \(file.path) in the queue")
            else { return nil }
            return content
        }
        if case .damaged(let why) = reading {
            guard copy != nil else {
                throw queue == nil
                    ? file.damaged(why) : file.damaged("\(why), and the queue has no copy of it", "Restore it")
            }
            try file.keepAsDamaged()
        }
        guard let copy else { return nil }
        // A clone's file is written when the clone has its own identity.
        if case .enrolled(_, let recorded) = copy, isOfAnotherMachine(recorded) { return copy }
        try file.save(copy)
        isCopyKept = true
        let what =
            if case .damaged(let why) = reading { "was damaged (\(why)) and was quarantined" } else { "was missing" }
        report(
            DataSamplerNotice(
                .identityRestored, "\(file.path) \(what): it was restored from the copy in the queue",
                ["file": IdentityFile.name]))
        return copy
    }

    /// The file decides. A copy that cannot be stored is reported, and the next start or change tries again.
    private func keepCopy(_ content: IdentityFile.Content, _ isCopyKept: inout Bool) {
        guard let queue else { return }
        if case .enrolled(_, let recorded) = content, isOfAnotherMachine(recorded) { return }
        do {
            try queue.keepCopy(try file.bytes(content), of: .identity)
        } catch {
            report(
                DataSamplerNotice(
                    .identityNotCopied, "the queue could not keep a copy of \(file.path): \(error)",
                    ["file": IdentityFile.name]))
        }
        isCopyKept = true
    }

    /// A token stays where it was configured, in a file or a unit, so its presence after an unenrollment means nothing.
    /// Only a different token shows that somebody decided to enroll the device again.
    func enrollmentToken() throws -> String? {
        guard let configuredToken else { return nil }
        if case .unenrolled(_, let digest)? = try access.withLock({ try content(&$0) }),
            digest == Self.digest(configuredToken)
        {
            return nil
        }
        return configuredToken
    }

    func enrollRequest(as role: EnrollmentRole) throws -> WireEnrollRequest {
        var request = request
        request.machineHash = machineHash ?? ""
        switch role {
        case .new, .successor: break
        case .again(let former):
            request.deviceID = former.deviceID.data
            request.previousCredential = former.credential
        case .returning(let device): request.deviceID = device.data
        }
        let pending = try access.withLock { _ in
            try enrolling.request(token: configuredToken, machineHash: machineHash, role: role)
        }
        request.requestID = pending.id
        request.wipeSigningKey = pending.wipeKey.publicKey
        return request
    }

    func wipeKey() throws -> Data? { try access.withLock { _ in try enrolling.wipeKey()?.rawRepresentation } }

    func signingRequest() throws -> Data? { try signing?.read() }

    private static func digest(_ token: String) -> String {
        Data(SHA256.hash(data: Data("ws1-telemetry unenrolled \(token)".utf8))).hexadecimal
    }
}
