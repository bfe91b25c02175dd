import FoundationEssentials
import LogStore

/// The certificate signing request that the device was configured with: PKCS #10 as `openssl req -new` writes it, PEM or DER. Read each time it
/// is sent, so that one that was replaced is the next that goes. What is in it is the collector's to judge.
struct SigningRequestFile: Sendable {
    private static let maximumBytes = 64 * 1024
    private static let line = "-----"

    let path: String

    /// In DER.
    func read() throws(DataSamplerError) -> Data {
        guard let content = BoundedFile.read(path, maximumBytes: Self.maximumBytes) else {
            throw failure("cannot be read")
        }
        guard case .whole(let bytes) = content else { throw failure("has more than \(Self.maximumBytes) bytes") }
        // A sequence (30) is what every request in DER begins with.
        if bytes.first == 0x30 { return bytes }
        let lines = String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline)
        guard let begin = lines.firstIndex(where: { $0.hasPrefix("-----BEGIN") && $0.contains("CERTIFICATE REQUEST-----") }),
            let end = lines[begin...].firstIndex(where: { $0.hasPrefix("-----END") }),
            let request = Data(base64Encoded: lines[(begin + 1)..<end].joined()), !request.isEmpty
        else { throw failure("holds no certificate signing request") }
        return request
    }

    private func failure(_ what: String) -> DataSamplerError {
        DataSamplerError(
            .invalidConfiguration,
            "\(path) \(what): make it with the key of this device, such as with openssl req -new -key KEY -subj /CN=device -out \(path)")
    }
}
