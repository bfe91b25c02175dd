import ArgumentParser
import CommandKit
import DataSampler
import FoundationEssentials
import Glibc
import LogStore
import Logging
import ServiceLifecycle
import UnixSignals

struct RunCommand: ServiceCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Samples and sends until SIGTERM or SIGINT, then stops in order.",
        discussion: """
            Before it ends, it sends due records for up to five seconds. The others wait on disk for the next start. \
            SIGHUP makes it read the configuration again. It applies the settings that can change at run time, and \
            logs which ones need a restart. An invalid configuration changes nothing.
            """)

    @OptionGroup var options: RunOptions

    static func checkLimits() throws(CommandError) { try ProcessLimits.agent.check() }

    func run() async throws {
        let settings = try options.settings()
        let keyLogger = Logger(label: "ws1agent") { OneLineLogHandler(label: $0) }
        let keyed = settings.configuration.withKeys(logger: keyLogger)
        // The agent's own messages also go into the log store, so that log requests and crash logs contain them.
        let logs = try await FullDiskPause.retrying(reported: { StandardError.line("ws1agent: \($0)") }) {
            try Self.openLogs(keyed)
        }
        LoggingSystem.bootstrap {
            MultiplexLogHandler([OneLineLogHandler(label: $0), LogStoreHandler(store: logs, label: $0)])
        }
        let logger = settings.configuration.traceLevel.applied(to: Logger(label: "ws1agent"))
        for warning in options.warnings(settings) { logger.warning("\(warning)") }
        for remark in settings.remarks { logger.notice("\(remark)") }
        let service: AgentService
        do throws(DataSamplerError) {
            var configuration = keyed
            configuration.logStore = logs
            let hook = settings.noticeHook.map { program in
                NoticeHook(
                    .init(
                        program: program, arguments: settings.noticeHookArguments,
                        limit: .seconds(settings.noticeHookSeconds)), logger: logger)
            }
            if let hook { configuration.receiveMessage = { message in try await hook.deliver(message) } }
            let sampler = try DataSampler(configuration: configuration, logger: Logger(label: "ws1agent"))
            let running = RunningSettings(
                settings, logger: logger, read: options.settings,
                apply: { try await sampler.reconfigure($0.configuration) })
            service = AgentService(
                sampler: sampler, settings: running, directory: configuration.directory, group: settings.accessGroup,
                hook: hook, logger: logger)
        } catch {
            // An orderly close, so that the next start does not report a crash.
            await logs.close()
            throw CommandError(error)
        }
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(
                        service: service, successTerminationBehavior: .gracefullyShutdownGroup,
                        serviceName: "ws1agent"),
                    .init(service: FootprintService(), successTerminationBehavior: .ignore, serviceName: "footprint"),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        do { try await group.run() } catch {
            await logs.close()
            throw error
        }
        await logs.close()
    }

    /// The program name of the session in the agent's log.
    static let logName = "ws1agent"

    private static func openLogs(_ configuration: DataSamplerConfiguration) throws -> LogStore {
        let settings = LogStore.Configuration(
            configuration, applicationName: logName, applicationVersion: DataSampler.version)
        do throws(LogStoreError) { return try LogStore(settings) } catch {
            throw CommandError(DataSamplerError(error))
        }
    }
}

/// The running agent: the sampler and the control socket.
struct AgentService: Service {
    let sampler: DataSampler
    let settings: RunningSettings<AgentSettings>
    let directory: String
    let group: AccessGroup?
    let hook: NoticeHook?
    let logger: Logger

    func run() async throws {
        // From before the start until after the stop, so that no notice of either is missed.
        let notices = sampler.notices
        let hearing = Task {
            await withDiscardingTaskGroup { group in
                if let hook { group.addTask { await hook.run() } }
                for await notice in notices { receive(notice) }
            }
        }
        do { try await serve() } catch {
            await end(hearing)
            throw error
        }
        await end(hearing)
    }

    private func end(_ hearing: Task<Void, Never>) async {
        hearing.cancel()
        await hearing.value
    }

