import Glibc
import Synchronization

/// An exclusive advisory lock (flock(2)) on a lock file, held until released or until the process ends, however it
/// ends.
package final class FileLock: Sendable {
    /// -1 once released.
    private let descriptor: Atomic<Int32>

    /// Acquires the lock; the file is made where it is missing, mode 0600.
    /// - Parameter attempts: more than one waits a millisecond before each further one.
    /// - Returns: `nil` where another process, or another lock of this one, holds it.
    package init?<Failure: FileFailure>(
        _ path: String, attempts: Int = 1, failure: Failure.Type
    ) throws(Failure) {
        let descriptor = retryingOnInterrupt { open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600) }
        guard descriptor >= 0 else { throw Failure(FileError("opening", path)) }
        for attempt in 1...attempts {
            if retryingOnInterrupt({ flock(descriptor, LOCK_EX | LOCK_NB) }) == 0 {
                self.descriptor = Atomic(descriptor)
                return
            }
            guard errno == EWOULDBLOCK, attempt < attempts else { break }
            var pause = timespec(tv_sec: 0, tv_nsec: 1_000_000)
            nanosleep(&pause, nil)
        }
        let systemError = errno
        close(descriptor)
        guard systemError == EWOULDBLOCK else { throw Failure(FileError("locking", path, systemError)) }
        return nil
    }

    /// Harmless when done already.
    package func release() {
        let held = descriptor.exchange(-1, ordering: .acquiringAndReleasing)
        guard held >= 0 else { return }
        // Closing alone would leave it held by a child that is being started at this moment: it has a copy until it
        // calls exec.
        flock(held, LOCK_UN)
        close(held)
    }

    deinit { release() }
}
