import Glibc
import Synchronization

/// Starts a thread for work that blocks.
package enum BackgroundThread {
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
    ///   - isLowPriority: runs at the lowest priority (nice 19).
    /// - Returns: `false` if the system has no room for another thread.
    package static func start(
        _ name: String, isLowPriority: Bool = false, _ body: @escaping @Sendable () -> Void
    ) -> Bool {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        pthread_attr_setstacksize(&attributes, stackBytes)
        pthread_attr_setdetachstate(&attributes, Int32(PTHREAD_CREATE_DETACHED))
        let work = Unmanaged.passRetained(Work(name: name, isLowPriority: isLowPriority, body: body))
        var thread = pthread_t()
        // The new thread blocks all signals, because signals belong to the program's own threads.
        var all = sigset_t()
        var before = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &before)
        let result = pthread_create(&thread, &attributes, run, work.toOpaque())
        pthread_sigmask(SIG_SETMASK, &before, nil)
        if result != 0 { work.release() }
        return result == 0
    }

    private final class Outcome<Value: Sendable>: Sendable {
        let result = Mutex<Result<Value, LogStoreError>?>(nil)
        let hasEnded = WakeUp()
    }

    /// Does the work on a thread of the lowest priority and waits for it. If the system has no room for another thread,
    /// does it here.
    static func atLowPriority<Value: Sendable>(
        _ body: @escaping @Sendable () throws(LogStoreError) -> Value
    ) throws(LogStoreError) -> Value {
        let outcome = Outcome<Value>()
        let hasStarted = start("ws1-log-gzip", isLowPriority: true) {
            let result: Result<Value, LogStoreError>
            do throws(LogStoreError) { result = .success(try body()) } catch { result = .failure(error) }
            outcome.result.withLock { $0 = result }
            outcome.hasEnded.wake()
        }
        guard hasStarted else { return try body() }
        while true {
            if let result = outcome.result.withLock({ $0 }) { return try result.get() }
            _ = outcome.hasEnded.wait(milliseconds: 60_000)
        }
    }

    private static let run: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { work in
        let work = Unmanaged<Work>.fromOpaque(work!).takeRetainedValue()
        rename(work.name)
        // On Linux each thread has its own niceness.
        if work.isLowPriority { setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, 19) }
        work.body()
        return nil
    }

    /// Names this thread. Only for people who look at it.
    private static func rename(_ name: String) {
        let descriptor = open("/proc/thread-self/comm", O_WRONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return }
        _ = write(descriptor, name, name.utf8.count)
        close(descriptor)
    }
}

/// Runs work that waits for the disk outside of the threads that tasks share.
package enum BlockingWork {
    /// Runs the work on a new thread.
    /// - Throws: what the work throws; `.io` if the system has no room for another thread.
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
