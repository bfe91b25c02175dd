import FoundationEssentials
import Glibc
import WireModel

/// The chunk files below `<data>/chunks`: written whole or not at all.
struct ChunkFiles: Sendable {
    let directory: DataDirectory

    func path(_ chunk: ChunkPath) -> String { "\(directory.chunksPath)/\(chunk.text)" }
    func path(_ text: String) -> String { "\(directory.chunksPath)/\(text)" }

    /// Writes the bytes beside their place, synced; `publish` gives them their name.
    /// - Returns: the path of what was written.
    func write(_ bytes: Data, for chunk: ChunkPath) throws(StoreError) -> String {
        try DataDirectory.makeDirectory("\(directory.chunksPath)/\(chunk.directory)")
        let name = "\(path(chunk)).\(UploadID.random())\(ChunkPath.partialSuffix)"
        let descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw DataDirectory.failure("make", name) }
        do throws(StoreError) {
            defer { close(descriptor) }
            if let failure = bytes.withUnsafeBytes({ DataDirectory.write($0, to: descriptor, name) }) { throw failure }
            guard fsync(descriptor) == 0 else { throw DataDirectory.failure("sync", name) }
        } catch {
            unlink(name)
            throw error
        }
        return name
    }

    /// Gives what was written its name; the name is on disk when it returns.
    func publish(_ partial: String, as chunk: ChunkPath) throws(StoreError) {
        guard rename(partial, path(chunk)) == 0 else { throw DataDirectory.failure("rename", partial) }
        try DataDirectory.synchronize("\(directory.chunksPath)/\(chunk.directory)")
    }

    /// What is not there is removed already. What cannot be removed now is at the next start, as nothing refers to it.
    func remove(_ paths: some Sequence<String>) {
        for path in paths { unlink(path) }
    }

    /// Removes every file that is not among the chunks that are kept: what a killed process left.
    /// - Parameter kept: paths below `<data>/chunks`.
    /// - Returns: how many there were.
    func removeOrphans(kept: Set<String>) throws(StoreError) -> Int {
        var removed = 0
        for organization in try DataDirectory.names(in: directory.chunksPath) {
            for application in try DataDirectory.names(in: path(organization)) {
                for device in try DataDirectory.names(in: path("\(organization)/\(application)")) {
                    let parent = "\(organization)/\(application)/\(device)"
                    for file in try DataDirectory.names(in: path(parent)) where !kept.contains("\(parent)/\(file)") {
                        guard unlink(path("\(parent)/\(file)")) == 0 else {
                            throw DataDirectory.failure("remove", path("\(parent)/\(file)"))
                        }
                        removed += 1
                    }
                }
            }
        }
        return removed
    }
}
