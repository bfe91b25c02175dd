import FoundationEssentials
import LogArchive
import NIOCore
import RecordStore
import Synchronization
import TelemetryBasics

/// Chunks as objects in a bucket, which several collectors share.
///
/// - An object is there whole or not at all, because a storage shows an object only once all of it has arrived and its
///   digest is right.
/// - `put` returns once the storage has acknowledged the object. How safe it is then is the storage's matter.
/// - A `put` that throws may have stored the object, or may store it later. Its name is used by no other attempt
///   (`isShared`), so such an object harms nothing; `LogArchive.cleanUp` removes it.
/// - Readers ask for many small parts of a chunk one after the other. The store reads larger blocks and keeps those
///   used last in memory. No object changes under its name, so a block is never out of date. It may outlive its object
///   for a while; nobody asks for it then, as the registry does not name the object any more.
/// - While the storage does not answer, calls fail at once and only one in a while tries (`AvailabilityGate`). So
///   devices that send logs do not fill up the places of those that send records.
///
/// Safe to use from any thread but those of Swift's tasks and of NIO, which it would block.
package struct BucketChunkStore: ChunkStore {
    private let storage: ObjectStorage
    private let cache: BlockCache
    private let gate: AvailabilityGate

    /// - Parameters:
    ///   - cachedBytes: for parts of chunks in memory.
    ///   - pause: how long calls fail at once after one has found the storage away.
    package init(_ storage: ObjectStorage, cachedBytes: Int = 32 << 20, pause: Duration = .seconds(5)) {
        self.storage = storage
        cache = BlockCache(maximumBytes: cachedBytes)
        gate = AvailabilityGate(pause: pause)
    }

    package var isShared: Bool { true }
    package var freeBytes: UInt64? { nil }

    package func put(_ bytes: Data, at path: ChunkPath) throws(StoreError) {
        defer { cache.remove(path.text) }
        try call { storage async throws(ObjectStorageError) in try await storage.put(path.text, bytes) }
    }

    package func read(_ path: String, _ range: Range<Int>) throws(StoreError) -> Data? {
        guard !range.isEmpty else {
            let summary = try call { storage async throws(ObjectStorageError) in try await storage.head(path) }
            guard let summary else { return nil }
            guard range.upperBound <= summary.size else { throw tooShort(path, summary.size) }
            return Data()
        }
        return try cache.read(path, range) { (blocks) throws(StoreError) in
            guard
                let content = try call({ storage async throws(ObjectStorageError) in
                    try await storage.get(path, blocks)
                })
            else { return nil }
            guard range.upperBound <= content.size else { throw tooShort(path, content.size) }
            return content.bytes
        }
    }

    package func digest(_ path: String) throws(StoreError) -> FileDigest? {
        try call { storage async throws(ObjectStorageError) in try await storage.get(path) }
            .map { FileDigest(of: $0.bytes) }
    }

    package func delete(_ path: String) -> Bool {
        cache.remove(path)
        do throws(StoreError) {
            try call { storage async throws(ObjectStorageError) in try await storage.delete(path) }
            return true
        } catch { return false }
    }

    package func list(_ body: (ChunkStoreEntry) throws(StoreError) -> Void) throws(StoreError) {
        var token: String?
        repeat {
            let page = try call { [token] storage async throws(ObjectStorageError) in
                try await storage.list(after: token)
            }
            for entry in page.entries { try body(ChunkStoreEntry(path: entry.key, age: entry.age)) }
            token = page.next
        } while token != nil
    }

    /// Whether the bucket can be reached and listed.
    package func check() throws(StoreError) {
        try call { storage async throws(ObjectStorageError) in try await storage.check() }
    }

    private func tooShort(_ path: String, _ size: Int) -> StoreError {
        StoreError(.corrupt, "\(path) in the bucket has \(size) bytes, fewer than its index says.")
    }

    /// Makes a call and waits for it in the caller's thread.
    private func call<Value: Sendable>(
        _ body: @escaping @Sendable (ObjectStorage) async throws(ObjectStorageError) -> Value
    ) throws(StoreError) -> Value {
        let entry = try gate.enter()
        let storage = storage
        let future = storage.group.any().makeFutureWithTask { () -> Result<Value, ObjectStorageError> in
            do throws(ObjectStorageError) { return .success(try await body(storage)) } catch { return .failure(error) }
        }
        let result: Result<Value, ObjectStorageError>
        // Fails only if the event loops were ended.
        do { result = try future.wait() } catch {
            result = .failure(ObjectStorageError(.shutDown, "the connections were ended.", cause: error))
        }
        switch result {
        case .success(let value):
            gate.leave(entry, isAway: false)
            return value
        case .failure(let error):
            gate.leave(entry, isAway: error.code == .unavailable)
            throw StoreError(error)
        }
    }
}

extension StoreError {
    /// None of them is the client's fault, and none is reported as such: people and devices get 503.
    init(_ error: ObjectStorageError) {
        let code: Code =
            switch error.code {
            case .unavailable, .refused, .configuration, .notFound: .unavailable
            case .corrupt: .corrupt
            case .shutDown: .shuttingDown
            }
        self.init(code, "log chunks in object storage (\(error.code.rawValue)): \(error.message)")
    }
}
