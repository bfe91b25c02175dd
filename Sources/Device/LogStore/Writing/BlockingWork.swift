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
                        LogStoreError(.io, "There is no room for a thread that reads logs. Raise the limit of processes (ulimit -u).")))
            }
        }
        return try outcome.get()
    }
}
