import FoundationEssentials
import RecordStore
import WireModel

/// Where the bytes of chunks lie: a directory (`DirectoryChunkStore`) or a bucket (`BucketChunkStore`).
///
/// The store knows bytes by their path and nothing else. Which chunks there should be, whose they are and what they
/// hold is in `collector.sqlite`; `LogArchive` keeps the two together. So a store need not list chunks by device or
/// time, and it need not change two of them at once.
///
/// - A chunk is there whole or not at all, also after a crash in the middle of `put`.
/// - What `put` has returned from survives a loss of power. In a bucket this is the storage's promise.
/// - Calls may block, as long as a disk or a network needs. They are made on queues of their own, never on Swift's
///   threads, and from several at a time. Two calls of `put` for one path are never under way together.
package protocol ChunkStore: Sendable {
    /// Whether several collectors store here, over a network. Then each attempt at a chunk gets a path of its own, and
    /// a call may fail with `.unavailable`, with its outcome unknown.
    var isShared: Bool { get }

    /// Stores a chunk and replaces an existing one. If it throws, the old or the new chunk is there, whole. In a shared
    /// store the new one may also come later.
    func put(_ bytes: Data, at path: ChunkPath) throws(StoreError)

    /// A part of a chunk.
    /// - Parameter path: as `ChunkPath.text`.
    /// - Returns: `nil` if there is no such chunk.
    /// - Throws: `.corrupt` if the chunk ends before the range does.
    func read(_ path: String, _ range: Range<Int>) throws(StoreError) -> Data?

    /// Length and digest of a whole chunk, from its store and not from memory.
    /// - Returns: `nil` if there is no such chunk.
    func digest(_ path: String) throws(StoreError) -> FileDigest?

    /// - Parameter path: as `ChunkPath.text`, or as `list` returns it.
    /// - Returns: whether there is nothing any more under that path.
    @discardableResult
    func delete(_ path: String) -> Bool

    /// Lists all entries, in any order.
    func list(_ body: (ChunkStoreEntry) throws(StoreError) -> Void) throws(StoreError)

    /// Free bytes; `nil` if not known or not limited.
    var freeBytes: UInt64? { get }
}

/// One thing in a chunk store.
package enum ChunkStoreEntry: Equatable, Sendable {
    /// - age: how long ago it was stored; `nil` where only one collector stores.
    /// - isAttempt: whether its path belongs to one attempt alone. Then no other attempt replaces it.
    case chunk(path: String, upload: UploadID, number: Int, isAttempt: Bool, age: Duration?)
    /// The remains of an unfinished `put`.
    case unfinished(path: String)
    /// Nothing that a collector has put there, or not to be looked into.
    case stranger(path: String)
}

extension ChunkStoreEntry {
    /// Creates the entry for what lies at a path of a store that knows no directories.
    package init(path: String, age: Duration?) {
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        // Such a store has no unfinished chunks.
        guard parts.count == 4, let name = ChunkPath.FileName(String(parts[3])), !name.isPartial else {
            self = .stranger(path: path)
            return
        }
        self = Self.entry(path, name, age: age)
    }

    static func entry(_ path: String, _ name: ChunkPath.FileName, age: Duration?) -> ChunkStoreEntry {
        name.isPartial
            ? .unfinished(path: path)
            : .chunk(path: path, upload: name.upload, number: name.number, isAttempt: name.attempt != nil, age: age)
    }
}

extension ChunkStore {
    package var isShared: Bool { false }
}
