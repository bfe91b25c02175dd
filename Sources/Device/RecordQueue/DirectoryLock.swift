import Glibc
import TelemetryBasics

/// Holds a queue's directory exclusively while this value lives. The kernel releases the lock when the process ends.
final class DirectoryLock: Sendable {
    private let lock: FileLock

    /// Makes the directory and its parents with mode 0700 if missing, and acquires the lock without waiting.
    init(directory: String) throws(QueueError) {
        guard !directory.isEmpty else { throw QueueError(.invalid, "the queue's directory has no name") }
        try Files<QueueError>.makeDirectory(directory, syncing: false)
        let path = "\(directory)/\(QueueFile.lockName)"
        guard let lock = try FileLock(path, failure: QueueError.self) else {
            let holder = Self.holder(path).map { "process \($0)" } ?? "another process"
            throw QueueError(.inUse, "\(directory) is in use by \(holder). Use another directory, or end that process.")
        }
        self.lock = lock
        // The process id is only for the message above. On a full disk the file may stay empty.
        guard let file = try? OpenFile<QueueError>(path, O_WRONLY | O_TRUNC | O_NOFOLLOW) else { return }
        try? file.write(Array("\(getpid())\n".utf8))
    }

    private static func holder(_ path: String) -> Int32? {
        guard let bytes = try? Files<QueueError>.read(path, maximumBytes: 16, flags: O_NOFOLLOW) else { return nil }
        return Int32(String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self))
    }
}
