import Crypto
import FoundationEssentials
import WireModel

/// A value that one file of the data directory holds. `StateSeal` lists which files are sealed.
protocol KeptState: Codable, Sendable {
    static var fileName: String { get }
}

extension KeptState {
    /// - Parameter seal: as of `DurableFile`.
    static func file(in directory: String, seal: StateSeal? = nil) -> StateFile<Self> {
        StateFile(directory: directory, name: fileName, seal: seal)
    }
}

/// A `DurableFile` with one value as JSON, its version and a SHA-256, so a damaged file is detected.
///
/// The form is `{"content": ..., "digest": "<SHA-256 of content as encoded with sorted keys>", "version": 1}`.
struct StateFile<Content: Codable & Sendable>: Sendable {
    private struct Form: Codable {
        var content: Content
        var digest: String
        var version: Int
    }

    private struct Version: Codable { var version: Int }

    let file: DurableFile
    private let version: Int
    private let maximumBytes: Int
    private let code: DataSamplerError.Code

    /// - Parameters:
    ///   - version: raised when an older program could not read the content correctly.
    ///   - maximumBytes: a longer file counts as damaged.
    ///   - seal: as of `DurableFile`.
    ///   - code: of an error that is not about damage.
    init(
        directory: String, name: String, version: Int = 1, maximumBytes: Int = 1 << 20, seal: StateSeal? = nil,
        code: DataSamplerError.Code = .storage
    ) {
        file = DurableFile(directory: directory, name: name, seal: seal, code: code)
        self.version = version
        self.maximumBytes = maximumBytes
        self.code = code
    }

    /// `nil` if there is no file.
    ///
    /// - Throws: `storageDamaged` if the file is not what was written, the file's `code` if it is unreadable or of a
    ///   newer version, `keyUnavailable` if it is sealed and its key is not at hand.
    func load() throws(DataSamplerError) -> Content? {
        guard let bytes = try file.read(maximumBytes: maximumBytes + 1) else { return nil }
        return try decoded(bytes, from: file.path)
    }

    /// Decodes the bytes of a file.
    ///
    /// - Parameter place: the origin of the bytes, for errors.
    /// - Throws: as `load`.
    func decoded(_ bytes: Data, from place: String) throws(DataSamplerError) -> Content {
        let decoder = JSONDecoder()
        if let found = try? decoder.decode(Version.self, from: bytes), found.version > version {
            throw DataSamplerError(
                code, "\(place) has version \(found.version), this program knows up to \(version): update the program")
        }
        guard bytes.count <= maximumBytes, let form = try? decoder.decode(Form.self, from: bytes),
            form.version == version, try digest(form.content) == form.digest
        else { throw DataSamplerError(.storageDamaged, "\(place) is damaged: this program did not write its content") }
        return form.content
    }

    /// Like `load`, but a damaged file is quarantined and counts as missing. After a start without the keys, a sealed
    /// file counts as missing, too; it stays, and nothing replaces it.
    ///
    /// - Parameter damaged: called for such a file, for log and status.
    func loadOrKeepAsDamaged(damaged: (DataSamplerError) -> Void) throws(DataSamplerError) -> Content? {
        do { return try load() } catch {
            if error.code == .keyUnavailable, file.seal?.obstacle != nil { return nil }
            guard error.code == .storageDamaged else { throw error }
            try file.keepAsDamaged()
            damaged(error)
            return nil
        }
    }

    /// Returns when the file is on synced disk.
    func save(_ content: Content) throws(DataSamplerError) { try file.replace(with: try encoded(content)) }

    func encoded(_ content: Content) throws(DataSamplerError) -> Data {
        let form = Form(content: content, digest: try digest(content), version: version)
        do { return try JSONEncoder.stable().encode(form) } catch {
            throw DataSamplerError(code, "\(file.path) cannot be encoded: \(error)", cause: error)
        }
    }

    private func digest(_ content: Content) throws(DataSamplerError) -> String {
        do { return Data(SHA256.hash(data: try JSONEncoder.stable().encode(content))).hexadecimal } catch {
            throw DataSamplerError(code, "\(file.path) cannot be encoded: \(error)", cause: error)
        }
    }
}
