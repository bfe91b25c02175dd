import ServiceLifecycle
import UnixSignals

/// Reads the configuration again on SIGHUP. What can change while the collector runs does; what cannot is named; a configuration that is wrong
/// changes nothing.
struct ReloadService: Service {
    let hangups: UnixSignalsSequence
    let reload: @Sendable () async -> Void

    func run() async throws {
        for await _ in hangups.cancelOnGracefulShutdown() { await reload() }
    }
}
