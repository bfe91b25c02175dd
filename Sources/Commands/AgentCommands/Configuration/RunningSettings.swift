import CommandKit
import DataSampler
import Logging

/// What a running agent runs with. Read again, what can change while it runs does; what cannot is named; a
/// configuration that is wrong changes nothing.
actor RunningSettings {
    private let started: AgentSettings
    private var latest: AgentSettings
    private let read: @Sendable () throws(CommandError) -> AgentSettings
    private let apply: @Sendable (AgentSettings) async throws(CommandError) -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - read: reads flags, environment and file again, and checks them as a start does.
    ///   - apply: takes over what can change.
    init(
        _ settings: AgentSettings, logger: Logger, read: @escaping @Sendable () throws(CommandError) -> AgentSettings,
        apply: @escaping @Sendable (AgentSettings) async throws(CommandError) -> Void
    ) {
        (started, latest) = (settings, settings)
        self.logger = logger
        self.read = read
        self.apply = apply
    }

    func reload() async {
        let new: AgentSettings
        do throws(CommandError) {
            new = try read()
            try await apply(new)
        } catch {
            logger.error(
                "configuration not reloaded; the former one stays in force", metadata: ["error": "\(error.message)"])
            return
        }
        let changed = new.changes(from: latest).filter(\.isLive)
        latest = new
        let waiting = new.changes(from: started).filter { !$0.isLive }
        logger.notice(
            "configuration reloaded",
            metadata: [
                "changed": .array(changed.map { "\($0.rawValue)" }),
                "after.restart": .array(waiting.map { "\($0.rawValue)" }),
            ])
    }
}

extension AgentSettings {
    /// The settings with other values than in `former`, a token in a file of the same name among them.
    func changes(from former: AgentSettings) -> [SettingName] {
        var changes = layers.changes(from: former.layers)
        // One that was taken away is missed by nobody who runs with it.
        let isOtherToken =
            configuration.enrollmentToken != nil
            && configuration.enrollmentToken != former.configuration.enrollmentToken
        if isOtherToken, !changes.contains(where: { $0 == .enrollmentToken || $0 == .enrollmentTokenFile }) {
            changes.append(.enrollmentTokenFile)
        }
        return changes
    }
}
