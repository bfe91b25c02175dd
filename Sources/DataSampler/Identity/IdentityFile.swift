import Crypto
import FoundationEssentials
import Transmitter
import WireModel

/// `<data>/identity`: who this device is to its collector. Mode 0600; replaced whole, never edited.
///
/// One JSON object of strings and a SHA-256 over them, so that a damaged file is noticed instead of presenting a wrong credential. A damaged
/// file is never replaced silently: with it would go the proof of the device's id.
struct IdentityFile: Sendable {
    struct Content: Equatable, Sendable {
        var enrollment: Enrollment
        /// Of the machine that enrolled; `nil` where it had no machine id.
        var machineHash: String?
    }

    private struct Form: Codable {
        static let currentVersion = 1

        var version: Int
        var device: String
        var credential: String
        var organization: String
        var collector: String
        var incarnation: String
        var machine: String?
        var digest: String

        var expectedDigest: String {
            // Lengths in front keep two different sets of fields from reading the same.
            let fields = ["\(version)", device, credential, organization, collector, incarnation, machine ?? ""]
            let text = fields.map { "\($0.utf8.count):\($0)" }.joined()
            return Data(SHA256.hash(data: Data(text.utf8))).hexadecimal
        }
    }

    static let name = "identity"

    private let file: DurableFile

    init(directory: String) { file = DurableFile(directory: directory, name: Self.name, code: .identity) }

    var path: String { file.path }

    /// `nil` where there is none.
    func load() throws(DataSamplerError) -> Content? {
        guard let bytes = try file.read() else { return nil }
        let form: Form
        do { form = try JSONDecoder().decode(Form.self, from: bytes) } catch {
            throw damaged("it is not the JSON object it should be", cause: error)
        }
        guard form.version <= Form.currentVersion else {
            throw DataSamplerError(
                .identity, "\(path) has version \(form.version), this program knows up to \(Form.currentVersion): update the program")
        }
        guard form.digest == form.expectedDigest else { throw damaged("its digest does not match") }
        guard let device = DeviceID(form.device), let collector = CollectorID(form.collector),
            let incarnation = IncarnationID(form.incarnation), !form.credential.isEmpty
        else { throw damaged("an id or the credential is malformed") }
        return Content(
            enrollment: Enrollment(
                deviceID: device, credential: form.credential, organization: form.organization, collectorID: collector,
                incarnationID: incarnation),
            machineHash: form.machine)
    }

    /// Replaces the file in one step; returns once file and directory are synced.
    func save(_ content: Content) throws(DataSamplerError) {
        let enrollment = content.enrollment
        var form = Form(
            version: Form.currentVersion, device: "\(enrollment.deviceID)", credential: enrollment.credential,
            organization: enrollment.organization, collector: "\(enrollment.collectorID)", incarnation: "\(enrollment.incarnationID)",
            machine: content.machineHash, digest: "")
        form.digest = form.expectedDigest
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys]
        let bytes: Data
        do { bytes = try encoder.encode(form) } catch { throw DataSamplerError(.identity, "the identity cannot be encoded", cause: error) }
        try file.replace(with: bytes)
    }

    private func damaged(_ why: String, cause: (any Error)? = nil) -> DataSamplerError {
        DataSamplerError(
            .identity,
            "\(path) is damaged: \(why). Restore it from a backup; or move it away and enroll anew with an enrollment token, as a new device",
            cause: cause)
    }
}
