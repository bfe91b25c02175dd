import Encryption
import FoundationEssentials
import Glibc
import TelemetryBasics

/// A small file of the data directory that is replaced whole and never edited, such as identity or push token. Mode
/// 0600.
///
/// After a crash the file holds the old content or the new one. Callers replace a file from one thread at a time.
///
/// A file is plain, or sealed in an `Envelope` with its name as label. Both forms are readable at any time; `StateSeal`
/// decides which one is written.
struct DurableFile: Sendable {
    /// Content of ours has a few hundred bytes; what is longer is not one of ours, and is not read whole.
    static let defaultMaximumBytes = 64 * 1024
    static let damagedSuffix = ".damaged"

    let path: String
    /// `nil`: the file keeps the form it has, and the usual key file opens it.
    let seal: StateSeal?
    private let directory: String
    private let name: String
    private let code: DataSamplerError.Code

    /// - Parameter code: what its errors carry.
    init(directory: String, name: String, seal: StateSeal? = nil, code: DataSamplerError.Code = .storage) {
        self.code = code
        self.seal = seal
        self.directory = directory
        self.name = name
        path = "\(directory)/\(name)"
    }

    /// The content, at most its first `maximumBytes`; `nil` where there is no such file.
    ///
    /// - Throws: `storageDamaged` if a sealed file is not what was sealed, or its key was destroyed; `keyUnavailable`
    ///   if its key is not at hand.
    func read(maximumBytes: Int = defaultMaximumBytes) throws(DataSamplerError) -> Data? {
        guard let bytes = try readAsStored(maximumBytes: maximumBytes + Envelope.overhead) else { return nil }
        return try opened(bytes, from: path).prefix(maximumBytes)
    }

    /// The bytes without their envelope, if they have one.
    ///
    /// - Parameter place: the origin of the bytes, for errors.
    func opened(_ bytes: Data, from place: String) throws(DataSamplerError) -> Data {
        guard Envelope.isEnvelope(bytes) else { return bytes }
        return try sealOrUsual.opened(bytes, label: name, from: place)
    }

    /// The bytes as the file would hold them: sealed, or as they are.
    func form(of bytes: Data) throws(DataSamplerError) -> Data {
        guard let seal = seal ?? (isSealed ? StateSeal.usual(directory) : nil) else { return bytes }
        return try seal.form(of: bytes, label: name, isSealed: isSealed)
    }

    /// Replaces the file in one step; returns once file and directory are synced.
    func replace(with bytes: Data) throws(DataSamplerError) { try write(try form(of: bytes)) }

    /// Replaces the file with bytes in the form they have. If sealed ones replace plain ones, the former blocks are
    /// overwritten with zeros.
    func write(_ form: Data) throws(DataSamplerError) {
        try naming { () throws(FileError) in
            let former = formerToOverwrite(by: form)
            seal?.reached(.writing)
            try Files<FileError>.replace(path, with: form.bytes)
            seal?.reached(.replaced)
            if let former { try? SecretFile.overwrite(former) }
            seal?.reached(.formerOverwritten)
        }
    }

    /// `nil` also for one that cannot be opened: it is replaced all the same.
    private func formerToOverwrite(by form: Data) -> OpenFile<EncryptionError>? {
        guard Envelope.isEnvelope(form), !isSealed else { return nil }
        do throws(EncryptionError) {
            return try OpenFile<EncryptionError>.reading(path, flags: O_RDWR | O_NOFOLLOW)
        } catch { return nil }
    }

    /// Brings the file into the form that is written now, if it has the other one.
    ///
    /// - Returns: the id of the key that seals it; `nil` if it is plain or missing.
    func convert() throws(DataSamplerError) -> UInt32? {
        guard let stored = try readAsStored(maximumBytes: StateSeal.maximumFileBytes) else { return nil }
        let form = Envelope.isEnvelope(stored) == (seal?.isSealing ?? true) ? stored : try changed(stored)
        return try? Envelope.keyID(of: form, purpose: .state)
    }

    private func changed(_ stored: Data) throws(DataSamplerError) -> Data {
        let form = try form(of: try opened(stored, from: path))
        if form != stored { try write(form) }
        return form
    }

    /// Writes a sealed file plain, whatever is written otherwise: its key is about to be destroyed.
    func convertToPlain() throws(DataSamplerError) {
        guard let stored = try readAsStored(maximumBytes: StateSeal.maximumFileBytes), Envelope.isEnvelope(stored)
        else { return }
        try write(try opened(stored, from: path))
    }

    /// Whether the file is sealed now. What cannot be read is not.
    var isSealed: Bool {
        guard let head = try? Files<FileError>.read(path, maximumBytes: 8) else { return false }
        return Envelope.isEnvelope(Data(head))
    }

    private var sealOrUsual: StateSeal { seal ?? .usual(directory) }

    private func readAsStored(maximumBytes: Int) throws(DataSamplerError) -> Data? {
        try naming { () throws(FileError) in
            try Files<FileError>.read(path, maximumBytes: maximumBytes).map { Data($0) }
        }
    }

    /// Removes the file for good; harmless where there is none.
    func remove() throws(DataSamplerError) {
        try naming { () throws(FileError) in
            try Files<FileError>.remove(path)
            try Files<FileError>.syncDirectory(of: path)
        }
    }

    /// Removes what a crash or damage left beside the file.
    func removeLeftovers() throws(DataSamplerError) {
        try naming { () throws(FileError) in
            try Files<FileError>.remove("\(path).new")
            try Files<FileError>.remove(path + Self.damagedSuffix)
            try Files<FileError>.syncDirectory(of: path)
        }
    }

    /// Renames a damaged file to `<name>.damaged`, over an earlier one, so that somebody can look at it.
    func keepAsDamaged() throws(DataSamplerError) {
        try naming { () throws(FileError) in
            try Files<FileError>.rename(path, to: path + Self.damagedSuffix)
            try Files<FileError>.syncDirectory(of: path)
        }
    }

    private func naming<Result>(_ body: () throws(FileError) -> Result) throws(DataSamplerError) -> Result {
        do { return try body() } catch { throw DataSamplerError(error, otherwise: code) }
    }
}
