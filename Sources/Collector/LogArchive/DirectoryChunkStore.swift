import FoundationEssentials
import Glibc
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Chunks as files below `<data>/chunks`: written whole or not at all.
package struct DirectoryChunkStore: ChunkStore {
    let directory: DataDirectory

    package init(directory: DataDirectory) { self.directory = directory }

    private func file(_ path: String) -> String { "\(directory.chunksPath)/\(path)" }

    package var freeBytes: UInt64? { directory.disk?.freeBytes }

    /// Writes the bytes beside their place, syncs them and gives them their name, which is on disk when it returns.
    package func put(_ bytes: Data, at path: ChunkPath) throws(StoreError) {
        let partial = try write(bytes, for: path)
        do throws(StoreError) { try Files<StoreError>.rename(partial, to: file(path.text)) } catch {
            unlink(partial)
            throw error
        }
        try Files<StoreError>.sync(directory: file(path.directory))
    }

    /// - Returns: the file that waits for its name, synced.
    func write(_ bytes: Data, for path: ChunkPath) throws(StoreError) -> String {
        try Files<StoreError>.makeDirectory(file(path.directory), syncing: true)
        let name = "\(file(path.text)).\(UploadID.random())\(ChunkPath.partialSuffix)"
        try Files<StoreError>.write(bytes.bytes, to: name, sync: .content)
        return name
    }

    package func read(_ path: String, _ range: Range<Int>) throws(StoreError) -> Data? {
        guard let opened = try OpenFile<StoreError>.reading(file(path)) else { return nil }
        let bytes = try opened.read(range.count, at: range.lowerBound)
        guard bytes.count == range.count else {
            throw StoreError(.corrupt, "\(file(path)) is shorter than its index says.")
        }
        return Data(bytes)
    }

    package func digest(_ path: String) throws(StoreError) -> FileDigest? { try FileDigest.of(file(path)) }

    package func delete(_ path: String) -> Bool { unlink(file(path)) == 0 || errno == ENOENT }

    /// Looks only into directories that are directories; what else lies there is a stranger.
    package func list(_ body: (ChunkStoreEntry) throws(StoreError) -> Void) throws(StoreError) {
        var parents = [""]
        for _ in 0..<3 {
            var below: [String] = []
            for parent in parents {
                try names(in: parent, body) { path throws(StoreError) in
                    var status = stat()
                    // The archive's own lock, which whoever asks holds.
                    if file(path) == directory.chunksLockPath { return }
                    if lstat(file(path), &status) == 0, status.st_mode & S_IFMT == S_IFDIR {
                        below.append(path)
                    } else {
                        try body(.stranger(path: path))
                    }
                }
            }
            parents = below
        }
        for parent in parents {
            try names(in: parent, body) { path throws(StoreError) in
                guard let name = ChunkPath.FileName(String(path.dropFirst(parent.utf8.count + 1))) else {
                    return try body(.stranger(path: path))
                }
                try body(.entry(path, name, age: nil))
            }
        }
    }

    /// A directory that cannot be listed is a stranger.
    private func names(
        in parent: String, _ body: (ChunkStoreEntry) throws(StoreError) -> Void,
        _ each: (_ path: String) throws(StoreError) -> Void
    ) throws(StoreError) {
        let names: [String]
        do throws(StoreError) { names = try DataDirectory.names(in: file(parent)) } catch {
            return try body(.stranger(path: parent))
        }
        for name in names { try each(parent.isEmpty ? name : "\(parent)/\(name)") }
    }
}
