import Crypto
import FoundationEssentials
import Glibc
import LogStore
import TelemetryBasics
import WireModel

/// The directory that chunk files go to.
struct ChunkFolder: Sendable {
    static let manifestName = "manifest.json"

    let path: String
    /// Overwrite what is there.
    let isForced: Bool

    var journalPath: String { file(Self.manifestName + SegmentName.partialSuffix) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func make() throws(LogStoreError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw LogStoreError(FileError("making", path)) }
    }

    /// - Throws: where one of these is there already.
    func requireFree(_ names: [String]) throws(LogCommandError) {
        guard !isForced else { return }
        for name in names where access(file(name), F_OK) == 0 {
            throw LogCommandError(
                .failed, "\(file(name)) is there already: give another --output, or --force to overwrite it")
        }
    }

    /// - Throws: where an earlier fetch or anything else lies here. Chunk files are for whoever takes the whole
    ///   directory.
    func requireEmpty() throws {
        guard !isForced else { return }
        try requireFree([Self.manifestName])
        let others = try StoreDirectory(path: path).names().filter { file($0) != journalPath }.sorted()
        guard let first = others.first else { return }
        throw LogCommandError(
            .failed,
            "\(absolutePath) holds other files (\(others.count), such as \(first.escapingControlCharacters)): give --output DIR with a "
                + "directory of the fetch's own, made if missing, or --force to write there all the same")
    }

    /// As it is shown at the end.
    var absolutePath: String { AbsolutePath.of(path) }

    /// Whether a file is still what was written.
    func holds(_ name: String, bytes: Int, sha256: Data) -> Bool {
        guard let file = try? OpenFile<LogStoreError>(reading: file(name)), (try? file.byteCount()) == bytes else {
            return false
        }
        var hash = SHA256()
        var offset = 0
        while let bytes = try? file.read(1 << 20, at: offset), !bytes.isEmpty {
            hash.update(data: bytes)
            offset += bytes.count
        }
        return Data(hash.finalize()) == sha256
    }

    /// Writes one chunk whole or not at all.
    func write(
        _ chunk: ChunkPlan.Chunk, as form: ChunkReader.Form, _ reader: ChunkReader, to name: String
    ) throws(LogStoreError) -> (bytes: Int, digest: Data) {
        let partial = file(name + SegmentName.partialSuffix)
        let target = try OpenFile<LogStoreError>(replacing: partial)
        var sink = FileChunkSink(descriptor: target.descriptor, path: partial)
        do throws(LogStoreError) {
            let result = try reader.write(chunk, as: form, to: &sink)
            try Files<LogStoreError>.rename(partial, to: file(name))
            return result
        } catch {
            unlink(partial)
            throw error
        }
    }

    func write(_ manifest: FetchManifest) throws {
        let partial = file(Self.manifestName + ".new")
        let target = try OpenFile<LogStoreError>(replacing: partial)
        try target.write([UInt8](try JSONText.of(manifest)))
        try Files<LogStoreError>.rename(partial, to: file(Self.manifestName))
    }
}

/// A path that says where something lies whatever the current directory is.
enum AbsolutePath {
    /// The path as it is where it cannot be resolved.
    static func of(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
