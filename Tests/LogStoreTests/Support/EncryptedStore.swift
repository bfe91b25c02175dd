import Encryption
import Foundation
import Logging
import Synchronization
import TestKit
import WireModel

@testable import LogStore

/// A data directory with a key file and an encrypted log store in it. It goes with its last reference.
final class EncryptedStore: Sendable {
    private let temporary: TemporaryDirectory

    init() throws {
        temporary = try TemporaryDirectory()
        try directory().make()
    }

    var path: String { temporary.file("logs") }

    /// The keys as another process would read them.
    func ring(now: @escaping @Sendable () -> Int64 = { 1_000_000 }) -> KeyRing {
        KeyRing(
            directory: temporary.path, provider: KeyFileProvider(path: temporary.file("device.key")), now: now,
            logger: Logger(label: "test"))
    }

    /// The store, for a reader or a writer with keys of its own.
    func directory(isSealing: Bool = true) -> StoreDirectory {
        StoreDirectory(path: path, keys: LogKeys(ring(), isSealing: isSealing))
    }

    var withoutKeys: StoreDirectory { StoreDirectory(path: path) }

    func configuration(_ keys: KeyRing?) -> LogStore.Configuration {
        var configuration = LogStore.Configuration(directory: path, applicationName: "test")
        configuration.keys = keys
        configuration.level = .verbose
        return configuration
    }

    func bytes(_ file: String) throws -> [UInt8] {
        [UInt8](try Data(contentsOf: URL(fileURLWithPath: "\(path)/\(file)")))
    }

    func write(_ bytes: [UInt8], _ file: String) throws {
        try Data(bytes).write(to: URL(fileURLWithPath: "\(path)/\(file)"))
    }

    /// The files of the data directory that hold a text in plain.
    func files(with text: String) throws -> [String] {
        let needle = Data(text.utf8)
        return try FileManager.default.subpathsOfDirectory(atPath: temporary.path).filter { file in
            guard let data = try? Data(contentsOf: URL(fileURLWithPath: temporary.file(file))) else { return false }
            return data.range(of: needle) != nil
        }
    }

    /// All lines of a store, in the order of the disk.
    static func text(
        _ directory: StoreDirectory, kinds: Set<SegmentName.Kind> = [.application, .ring, .crash]
    ) throws(LogStoreError) -> String {
        let snapshot = try StoreSnapshot(directory, kinds: kinds)
        var problems = snapshot.problems
        let plan = try ChunkPlan(snapshot, problems: &problems)
        if let problem = problems.first { throw problem.error }
        let reader = try ChunkReader(plan, in: directory)
        var sink = MemoryChunkSink()
        for chunk in plan.chunks { _ = try reader.write(chunk, as: .plain, to: &sink) }
        return String(decoding: sink.data, as: UTF8.self)
    }

    /// The same through the gzip form of the chunks.
    static func gzip(_ directory: StoreDirectory) throws -> Data {
        let snapshot = try StoreSnapshot(directory, kinds: [.application])
        var problems: [ChunkPlan.Problem] = []
        let plan = try ChunkPlan(snapshot, problems: &problems)
        let reader = try ChunkReader(plan, in: directory)
        var sink = MemoryChunkSink()
        for chunk in plan.chunks { _ = try reader.write(chunk, as: .gzip, to: &sink) }
        return sink.data
    }

    /// Writes an encrypted text, a frame for each text, and returns where the frames end.
    func writeFrames(_ texts: [[UInt8]], of name: SegmentName) throws -> [Int] {
        let frames = FrameWriter(segment: name.ordinal, key: try ring().sealingKey(for: .logs))
        var bytes: [UInt8] = []
        var ends: [Int] = []
        for text in texts {
            bytes += try text.withUnsafeBytes { try frames.seal($0).bytes }
            ends.append(bytes.count)
        }
        try write(bytes, name.file(.text))
        return ends
    }
}
