import ArgumentParser
import DataSampler
import Glibc
import LogStore
import Logging
import ServiceLifecycle
import UnixSignals

struct RunCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "run", abstract: "Samples and sends until SIGTERM or SIGINT, then stops in order.",
        discussion: """
            At its end it sends what is due for up to five seconds; the rest waits on disk for the next start. SIGHUP reads the configuration \
            again: what can change while it runs does, for the rest the log says that it wants a restart, and a configuration that is wrong \
            changes nothing.
            """)

    @OptionGroup var options: RunOptions

    func run() async throws {
        let settings = try options.settings()
        // A command that has gone away must not end the agent.
        signal(SIGPIPE, SIG_IGN)
        // The agent's own messages are kept beside being shown, so that a request for logs finds them, and so does a crash log.
        let logs = try await FullDiskPause.retrying(told: { StandardStreams.error("ws1agent: \($0)") }) {
            try Self.openLogs(settings.configuration)
        }
        LoggingSystem.bootstrap { MultiplexLogHandler([OneLineLogHandler(label: $0), LogStoreHandler(store: logs, label: $0)]) }
        let logger = settings.configuration.traceLevel.applied(to: Logger(label: "ws1agent"))
        for warning in options.warnings(settings) { logger.warning("\(warning)") }
        for remark in settings.remarks { logger.notice("\(remark)") }
        let service: AgentService
        do throws(DataSamplerError) {
            var configuration = settings.configuration
            configuration.logStore = logs
            let sampler = try DataSampler(configuration: configuration, logger: Logger(label: "ws1agent"))
            let running = RunningSettings(
                settings, logger: logger, read: { [options] () throws(AgentError) in try options.settings() },
                apply: { settings throws(AgentError) in
                    do throws(DataSamplerError) { try await sampler.reconfigure(settings.configuration) } catch { throw AgentError(error) }
                })
            service = AgentService(
                sampler: sampler, settings: running, directory: configuration.directory, group: settings.accessGroup, logger: logger)
        } catch {
            // It ends in order, so that nobody takes it for a crash.
            await logs.close()
            throw AgentError(error)
        }
        let group = ServiceGroup(
            configuration: .init(
                services: [
                    .init(service: service, successTerminationBehavior: .gracefullyShutdownGroup, serviceName: "ws1agent"),
                    .init(service: FootprintService(), successTerminationBehavior: .ignore, serviceName: "footprint"),
                ],
                gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
        do { try await group.run() } catch {
            await logs.close()
            throw error
        }
        await logs.close()
    }

    /// Whose session its log's is.
    static let logName = "ws1agent"

    private static func openLogs(_ configuration: DataSamplerConfiguration) throws -> LogStore {
        let settings = LogStore.Configuration(configuration, applicationName: logName, applicationVersion: DataSampler.version)
        do throws(LogStoreError) { return try LogStore(settings) } catch {
            throw AgentError(
                DataSamplerError(error.code == .diskFull ? .queueFull : .storage, error.message, cause: error))
        }
    }
}

/// The running agent: the sampler, and the control socket before it.
struct AgentService: Service {
    let sampler: DataSampler
    let settings: RunningSettings
    let directory: String
    let group: AccessGroup?
    let logger: Logger

    func run() async throws {
        // Listened to before the start: a reload that is asked for meanwhile is made at its end.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        do {
            try await FullDiskPause.retrying(told: { logger.error("\($0)") }) {
                do throws(DataSamplerError) { try await sampler.start() } catch { throw AgentError(error) }
            }
        } catch is CancellationError {
            return
        }
        let control = AgentControl(sampler: sampler)
        let server = ControlServer(directory: directory, accessGroup: group, logger: logger) { await control.answer($0) }
        let failure: AgentError?
        do {
            try await cancelWhenGracefulShutdown {
                try await withThrowingDiscardingTaskGroup { group in
                    group.addTask { for await _ in hangups { await settings.reload() } }
                    try await server.run()
                    group.cancelAll()
                }
            }
            failure = nil
        } catch let error as AgentError {
            failure = error
        }
        // In a task of its own, because a cancelled one could not wait for the disk.
        await Task { await sampler.stop() }.value
        if let failure { throw failure }
    }
}
