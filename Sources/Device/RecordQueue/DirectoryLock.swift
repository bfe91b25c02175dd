import Glibc
import TelemetryBasics

/// The exclusive hold on a queue's directory, for as long as this value lives; the kernel ends it with the process.
final class DirectoryLock: Sendable {
    private let lock: FileLock

    /// Makes the directory (and those above it) where missing, mode 0700, and takes the lock without waiting.
    init(directory: String) throws(QueueError) {
        guard !directory.isEmpty else { throw QueueError(.invalid, "the queue's directory has no name") }
        try Files<QueueError>.makeDirectory(directory, syncing: false)
        let path = "\(directory)/\(QueueFile.lockName)"
        guard let lock = try FileLock(path, failure: QueueError.self) else {
            let holder = Self.holder(path).map { "process \($0)" } ?? "another process"
            throw QueueError(.inUse, "\(directory) is in use by \(holder). Use another directory, or end that process.")
        }
        self.lock = lock
        // Only for the message above: a full disk may leave it empty.
        guard let file = try? OpenFile<QueueError>(path, O_WRONLY | O_TRUNC | O_NOFOLLOW) else { return }
        try? file.write(Array("\(getpid())\n".utf8))
    }

    private static func holder(_ path: String) -> Int32? {
        guard let bytes = try? Files<QueueError>.read(path, maximumBytes: 16, flags: O_NOFOLLOW) else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self))
    }
}
