import Logging

/// The settings of a running program. A reload applies the settings that can change at run time and names the others.
/// An invalid configuration changes nothing.
package actor RunningSettings<Settings: ProgramSettings> {
    private let started: Settings
    private var latest: Settings
    private let read: @Sendable () throws -> Settings
    private let apply: @Sendable (Settings) async throws -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - read: reads flags, environment and file again, and checks them as a start does.
    ///   - apply: applies the settings that can change at run time.
    package init(
        _ settings: Settings, logger: Logger, read: @escaping @Sendable () throws -> Settings,
        apply: @escaping @Sendable (Settings) async throws -> Void
    ) {
        (started, latest) = (settings, settings)
        self.logger = logger
        self.read = read
        self.apply = apply
    }

    package func reload() async {
        let new: Settings
        do {
            new = try read()
            try await apply(new)
        } catch {
            logger.error("configuration not reloaded; the former one stays in force", metadata: ["error": "\(error)"])
            return
        }
        let changed = new.changes(from: latest).filter { $0.reload == .atOnce }
        latest = new
        let waiting = new.changes(from: started).filter { $0.reload != .atOnce }
        logger.notice(
            "configuration reloaded",
            metadata: [
                "changed": .array(changed.map { "\($0.name)" }),
                "after.restart": .array(waiting.map { "\($0.name)" }),
            ])
    }
}
