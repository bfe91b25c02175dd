import ArgumentParser
import Collector
import CollectorAPI
import CommandKit
import Forwarding
import Foundation
import LogArchive
import Logging
import MQTTIntake
import RecordStore
import Registry
import ServiceLifecycle
import TelemetryBasics
import UnixSignals
import WireModel

struct ServeCommand: ServiceCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the collector until SIGTERM or SIGINT.",
        discussion: """
            The first start creates the organization `default`, an enrollment token and an administrator's token. It \
            writes the tokens to the data directory (enrollment-token, administrator-token), readable by the owner \
            only. The administrator's token is valid for a year; 30 and 7 days before its end a notice names the \
            command that creates the next one.

            Examples:
              ws1collector serve
              ws1collector serve --listen 0.0.0.0:8420 --tls-certificate cert.pem \
            --tls-key key.pem
              ws1collector serve --store cluster --config /etc/ws1collector.yaml
            """)

    /// The time in which requests under way must end after a signal.
    static let drainSeconds = 10

    @OptionGroup var options: ServerOptions

    static func checkLimits() throws(CommandError) {
        for limit in MemoryLimit.current() { try limit.check() }
    }

    func run() async throws {
        // Listens before the settings are read, so that a reload requested during the start happens after it.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let settings = try options.settings()
        let logLevel = SharedLogLevel(settings.logLevel.loggerLevel)
        let logger = Logger(label: "ws1collector") { _ in JSONLinesLogHandler(level: logLevel) }
        // This check comes before anything is opened, so that a failure leaves nothing half made.
        let server = try Self.fitting(settings.server, MemoryLimit.current(), logger: logger)
        for warning in options.warnings { logger.warning("\(warning)") }
        for exposure in DirectoryExposure.of(directory: settings.data) {
            logger.warning("\(exposure.message(settings.data))")
        }
        let (certificates, tls) = try settings.secrets(logger: logger)
        try settings.broker.checkFiles()
        let telemetry = CollectorTelemetry()
        let served = try await Self.open(settings, telemetry: telemetry, logger: logger)
        let forwarding = ForwardService(
            settings.forwarding, store: served.store, archive: served.archive, metadata: served.metadata,
            notices: served.notices, metrics: telemetry.registry, logger: logger)
        let console = ConsoleAssets(settings.assets).console(logger: logger)
        let brokerDevices = settings.broker.address.map { _ in BrokerDevices() }
        let collector = CollectorServer(
            store: served.store, metadata: served.metadata, archive: served.archive, notices: served.notices,
            settings: server, collectors: served.collectors, certificates: certificates, telemetry: telemetry,
            console: console,
            certificateExpiry: { tls?.expiry }, ownPin: { tls?.pin },
            backupPin: { try? KeyPin.of(file: KeyPin.backupKeyPath(in: settings.data), flag: "the backup key") },
            ownRoot: { tls?.root }, serverCertificates: { tls?.certificates },
            retentionLimits: { served.retention.limits },
            broker: settings.broker.enrollment,
            brokerConnection: { brokerDevices?.connection(of: $0).map { BrokerConnectionView($0) } },
            logger: logger, clock: { SystemStoreClock().now() })
        let intake = try await settings.intake(collector, served, brokerDevices, telemetry, logger: logger)
        let behindBroker: [any Service] = intake.map { intake in [BackgroundService { await intake.run() }] } ?? []
        let running = RunningSettings(settings, logger: logger, read: options.settings) { new in
            logLevel.level = new.logLevel.loggerLevel
            served.archive.setQuotas(new.logQuotas)
            served.metadata.setRecordQuotas(new.recordQuotas)
            await served.retention.setLimits(new.retention)
            await collector.deviceMetrics.apply(new.deviceMetrics)
            forwarding.apply(new.forwarding)
        }
        let application = try collector.application(tls: tls?.configuration) { port in
            Self.announce(settings, port: port, isFirstStart: served.created != nil, logger: logger)
        }
        let webhook = settings.noticeWebhook.map {
            WebhookSender($0, collector: served.metadata.collectorID, proxy: settings.webhookProxy)
        }
        let watched = WatchedFiles(settings: settings) {
            (tls?.watched.map { [$0] } ?? []) + (certificates.authority?.watched ?? [])
        }
        let outcome = await Self.serve(
            application,
            beside: try served.services(watched, webhook, forwarding) + [
                BackgroundService {
                    await DeviceJobWorker(metadata: served.metadata, logger: logger).run(on: .continuous)
                },
                BackgroundService { await collector.fleetBalance.run(on: .continuous) },
                // Each collector of a cluster sends its own.
                BackgroundService { await forwarding.runOwnMetrics { await collector.ownMetrics.request() } },
                BackgroundService { await collector.health.run(on: .continuous) },
                ReloadService(hangups: hangups) {
                    tls?.reload()
                    await running.reload()
                },
            ]
                + (tls.map { [$0] } ?? []) + behindBroker,
            logger: logger)
        await webhook?.shutDown()
        await served.close()
        if case .failure(let error) = outcome { throw CommandError(serving: settings.listen, error) }
        logger.info("stopped")
    }

    private static func open(
        _ settings: Settings, telemetry: CollectorTelemetry, logger: Logger
    ) async throws -> any ServedData {
        switch settings.store {
        case .directory: try await ServedDirectory(settings, telemetry: telemetry, logger: logger)
        case .cluster: try await ServedCluster(settings, telemetry: telemetry, logger: logger)
        }
    }

    /// Reduces connections to the descriptors, and requests to the memory, that are available.
    /// - Throws: `CommandError` if there are too few descriptors to run.
    private static func fitting(
        _ settings: CollectorServer.Settings, _ memoryLimits: [MemoryLimit], logger: Logger
    ) throws(CommandError) -> CollectorServer.Settings {
        var fitting = settings
        let limit = OpenFiles.raiseLimit()
        try OpenFiles.check(limit: limit, cores: ProcessInfo.processInfo.activeProcessorCount)
        fitting.connections.connections = OpenFiles.connections(wanted: settings.connections.connections, limit: limit)
        if fitting.connections.connections < settings.connections.connections {
            logger.warning(
                "fewer connections than set: the limit on open files (ulimit -Hn, LimitNOFILE) allows no more",
                metadata: ["connections": "\(fitting.connections.connections)", "open.files.limit": "\(limit)"])
        }
        for limit in memoryLimits {
            let former = fitting
            fitting = limit.fitting(fitting)
            if fitting.budget.maximumBytes < former.budget.maximumBytes || fitting.logStreams < former.logStreams {
                logger.warning(
                    "fewer requests in memory than set: the limit on memory allows no more",
                    metadata: [
                        "memory.limit": "\(limit.bytes)", "memory.limit.of": "\(limit.source.rawValue)",
                        "bodies.bytes": "\(fitting.budget.maximumBytes)", "log.streams": "\(fitting.logStreams)",
                    ])
            }
        }
        return fitting
    }

    private static func serve(_ application: some Service, beside others: [any Service], logger: Logger) async
        -> Result<Void, any Error>
    {
        var configuration = ServiceGroupConfiguration(
            // The last one is asked to stop first, and the others work until it has ended.
            services: others.map { .init(service: $0, successTerminationBehavior: .ignore) }
                + [.init(service: application)],
            gracefulShutdownSignals: [.sigterm, .sigint], logger: logger)
        configuration.maximumGracefulShutdownDuration = .seconds(drainSeconds)
        do {
            try await ServiceGroup(configuration: configuration).run()
            return .success(())
        } catch is CancellationError {
            // Devices send again the requests that were cut off.
            logger.warning("requests cut off", metadata: ["drain.seconds": "\(drainSeconds)"])
            return .success(())
        } catch { return .failure(error) }
    }

    private static func announce(_ settings: Settings, port: Int, isFirstStart: Bool, logger: Logger) {
        let address = ListenAddress(host: settings.listen.host, port: port)
        logger.info(
            "listening",
            metadata: [
                "address": "\(address)", "tls": "\(settings.tls != nil)", "data": "\(settings.data)",
                "version": "\(CollectorVersion.current)",
            ])
        if settings.tls == nil, !settings.listen.isLoopback {
            logger.warning("listening beyond this machine without TLS: others can read credentials and data on the way")
        }
        let files = FirstStartFiles(directory: settings.data)
        if isFirstStart {
            logger.notice(
                "first start: tokens created",
                metadata: [
                    "enrollment.token.file": "\(files.enrollmentTokenPath)",
                    "administrator.token.file": "\(files.administratorTokenPath)",
                ])
        }
    }
}

/// Reads the configuration again on SIGHUP.
struct ReloadService: Service {
    let hangups: UnixSignalsSequence
    let reload: @Sendable () async -> Void

    func run() async throws {
        for await _ in hangups.cancelOnGracefulShutdown() { await reload() }
    }
}
