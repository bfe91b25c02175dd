import Glibc
import Synchronization

/// An exclusive advisory lock (`flock`) on a file, held until released or until the process ends, however it ends.
final class DirectoryLock: Sendable {
    /// -1 once released.
    private let descriptor: Atomic<Int32>

    /// - Throws: `.inUse` where another holder has it, at once.
    init(path: String) throws(StoreError) {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw DataDirectory.failure("lock", path) }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let held = errno == EWOULDBLOCK
            let error = DataDirectory.failure("lock", path)
            close(descriptor)
            throw held ? StoreError(.inUse, "\(path) is held by another collector. End that one, or use another data directory.") : error
        }
        self.descriptor = Atomic(descriptor)
    }

    /// Harmless when done already.
    func release() {
        let held = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        guard held >= 0 else { return }
        // Closing alone would leave it held by a child that is being started at this moment: it has a copy until it calls exec.
        flock(held, LOCK_UN)
        close(held)
    }

    deinit {
        release()
    }
}
