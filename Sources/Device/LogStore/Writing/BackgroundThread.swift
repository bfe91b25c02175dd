import Glibc

/// A thread of its own for work that blocks.
enum BackgroundThread {
    private static let stackBytes = 512 << 10

    private final class Work: Sendable {
        let name: String
        let isLowPriority: Bool
        let body: @Sendable () -> Void

        init(name: String, isLowPriority: Bool, body: @escaping @Sendable () -> Void) {
            self.name = name
            self.isLowPriority = isLowPriority
            self.body = body
        }
    }

    /// - Parameters:
    ///   - name: at most 15 bytes; shown by `top -H`.
    ///   - isLowPriority: gets what other threads of the machine leave.
    /// - Returns: whether there was room for one.
    static func start(_ name: String, isLowPriority: Bool = false, _ body: @escaping @Sendable () -> Void) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, stackBytes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let work = Unmanaged.passRetained(Work(name: name, isLowPriority: isLowPriority, body: body))
        var thread = pthread_t()
        // A new thread inherits the mask: the program's signals are for the program's threads.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        let result = pthread_create(&thread, &attributes, run, work.toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        if result != 0 { work.release() }
        return result == 0
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { work in
        let work = Unmanaged<Work>.fromOpaque(work!).takeRetainedValue()
        rename(work.name)
        // On Linux a thread has a niceness of its own.
        if work.isLowPriority { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) }
        work.body()
        return nil
    }

    /// This thread. Nothing depends on it.
    private static func rename(_ name: String) {
        let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = write(descriptor, name, name.utf8.count)
        close(descriptor)
    }
}

/// Work that waits for the disk, off the threads that tasks share.
package enum BlockingWork {
    /// Runs it on a thread of its own.
    /// - Throws: what it throws; `.io` if there is no room for a thread.
    package static func run<Result: Sendable>(
        _ body: @escaping @Sendable () throws(LogStoreError) -> Result
    ) async throws(LogStoreError) -> Result {
        let outcome: Swift.Result<Result, LogStoreError> = await withCheckedContinuation { continuation in
            let hasStarted = BackgroundThread.start("ws1-log-read") {
                do throws(LogStoreError) { continuation.resume(returning: .success(try body())) } catch {
                    continuation.resume(returning: .failure(error))
                }
            }
            if !hasStarted {
                continuation.resume(
                    returning: .failure(
                        LogStoreError(
                            .io,
                            "There is no room for a thread that reads logs. Raise the limit of processes (ulimit -u)."))
                )
            }
        }
        return try outcome.get()
    }
}
