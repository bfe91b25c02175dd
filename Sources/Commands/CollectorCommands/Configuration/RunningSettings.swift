import Collector
import Logging
import ServiceLifecycle
import UnixSignals

/// What runs with which settings.
actor RunningSettings {
    /// One setting that can change while the collector runs.
    struct Live: Sendable {
        let setting: Setting
        let apply: @Sendable (Settings) async -> Void
    }

    private let started: Settings
    private var latest: Settings
    private let read: @Sendable () throws -> Settings
    private let live: [Live]
    private let tls: ServerTLS?
    private let logger: Logger

    init(
        _ settings: Settings, read: @escaping @Sendable () throws -> Settings, live: [Live], tls: ServerTLS?,
        logger: Logger
    ) {
        (started, latest) = (settings, settings)
        self.read = read
        self.live = live
        self.tls = tls
        self.logger = logger
    }

    func reload() async {
        tls?.reload()
        let new: Settings
        do { new = try read() } catch {
            logger.error("configuration not reloaded; the former one stays in force", metadata: ["error": "\(error)"])
            return
        }
        let changed = new.changes(from: latest)
        latest = new
        let applied = live.filter { changed.contains($0.setting) }
        for one in applied { await one.apply(new) }
        let waiting = new.changes(from: started).filter { setting in !live.contains { $0.setting == setting } }
        logger.notice(
            "configuration reloaded",
            metadata: [
                "changed": .array(applied.map { "\($0.setting.rawValue)" }),
                "after.restart": .array(waiting.map { "\($0.rawValue)" }),
            ])
    }
}

/// Reads the configuration again on SIGHUP. What can change while the collector runs does; what cannot is named; a
/// configuration that is wrong changes nothing.
struct ReloadService: Service {
    let hangups: UnixSignalsSequence
    let reload: @Sendable () async -> Void

    func run() async throws {
        for await _ in hangups.cancelOnGracefulShutdown() { await reload() }
    }
}