    private func receive(_ notice: DataSamplerNotice) {
        var metadata: Logger.Metadata = ["kind": "\(notice.kind)", "message": "\(notice.message)"]
        for (key, value) in notice.details { metadata["detail.\(key)"] = "\(value)" }
        logger.notice("notice", metadata: metadata)
        // The hook had the message itself.
        if notice.kind != .messageReceived { hook?.receive(notice) }
    }

    private func serve() async throws {
        // Listens before the start, so that a reload requested during the start happens after it.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        do {
            try await FullDiskPause.retrying(reported: { logger.error("\($0)") }) {
                do throws(DataSamplerError) { try await sampler.start() } catch { throw CommandError(error) }
            }
        } catch is CancellationError {
            return
        }
        let control = AgentControl(sampler: sampler, hook: hook)
        let server = ControlServer(
            directory: directory, accessGroup: group, logger: logger, answer: { await control.answer($0) },
            answerLine: { await control.answer(line: $0) })
        let failure: CommandError?
        do {
            try await cancelWhenGracefulShutdown {
                try await withThrowingDiscardingTaskGroup { group in
                    group.addTask { for await _ in hangups { await settings.reload() } }
                    // The agent samples and sends meanwhile; only commands are not answered.
                    try await FullDiskPause.retrying(reported: { logger.error("\($0)") }) { try await server.run() }
                    group.cancelAll()
                }
            }
            failure = nil
        } catch is CancellationError {
            failure = nil
        } catch let error as CommandError {
            failure = error
        }
        // A separate task, because a cancelled one could not wait for the disk.
        await Task { await sampler.stop() }.value
        if let failure { throw failure }
    }
}

/// Waits for room if the disk is full at the start: bytes, inodes or a quota. If the agent ended instead, its service
/// manager would restart it a few times and then give up.
enum FullDiskPause {
    /// 1 s after the first attempt, then doubled up to a minute.
    static func duration(after attempts: Int) -> Duration { .seconds(min(60, 1 << min(attempts, 6))) }

    /// Runs `body` again as long as it fails because of a full disk.
    ///
    /// - Parameters:
    ///   - told: receives one message that says why the agent waits.
    ///   - sleep: throws when cancelled; tests replace it.
    /// - Throws: any other error of `body`, and `CancellationError`.
    static func retrying<T>(
        isolation: isolated (any Actor)? = #isolation, reported: (String) -> Void,
        sleep: (Duration) async throws -> Void = pause, _ body: () async throws -> T
    ) async throws -> T {
        var attempts = 0
        while true {
            do { return try await body() } catch let error as CommandError
                where error.isForWantOfRoom
            {
                if attempts == 0 { reported("\(error.message) The agent waits until there is room.") }
            }
            try await sleep(duration(after: attempts))
            attempts += 1
        }
    }

    /// Throws early if the agent is asked to stop.
    private static func pause(for duration: Duration) async throws {
        try await cancelWhenGracefulShutdown { try await Task.sleep(for: duration) }
    }
}

struct EndedCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ended", abstract: "For a service manager: notes how the agent ended, for the crash log.",
        discussion: """
            Reads EXIT_CODE (exited, killed or dumped), EXIT_STATUS (a number, or a signal's name) and SERVICE_RESULT, \
            as systemd sets them for ExecStopPost, and notes them in the agent's log. The agent's next start reports \
            them with the crash. After an orderly end there is nothing to note.
            """)

    @OptionGroup var options: DirectoryOptions

    func run() throws {
        let directory = try DeviceAccess(options).configuration.directory
        let environment = ProcessInfo.processInfo.environment
        guard let code = environment["EXIT_CODE"], let status = environment["EXIT_STATUS"], !code.isEmpty,
            !status.isEmpty
        else {
            throw CommandError(
                .usage,
                "EXIT_CODE and EXIT_STATUS are not set: only a service manager runs this, as systemd's ExecStopPost")
        }
        let isRecorded: Bool
        do throws(LogStoreError) {
            isRecorded = try SessionEnding.record(
                code: code, status: status, result: environment["SERVICE_RESULT"] ?? "",
                application: RunCommand.logName,
                in: StoreDirectory(path: "\(directory)/\(DataSampler.logDirectoryName)"))
        } catch {
            throw CommandError(error)
        }
        try Output.line(isRecorded ? "noted: \(code) \(status)" : "nothing to note: the agent closed its log")
    }
}
