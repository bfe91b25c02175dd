import FoundationEssentials
import WireModel

/// Where the bytes of chunks lie: a directory today (`DirectoryChunkStore`), object storage later.
///
/// The store knows bytes by their path and nothing else. Which chunks there should be, whose they are and what they
/// hold is in `collector.sqlite`; `LogArchive` keeps the two together. So a store need not list chunks by device or
/// time, and it need not change two of them at once.
///
/// - A chunk is there whole or not at all, also after a crash in the middle of `put`.
/// - What `put` has returned from survives a loss of power.
/// - Calls may block, as long as a disk or a network takes. They are made on queues of their own, never on Swift's
///   threads, and from several at a time. Two calls of `put` for one path are never under way together.
package protocol ChunkStore: Sendable {
    /// Stores a chunk and replaces an existing one. If it throws, the old or the new chunk is there, whole.
    func put(_ bytes: Data, at path: ChunkPath) throws(StoreError)

    /// A part of a chunk.
    /// - Parameter path: as `ChunkPath.text`.
    /// - Returns: `nil` if there is no such chunk.
    /// - Throws: `.corrupt` if the chunk ends before the range does.
    func read(_ path: String, _ range: Range<Int>) throws(StoreError) -> Data?

    /// - Parameter path: as `ChunkPath.text`, or as `list` tells it.
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
    case chunk(path: String, upload: UploadID, number: Int)
    /// The remains of an unfinished `put`.
    case unfinished(path: String)
    /// Nothing that a collector has put there, or not to be looked into.
    case stranger(path: String)
}
