import Crypto
import FoundationEssentials
import Transmitter
import WireModel

/// `<data>/identity`: the device's identity at its collector. Mode 0600; replaced as a whole, never edited.
///
/// It is one JSON object of strings with their SHA-256, so a damaged file never presents a wrong credential. A damaged
/// file is never replaced silently, because it proves the device's id; `IdentityStore` has a copy to restore it from.
/// Version 1 had no enrollment id, former credential or end of enrollment. Version 2 had no client certificate and
/// spare credential. Version 3 is written only if one of these exists.
struct IdentityFile: Sendable {
    enum Content: Equatable, Sendable {
        /// - machineHash: of the machine that enrolled; `nil` if it had no machine id.
        case enrolled(Enrollment, machineHash: String?)
        /// - tokenDigest: of the former enrollment token, which does not enroll the device again; `nil` if it had none.
        case unenrolled(DeviceID, tokenDigest: String?)
    }

    private struct Form: Codable {
        static let currentVersion = 3

        var version: Int
        var device: String
        /// Empty after unenrolling, as are organization, collector and incarnation.
        var credential = ""
        var former: String?
        var organization = ""
        var collector = ""
        var incarnation = ""
        var enrollment: String?
        var machine: String?
        /// Set only after unenrolling; empty if there was no token.
        var leftWithToken: String?
        /// PEM. Always together with its credential.
        var certificate: String?
        var formerCertificate: String?
        var spare: String?
        var spareCertificate: String?
        /// Not covered by the digest, so versions that do not know it can read the file. A wrong value only renews the
        /// credential early or late.
        var credentialSince: Int64?
        var digest = ""

        var expectedDigest: String {
            var fields = ["\(version)", device, credential, organization, collector, incarnation, machine ?? ""]
            // Absent and empty are different.
            if version > 1 { fields += [former, enrollment, leftWithToken].map { $0.map { "=\($0)" } ?? "" } }
            if version > 2 {
                fields += [certificate, formerCertificate, spare, spareCertificate].map { $0.map { "=\($0)" } ?? "" }
            }
            // Each field is preceded by its length, so two different sets of fields never give the same text.
            let text = fields.map { "\($0.utf8.count):\($0)" }.joined()
            return Data(SHA256.hash(data: Data(text.utf8))).hexadecimal
        }
    }

    static let name = "identity"

    let path: String
    private let file: DurableFile

    init(directory: String) {
        file = DurableFile(directory: directory, name: Self.name, code: .identity)
        path = file.path
    }

    enum Reading: Equatable, Sendable {
        case none
        case content(Content)
        /// The text says why the file is not trusted.
        case damaged(String)
    }

    /// - Throws: `identity` if the file is unreadable or of a newer version.
    func read() throws(DataSamplerError) -> Reading {
        guard let bytes = try file.read() else { return .none }
        return try Self.reading(bytes, from: path)
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

    /// - Parameter place: the origin of the bytes, for errors.
    static func reading(_ bytes: Data, from place: String) throws(DataSamplerError) -> Reading {
        guard let form = try? JSONDecoder().decode(Form.self, from: bytes) else {
            return .damaged("it is not the expected JSON object")
        }
        guard form.version <= Form.currentVersion else {
            throw DataSamplerError(
                .identity,
                "\(place) has version \(form.version), this program knows up to \(Form.currentVersion): update the program"
            )
        }
        guard form.digest == form.expectedDigest else { return .damaged("its digest does not match") }
        guard let device = DeviceID(form.device) else { return .damaged("the device id is malformed") }
        if let token = form.leftWithToken {
            return .content(.unenrolled(device, tokenDigest: token.isEmpty ? nil : token))
        }
        guard let collector = CollectorID(form.collector), let incarnation = IncarnationID(form.incarnation),
            !form.credential.isEmpty,
            let enrollment = Self.enrollmentID(form.enrollment)
        else { return .damaged("an id or the credential is malformed") }
        var enrolled = Enrollment(
            deviceID: device, credential: form.credential, formerCredential: form.former,
            organization: form.organization,
            collectorID: collector, incarnationID: incarnation, enrollmentID: enrollment)
        enrolled.certificate = form.certificate ?? ""
        enrolled.formerCertificate = form.formerCertificate ?? ""
        enrolled.spareCredential = form.spare
        enrolled.spareCertificate = form.spareCertificate ?? ""
        enrolled.credentialSince = form.credentialSince
        return .content(.enrolled(enrolled, machineHash: form.machine))
    }

    /// Replaces the file in one step. Returns when file and directory are synced.
    func save(_ content: Content) throws(DataSamplerError) { try file.replace(with: try Self.bytes(content)) }

    /// Renames a damaged file to `identity.damaged`.
    func keepAsDamaged() throws(DataSamplerError) { try file.keepAsDamaged() }

    /// Removes former contents that a crash or damage left under other names.
    func removeLeftovers() throws(DataSamplerError) { try file.removeLeftovers() }

    static func bytes(_ content: Content) throws(DataSamplerError) -> Data {
        var form: Form
        switch content {
        case .enrolled(let enrollment, let machineHash):
            let certificates = [enrollment.certificate, enrollment.formerCertificate, enrollment.spareCertificate]
            let isOfNow = enrollment.spareCredential != nil || certificates.contains { !$0.isEmpty }
            form = Form(version: isOfNow ? Form.currentVersion : 2, device: "\(enrollment.deviceID)")
            if isOfNow {
                form.certificate = enrollment.certificate
                form.formerCertificate = enrollment.formerCertificate
                form.spare = enrollment.spareCredential
                form.spareCertificate = enrollment.spareCertificate
            }
            form.credential = enrollment.credential
            form.credentialSince = enrollment.credentialSince
            form.former = enrollment.formerCredential
            form.organization = enrollment.organization
            form.collector = "\(enrollment.collectorID)"
            form.incarnation = "\(enrollment.incarnationID)"
            form.enrollment = EnrollmentID(enrollment.enrollmentID)?.description
            form.machine = machineHash
        case .unenrolled(let device, let tokenDigest):
            form = Form(version: 2, device: "\(device)")
            form.leftWithToken = tokenDigest ?? ""
        }
        form.digest = form.expectedDigest
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        do { return try encoder.encode(form) } catch {
            throw DataSamplerError(.identity, "the identity cannot be encoded", cause: error)
        }
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
