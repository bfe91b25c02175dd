import DataSampler
import ServiceLifecycle

/// An agent that finds the disk full at its start waits for room: ended, it would be started again and again by whoever
/// looks after it, and stay down in the end.
enum FullDiskPause {
    /// 1 s after the first attempt, doubled with each up to a minute.
    static func duration(after attempts: Int) -> Duration { .seconds(min(60, 1 << min(attempts, 6))) }

    /// Runs `body` until it meets something else than a full disk.
    ///
    /// - Parameters:
    ///   - told: is told once that it waits, and for what.
    ///   - sleep: for tests; throws when cancelled.
    /// - Throws: what `body` throws, and `CancellationError`.
    static func retrying<T>(
        isolation: isolated (any Actor)? = #isolation, told: (String) -> Void,
        sleep: (Duration) async throws -> Void = pause, _ body: () async throws -> T
    ) async throws -> T {
        var attempts = 0
        while true {
            do { return try await body() } catch let error as AgentError
                where (error.cause as? DataSamplerError)?.code == .queueFull
            {
                if attempts == 0 { told("\(error.message) The agent waits until there is room.") }
            }
            try await sleep(duration(after: attempts))
            attempts += 1
        }
    }

    /// Ends early, with an error, when the agent is told to stop.
    private static func pause(for duration: Duration) async throws {
        try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
    }
}
