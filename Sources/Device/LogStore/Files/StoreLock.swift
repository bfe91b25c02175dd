import Glibc

/// The hold on a store's `lock`, for as long as this value lives; the kernel ends it with the process. For moments: whoever has it neither
/// compresses nor reads lines.
struct StoreLock: ~Copyable {
    private let descriptor: Int32

    /// Half a second of waiting: a holder needs milliseconds, and one that was stopped must not stop others.
    private static let attempts = 500
    private static let pauseNanoseconds = 1_000_000

    /// - Throws: `.busy` if another has it for longer than anybody should.
    init(_ directory: StoreDirectory) throws(LogStoreError) {
        let path = directory.path(SegmentName.lockName)
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw .system("opening", path) }
        for _ in 1...Self.attempts {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 {
                self.descriptor = descriptor
                return
            }
            guard errno == EWOULDBLOCK || errno == EINTR else { break }
            var pause = timespec(tv_sec: 0, tv_nsec: Self.pauseNanoseconds)
            nanosleep(&pause, nil)
        }
        let number = errno
        close(descriptor)
        guard number == EWOULDBLOCK else { throw .system("locking", path, errno: number) }
        throw LogStoreError(.busy, "\(path) is held by another process that does not let go of it. Find it with `fuser \(path)`.")
    }

    deinit {
        // Closing alone would leave it held by a child that is being started at this moment: it has a copy until it calls exec.
        flock(descriptor, LOCK_UN)
        close(descriptor)
    }
}
