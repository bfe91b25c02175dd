import CommandKit
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
    /// Overwrites existing files.
    let isForced: Bool

    var journalPath: String { file(Self.manifestName + SegmentName.partialSuffix) }

    func file(_ name: String) -> String { "\(path)/\(name)" }

    func make() throws(LogStoreError) {
        guard mkdir(path, 0o700) == 0 || errno == EEXIST else { throw LogStoreError(FileError("making", path)) }
    }

    /// - Throws: if one of these files exists.
    func requireFree(_ names: [String]) throws(CommandError) {
        guard !isForced else { return }
        for name in names where Paths.exists(file(name)) { throw .exists(file(name)) }
    }

    /// - Throws: if an earlier fetch or any other file is here. People expect only the chunk files in the directory.
    func requireEmpty() throws {
        guard !isForced else { return }
        try requireFree([Self.manifestName])
        let others = try StoreDirectory(path: path).names().filter { file($0) != journalPath }.sorted()
        guard let first = others.first else { return }
        throw CommandError(
            .failed,
            """
            \(AbsolutePath.of(path)) holds other files (\(others.count), such as \(first.escapingControlCharacters)): \
            give --output DIR with an empty or new directory, or --force to write there anyway
            """)
    }

    /// - Throws: if the request is not the one of the interrupted fetch here.
    func requireSame<Request: Equatable>(_ request: Request, as former: Request) throws(CommandError) {
        guard former != request else { return }
        throw CommandError(
            .failed,
            "an interrupted fetch of something else is in \(path): give another --output, or --force to begin again")
    }

    /// Whether a file is still as it was written.
    func holds(_ name: String, bytes: Int, sha256: Data) -> Bool {
        guard let file = try? OpenFile<LogStoreError>(reading: file(name)), (try? file.byteCount()) == bytes else {
            return false
        }
        var hash = SHA256()
        guard (try? file.forEachBlock { hash.update(bufferPointer: $0) }) != nil else { return false }
        return Data(hash.finalize()) == sha256
    }

    /// Writes one chunk completely or not at all.
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
        try target.write([UInt8](try JSONText.of(manifest)) + [UInt8(ascii: "\n")])
        try Files<LogStoreError>.rename(partial, to: file(Self.manifestName))
    }
}

extension CommandError {
    /// A file that a fetch would write exists.
    static func exists(_ path: String) -> CommandError {
        CommandError(.failed, "\(path) exists: give another --output, or --force to overwrite it")
    }
}

/// A path that is valid in any current directory.
enum AbsolutePath {
    /// The given path if it cannot be resolved.
    static func of(_ path: String) -> String {
        guard let resolved = realpath(path, nil) else { return path }
        defer { free(resolved) }
        return String(cString: resolved)
    }
}
