import FoundationEssentials
import Transmitter
import WireModel

/// `<data>/identity`: the device's identity at its collector. Mode 0600; replaced as a whole, never edited.
///
/// It is a `StateFile`, so a damaged file never presents a wrong credential. A damaged file is never replaced silently,
/// because it proves the device's id; `IdentityStore` has a copy to restore it from.
struct IdentityFile: Sendable {
    enum Content: Equatable, Sendable {
        /// - machineHash: of the machine that enrolled; `nil` if it had no machine id.
        case enrolled(Enrollment, machineHash: String?)
        /// - tokenDigest: of the former enrollment token, which does not enroll the device again; `nil` if it had none.
        case unenrolled(DeviceID, tokenDigest: String?)
    }

    private struct Form: Codable, Sendable {
        var device: String
        /// Empty after unenrolling, as are organization, collector and incarnation.
        var credential = ""
        /// The collector's time at which the credential was issued; microseconds since 1970.
        var credentialSince: Int64?
        var former: String?
        var organization = ""
        var collector = ""
        var incarnation = ""
        var enrollment: String?
        var machine: String?
        /// PEM; empty for none. Always together with its credential.
        var certificate = ""
        var formerCertificate = ""
        var spare: String?
        var spareCertificate = ""
        /// The private key that signs wipe certificates.
        var wipeKey: Data?
        /// Set only after unenrolling; empty if there was no token.
        var leftWithToken: String?
    }

    static let name = "identity"
    private static let version = 1

    var path: String { state.file.path }
    private let state: StateFile<Form>

    /// - Parameter seal: as of `DurableFile`.
    init(directory: String, seal: StateSeal? = nil) {
        state = StateFile(
            directory: directory, name: Self.name, version: Self.version, maximumBytes: DurableFile.defaultMaximumBytes,
            seal: seal, code: .identity)
    }

    enum Reading: Equatable, Sendable {
        case none
        case content(Content)
        /// The text says why the file is not trusted.
        case damaged(String)
    }

    /// - Throws: `identity` if the file is unreadable or of a newer version, `keyUnavailable` if its key is not at
    ///   hand.
    func read() throws(DataSamplerError) -> Reading {
        do throws(DataSamplerError) {
            guard let bytes = try state.file.read() else { return .none }
            return try reading(bytes, from: path)
        } catch {
            guard error.code == .storageDamaged else { throw error }
            return .damaged(error.message)
        }
    }

    /// `nil` if there is no file.
    /// - Throws: as `read`, and for a damaged file.
    func load() throws(DataSamplerError) -> Content? {
        switch try read() {
        case .none: return nil
        case .content(let content): return content
        case .damaged(let why): throw damaged(why)
        }
    }

    /// - Parameters:
    ///   - bytes: plain or sealed.
    ///   - place: the origin of the bytes, for errors.
    func reading(_ bytes: Data, from place: String) throws(DataSamplerError) -> Reading {
        let form: Form
        do throws(DataSamplerError) {
            form = try state.decoded(try state.file.opened(bytes, from: place), from: place)
        } catch {
            guard error.code == .storageDamaged else { throw error }
            return .damaged("this program did not write its content")
        }
        guard let device = DeviceID(form.device) else { return .damaged("the device id is malformed") }
        if let token = form.leftWithToken {
            return .content(.unenrolled(device, tokenDigest: token.isEmpty ? nil : token))
        }
        guard let collector = CollectorID(form.collector), let incarnation = IncarnationID(form.incarnation),
            !form.credential.isEmpty, let enrollment = Self.enrollmentID(form.enrollment)
        else { return .damaged("an id or the credential is malformed") }
        var enrolled = Enrollment(
            deviceID: device, credential: form.credential, formerCredential: form.former,
            organization: form.organization, collectorID: collector, incarnationID: incarnation,
            enrollmentID: enrollment)
        enrolled.certificate = form.certificate
        enrolled.formerCertificate = form.formerCertificate
        enrolled.spareCredential = form.spare
        enrolled.spareCertificate = form.spareCertificate
        enrolled.credentialSince = form.credentialSince
        enrolled.wipeKey = form.wipeKey
        return .content(.enrolled(enrolled, machineHash: form.machine))
    }

    /// Replaces the file in one step. Returns when file and directory are synced.
    func save(_ content: Content) throws(DataSamplerError) { try state.file.write(try bytes(content)) }

    /// Renames a damaged file to `identity.damaged`.
    func keepAsDamaged() throws(DataSamplerError) { try state.file.keepAsDamaged() }

    /// Removes former contents that a crash or damage left under other names.
    func removeLeftovers() throws(DataSamplerError) { try state.file.removeLeftovers() }

    /// What the file holds: sealed, if it is to be.
    func bytes(_ content: Content) throws(DataSamplerError) -> Data {
        var form: Form
        switch content {
        case .enrolled(let enrollment, let machineHash):
            form = Form(device: "\(enrollment.deviceID)")
            form.credential = enrollment.credential
            form.credentialSince = enrollment.credentialSince
            form.former = enrollment.formerCredential
            form.organization = enrollment.organization
            form.collector = "\(enrollment.collectorID)"
            form.incarnation = "\(enrollment.incarnationID)"
            form.enrollment = EnrollmentID(enrollment.enrollmentID)?.description
            form.machine = machineHash
            form.certificate = enrollment.certificate
            form.formerCertificate = enrollment.formerCertificate
            form.spare = enrollment.spareCredential
            form.spareCertificate = enrollment.spareCertificate
            form.wipeKey = enrollment.wipeKey
        case .unenrolled(let device, let tokenDigest):
            form = Form(device: "\(device)")
            form.leftWithToken = tokenDigest ?? ""
        }
        return try state.file.form(of: try state.encoded(form))
    }

    /// Empty if absent, `nil` if malformed.
    private static func enrollmentID(_ text: String?) -> Data? {
        guard let text else { return Data() }
        return EnrollmentID(text)?.data
    }

    /// - Parameter remedy: what to do first; the message continues with "from a backup".
    func damaged(
        _ why: String,
        _ remedy: String = "Start the agent, which uses the copy in the queue; or restore it"
    ) -> DataSamplerError {
        DataSamplerError(
            .identity,
            "\(path) is damaged: \(why). \(remedy) from a backup; or move it away and enroll again "
                + "with an enrollment token, as a new device: "
                + "`ws1agent queue rebind --send` then hands over the waiting records")
    }
}

private enum EnrollmentSubject {}
private typealias EnrollmentID = Identifier<EnrollmentSubject>
