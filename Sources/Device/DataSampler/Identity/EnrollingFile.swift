import Crypto
import FoundationEssentials
import LogStore
import TelemetryBasics
import Transmitter
import WipeCertificates
import WireModel

/// `<data>/enrolling`: the id of an enrollment request whose answer is not in the identity file yet, and the private
/// key that signs wipe certificates once it is. Mode 0600.
///
/// It is written before the collector is asked, and removed once the answer is on disk. So asking again after a lost
/// answer is a repeat for the collector, and leaves behind no device that never reports. The id belongs to one token,
/// one machine and one former device, so a copy of the directory on another machine makes its own. A damaged file is
/// forgotten; the worst result is one device too many.
struct EnrollingFile: Sendable {
    private struct Form: Codable {
        var request: String
        /// HMAC of token, machine and former device.
        var purpose: String
        /// The private key of the enrollment that is asked for, 32 bytes; absent in files of former versions.
        var wipeKey: Data?
    }

    /// A request that waits for its answer.
    struct Pending: Equatable, Sendable {
        var id: Data
        var wipeKey: WipeSigningKey

        static func == (one: Pending, other: Pending) -> Bool {
            one.id == other.id && one.wipeKey.publicKey == other.wipeKey.publicKey
        }
    }

    static let name = "enrolling"
    private static let key = SymmetricKey(data: Data("ws1-telemetry enrolling 1".utf8))

    private let file: DurableFile

    /// - Parameter seal: as of `DurableFile`.
    init(directory: String, seal: StateSeal? = nil) {
        file = DurableFile(directory: directory, name: Self.name, seal: seal, code: .identity)
    }

    /// The request: that of an earlier attempt, or a new one. On synced disk when this returns.
    func request(
        token: String?, machineHash: String?, role: EnrollmentRole
    ) throws(DataSamplerError) -> Pending {
        let purpose = Self.purpose(token: token, machineHash: machineHash, role: role)
        let known = try read().flatMap { $0.purpose == purpose ? RequestID($0.request) : nil }
        if let known, let key = try wipeKey() { return Pending(id: known.data, wipeKey: key) }
        let pending = Pending(id: (known ?? .random()).data, wipeKey: WipeSigningKey())
        let bytes: Data
        do {
            bytes = try JSONEncoder().encode(
                Form(
                    request: RequestID(pending.id)?.description ?? "", purpose: purpose,
                    wipeKey: pending.wipeKey.rawRepresentation))
        } catch {
            throw DataSamplerError(.identity, "the enrollment request's id cannot be encoded", cause: error)
        }
        try file.replace(with: bytes)
        return pending
    }

    /// The private key of the request that waits for its answer; `nil` if none waits.
    func wipeKey() throws(DataSamplerError) -> WipeSigningKey? {
        try read()?.wipeKey.flatMap { WipeSigningKey(rawRepresentation: $0) }
    }

    private func read() throws(DataSamplerError) -> Form? {
        try file.read().flatMap { try? JSONDecoder().decode(Form.self, from: $0) }
    }

    /// The request is answered and the answer stored.
    func finish() throws(DataSamplerError) { try file.remove() }

    private static func purpose(token: String?, machineHash: String?, role: EnrollmentRole) -> String {
        let text = "\(role.former?.description ?? "none") \(machineHash ?? "") \(token ?? "")"
        return Data(HMAC<SHA256>.authenticationCode(for: Data(text.utf8), using: key)).hexadecimal
    }
}

enum RequestSubject {}
typealias RequestID = Identifier<RequestSubject>

/// The configured certificate signing request: PKCS #10 as `openssl req -new` writes it, PEM or DER. It is read each
/// time it is sent, so a replaced file is used next. The collector checks its content.
struct SigningRequestFile: Sendable {
    private static let maximumBytes = 64 * 1024
    private static let line = "-----"

    let path: String

    /// The request in DER.
    func read() throws(DataSamplerError) -> Data {
        guard let content = try? Files<FileError>.read(path, maximumBytes: Self.maximumBytes + 1) else {
            throw failure("cannot be read")
        }
        guard content.count <= Self.maximumBytes else { throw failure("has more than \(Self.maximumBytes) bytes") }
        let bytes = Data(content)
        // Every request in DER begins with a sequence (30).
        if bytes.first == 0x30 { return bytes }
        let lines = String(decoding: PlainText.normalized(content), as: UTF8.self).split(separator: "\n")
        guard
            let begin = lines.firstIndex(where: {
                $0.hasPrefix("-----BEGIN") && $0.contains("CERTIFICATE REQUEST-----")
            }),
            let end = lines[begin...].firstIndex(where: { $0.hasPrefix("-----END") }),
            let request = Data(base64Encoded: lines[(begin + 1)..<end].joined()), !request.isEmpty
        else { throw failure("contains no certificate signing request") }
        return request
    }

    private func failure(_ what: String) -> DataSamplerError {
        DataSamplerError(
            .invalidConfiguration,
            """
            \(path) \(what): make it with this device's key, for example with openssl req -new -key KEY -subj \
            /CN=device -out \(path)
            """
        )
    }
}
