import Crypto
import FoundationEssentials
import Glibc
import TelemetryBasics
import WireModel

/// The chunk files below `<data>/chunks`: written whole or not at all.
struct ChunkFiles: Sendable {
    let directory: DataDirectory

    func path(_ chunk: ChunkPath) -> String { "\(directory.chunksPath)/\(chunk.text)" }
    func path(_ text: String) -> String { "\(directory.chunksPath)/\(text)" }

    /// Writes the bytes beside their place, synced; `publish` gives them their name.
    /// - Returns: the path of what was written.
    func write(_ bytes: Data, for chunk: ChunkPath) throws(StoreError) -> String {
        try Files<StoreError>.makeDirectory("\(directory.chunksPath)/\(chunk.directory)", syncing: true)
        let name = "\(path(chunk)).\(UploadID.random())\(ChunkPath.partialSuffix)"
        try Files<StoreError>.write(bytes.bytes, to: name, sync: .content)
        return name
    }

    /// Gives what was written its name; the name is on disk when it returns.
    func publish(_ partial: String, as chunk: ChunkPath) throws(StoreError) {
        try Files<StoreError>.rename(partial, to: path(chunk))
        try Files<StoreError>.sync(directory: "\(directory.chunksPath)/\(chunk.directory)")
    }

    /// What is not there is removed already. What cannot be removed now is at the next start, as nothing refers to it.
    func remove(_ paths: some Sequence<String>) {
        for path in paths { unlink(path) }
    }

    /// What a killed process may have left, and what is nobody's.
    struct Leftovers {
        /// Files that were removed.
        var removed = 0
        /// Whole chunks of uploads that the catalog has never heard of, below `<data>/chunks`; they are left alone.
        var unknown: [String] = []
        /// Not ours, or not to be looked into; left alone.
        var strangers: [String] = []
    }

    /// Removes what a killed process left: unfinished files, and chunks of which the catalog says that they are not
    /// kept.
    ///
    /// Only names that this collector gives are touched, and only in directories that are directories: what else lies
    /// there is not ours.
    /// - Parameters:
    ///   - kept: paths below `<data>/chunks` that stay.
    ///   - fate: what the catalog says of a chunk that is not among them.
    func removeLeftovers(
        kept: Set<String>, fate: (UploadID, Int) throws(StoreError) -> LeftoverFate
    ) throws(StoreError) -> Leftovers {
        var found = Leftovers()
        for parent in directories(below: directories(below: directories(below: [""], &found), &found), &found) {
            for name in names(in: parent, &found) {
                let text = "\(parent)/\(name)"
                guard !kept.contains(text) else { continue }
                guard let file = ChunkPath.FileName(name) else {
                    found.strangers.append(text)
                    continue
                }
                switch file.isPartial ? .over : try fate(file.upload, file.number) {
                case .awaited: break
                case .unknown: found.unknown.append(text)
                case .over: if unlink(path(text)) == 0 { found.removed += 1 } else { found.strangers.append(text) }
                }
            }
        }
        return found
    }

    enum LeftoverFate {
        /// It may come again, and takes the file's place then.
        case awaited
        /// Deleted, lost by its device, or of an upload that has ended.
        case over
        case unknown
    }

    private func directories(below parents: [String], _ found: inout Leftovers) -> [String] {
        var directories: [String] = []
        for parent in parents {
            for name in names(in: parent, &found) {
                let text = parent.isEmpty ? name : "\(parent)/\(name)"
                var status = stat()
                // The archive's own lock, which whoever asks holds.
                if path(text) == directory.chunksLockPath { continue }
                if lstat(path(text), &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                    directories.append(text)
                } else {
                    found.strangers.append(text)
                }
            }
        }
        return directories
    }

    private func names(in text: String, _ found: inout Leftovers) -> [String] {
        do throws(StoreError) { return try DataDirectory.names(in: path(text)) } catch {
            found.strangers.append(text)
            return []
        }
    }
}

/// Where a chunk lies below `<data>/chunks`: `<organization>/<application>/<device>/<upload>-<number>.log.gz`.
///
/// Whatever a device calls itself, a part of the path is one name, of letters, digits, `.`, `_`, `-` and `%`, that does
/// not begin with a point.
struct ChunkPath: Hashable, Sendable {
    /// Below `<data>/chunks`.
    let directory: String
    let file: String

    var text: String { "\(directory)/\(file)" }

    static let suffix = ".log.gz"
    /// Not finished; removed at the next start.
    static let partialSuffix = ".partial"
    private static let componentBytes = 120

    init(organization: String, application: String, device: DeviceID, upload: UploadID, number: Int) {
        directory = "\(Self.component(organization))/\(Self.component(application))/\(device)"
        let digits = String(number)
        file = "\(upload)-\(String(repeating: "0", count: max(0, 4 - digits.utf8.count)))\(digits)\(Self.suffix)"
    }

    /// What a file's name says of it.
    struct FileName: Equatable {
        let upload: UploadID
        let number: Int
        /// Not finished.
        let isPartial: Bool

        /// `nil` where no chunk is called so.
        init?(_ name: String) {
            var rest = Substring(name)
            isPartial = rest.hasSuffix(ChunkPath.partialSuffix)
            if isPartial {
                rest = rest.dropLast(ChunkPath.partialSuffix.count)
                guard UploadID(String(rest.suffix(Self.idCharacters))) != nil else { return nil }
                rest = rest.dropLast(Self.idCharacters + 1)
            }
            guard rest.hasSuffix(ChunkPath.suffix), let upload = UploadID(String(rest.prefix(Self.idCharacters))) else {
                return nil
            }
            let digits = rest.dropLast(ChunkPath.suffix.count).dropFirst(Self.idCharacters)
            guard digits.first == "-", let number = Int(digits.dropFirst()), number >= 0 else { return nil }
            self.upload = upload
            self.number = number
        }

        private static let idCharacters = 36
    }

    /// Every other byte as `%2f`; nothing at all as `%`; what would be too long is cut and made single by a digest of
    /// the whole.
    static func component(_ name: String) -> String {
        guard !name.isEmpty else { return "%" }
        var text = ""
        for (place, byte) in name.utf8.enumerated() {
            switch byte {
            case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "_"), UInt8(ascii: "-"):
                text.unicodeScalars.append(Unicode.Scalar(byte))
            case UInt8(ascii: ".") where place > 0: text.append(".")
            default: text += "%" + Data([byte]).hexadecimal
            }
        }
        guard text.utf8.count > componentBytes else { return text }
        return text.prefix(80) + "%-" + Data(SHA256.hash(data: Data(name.utf8)).prefix(16)).hexadecimal
    }
}

/// Looks at chunks and writes them, one at a time, off the cooperative pool.
actor ChunkWriter {
    private nonisolated let executor: BlockingExecutor

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(number: Int) {
        executor = BlockingExecutor(label: "ws1.collector.chunks.\(number)")
    }

    /// - Returns: what the chunk holds, and the synced file that waits for its name.
    func write(
        _ bytes: Data, _ expected: UploadCatalog.Expected, to files: ChunkFiles
    ) throws(UploadError) -> (scan: ChunkScan, partial: String) {
        let scan = try ChunkScan(bytes, rawBytes: expected.rawBytes, rawDigest: expected.rawDigest)
        do throws(StoreError) { return (scan, try files.write(bytes, for: expected.path)) } catch {
            throw .store(error)
        }
    }
}
