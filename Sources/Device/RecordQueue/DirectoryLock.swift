import Glibc

/// The exclusive hold on a queue's directory, for as long as this value lives; the kernel ends it with the process.
final class DirectoryLock: Sendable {
    private let descriptor: Int32

    /// Makes the directory (and those above it) where missing, mode 0700, and takes the lock without waiting.
    init(directory: String) throws(QueueError) {
        try Self.make(directory)
        let path = "\(directory)/\(QueueFile.lockName)"
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw Self.failure("open", path, errno) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let systemError = errno
            defer { close(descriptor) }
            guard systemError == EWOULDBLOCK else { throw Self.failure("lock", path, systemError) }
            let holder = Self.holder(descriptor).map { "process \($0)" } ?? "another process"
            throw QueueError(.inUse, "\(directory) is in use by \(holder). Use another directory, or end that process.")
        }
        // Only for the message above: a full disk may leave it empty.
        ftruncate(descriptor, 0)
        let text = Array("\(getpid())\n".utf8)
        pwrite(descriptor, text, text.count, 0)
        self.descriptor = descriptor
    }

    deinit {
        // Closing alone would leave it held by a child that is being started at this moment: it has a copy until it
        // calls exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }

    private static func holder(_ descriptor: Int32) -> Int32? {
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        return count > 0 ? Int32(String(decoding: bytes.prefix(count).prefix { $0 != 10 }, as: UTF8.self)) : nil
    }

    private static func make(_ directory: String) throws(QueueError) {
        guard !directory.isEmpty else { throw QueueError(.invalid, "the queue's directory has no name") }
        if mkdir(directory, 0o700) == 0 || errno == EEXIST { return }
        if errno == ENOENT, let slash = directory.lastIndex(of: "/"), slash != directory.startIndex {
            try make(String(directory[..<slash]))
            if mkdir(directory, 0o700) == 0 || errno == EEXIST { return }
        }
        throw failure("make directory", directory, errno)
    }

    private static func failure(_ operation: String, _ path: String, _ systemError: Int32) -> QueueError {
        .system(operation, path, systemError, "Check that the path exists and may be written by this user.")
    }
}
