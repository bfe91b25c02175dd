import ArgumentParser
import Collector
import CollectorStore
import CommandKit
import Foundation
import Logging
import ServiceLifecycle
import TelemetryBasics
import UnixSignals
import WireModel

struct ServeCommand: ServiceCommand {
    static let configuration = CommandConfiguration(
        commandName: "serve",
        abstract: "Run the collector until SIGTERM or SIGINT.",
        discussion: """
            The first start creates the organization `default`, an enrollment token and an administrator's token. It writes the tokens to the
            data directory (enrollment-token, administrator-token), readable by the owner only. The administrator's token is valid for a year;
            30 and 7 days before its end a notice names the command that creates the next one.

            Examples:
              ws1collector serve --data /var/lib/ws1collector
              ws1collector serve --data /var/lib/ws1collector --listen 0.0.0.0:8420 --tls-certificate cert.pem --tls-key key.pem
            """)

    /// The time in which requests under way must end after a signal.
    static let drainSeconds = 10

    @OptionGroup var options: ServerOptions

    func run() async throws {
        // This check comes before any thread, because without memory for a thread the program ends without a message.
        let memoryLimits = MemoryLimit.current()
        for limit in memoryLimits { try limit.check() }
        // Listens before the settings are read, so that a reload requested during the start happens after it.
        let hangups = await UnixSignalsSequence(trapping: .sighup)
        let settings = try options.settings()
        let logLevel = SharedLogLevel(settings.logLevel)
        let logger = Logger(label: "ws1collector") { _ in JSONLinesLogHandler(level: logLevel) }
        // This check comes before anything is opened, so that a failure leaves nothing half made.
        let server = try Self.fitting(settings.server, memoryLimits, logger: logger)
        for exposure in DirectoryExposure.of(directory: settings.data) {
            logger.warning("\(exposure.message(settings.data))")
        }
        let (certificates, tls) = try settings.secrets(logger: logger)
        let clock = SystemStoreClock()
        let (metadata, created) = try MetadataService.open(
            directory: settings.data, clock: clock, logger: logger,
            deliver: FirstStartFiles(directory: settings.data).write)
        let notices = NoticeService(metadata: metadata)
        let telemetry = CollectorTelemetry()
        let store = try SQLiteRecordStore.open(
            directory: settings.data, clock: clock, incidents: { notices.note($0, count: $1) }, logger: logger,
            observer: telemetry.metrics)
        await Self.catchUp(store, settings.data, metadata, logger: logger)
        var logs = LogArchive.Configuration()
        logs.quotas = settings.logQuotas
        let archive = try LogArchive.open(metadata: metadata, configuration: logs, logger: logger)
        let console = ConsoleAssets(settings.assets).console(logger: logger)
        let retention = try RecordRetention(
            store: store, directory: settings.data, limits: settings.retention, notices: notices, clock: clock,
            deviceClocks: metadata.deviceClocks, logger: logger)
        let collector = CollectorServer(
            store: store, metadata: metadata, archive: archive, notices: notices, settings: server,
            certificates: certificates, telemetry: telemetry, console: console, certificateExpiry: { tls?.expiry },
            ownPin: { tls?.pin },
            backupPin: { try? KeyPin.of(file: KeyPin.backupKeyPath(in: settings.data), flag: "the backup key") },
            serverCertificates: { tls?.certificates }, retentionLimits: { await retention.limits },
            logger: logger, clock: { clock.now() })
        let running = RunningSettings(settings, logger: logger, read: options.settings) { new in
            logLevel.level = new.logLevel
            archive.setQuotas(new.logQuotas)
            await retention.setLimits(new.retention)
        }
        let application = try collector.application(tls: tls?.configuration) { port in
            Self.announce(settings, port: port, isFirstStart: created != nil, logger: logger)
        }
        let webhook = settings.noticeWebhook.map { WebhookSender($0, collector: metadata.collectorID) }
        let housekeeping = HousekeepingService(
            Housekeeping(
                retention: retention,
                disk: DiskWatch(directory: settings.data, lowBytes: UInt64(settings.diskNoticeBytes), notices: notices),
                files: RecordFileWatch(store: store, notices: notices, logger: logger),
                certificates: CertificateWatch(notices: notices, clock: clock) {
                    (tls?.watched.map { [$0] } ?? []) + (certificates.authority?.watched ?? [])
                },
                tokens: TokenWatch(directory: settings.data, notices: notices, clock: clock, logger: logger) {
                    try await metadata.tokens()
                },
                notices: notices,
                silence: SilenceWatch(metadata: metadata, notices: notices, clock: clock, logger: logger) {
                    await store.isTakingRecords()
                },
                salvage: { await store.salvageDamaged(again: $0) }),
            courier: webhook.map { webhook in
                NoticeCourier(service: notices, logger: logger) { await webhook.post($0) }
            })
        let outcome = await Self.serve(
            application,
            beside: [
                housekeeping,
                BackgroundService { await DeviceJobWorker(metadata: metadata, logger: logger).run(on: .continuous) },
                BackgroundService { await collector.fleetBalance.run(on: .continuous) },
                ReloadService(hangups: hangups) {
                    tls?.reload()
                    await running.reload()
                },
            ]
                + (tls.map { [$0] } ?? []),
            logger: logger)
        await webhook?.shutDown()
        await store.shutDown()
        archive.shutDown()
        await metadata.close()
        if case .failure(let error) = outcome { throw CommandError(serving: settings.listen, error) }
        logger.info("stopped")
    }

    /// Brings the devices' latest states up to date. An unreadable record file is no reason not to serve.
    private static func catchUp(
        _ store: any RecordStore, _ directory: String, _ metadata: MetadataService, logger: Logger
    ) async {
        do {
            let report = try await ProjectionRebuild(of: store, directory: directory, metadata: metadata).catchUp()
            logger.debug("device states caught up", metadata: ["records": "\(report.records)"])
            if !report.unreadableFiles.isEmpty {
                logger.warning(
                    "device states caught up, except from damaged record files",
                    metadata: ["store.files": "\(report.unreadableFiles.joined(separator: ", "))"])
            }
        } catch {
            logger.warning(
                "device states could not be caught up; they may be a minute old", metadata: ["error": "\(error)"])
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
            services: [.init(service: application)]
                + others.map { .init(service: $0, successTerminationBehavior: .ignore) },
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

/// Runs housekeeping beside the server until the process is told to stop.
struct HousekeepingService: Service {
    private let housekeeping: Housekeeping
    private let courier: NoticeCourier?

    /// - Parameter courier: sends notices on; `nil` if there is no webhook.
    init(_ housekeeping: Housekeeping, courier: NoticeCourier? = nil) {
        self.housekeeping = housekeeping
        self.courier = courier
    }

    func run() async {
        await cancelWhenGracefulShutdown {
            await withTaskGroup { group in
                group.addTask { await housekeeping.run(on: .continuous) }
                // A separate task, so that a slow receiver does not delay the housekeeping.
                if let courier { group.addTask { await courier.run(on: .continuous) } }
            }
        }
    }
}

/// Works beside the server until the process is told to stop. The task is cancelled then.
struct BackgroundService: Service {
    let work: @Sendable () async -> Void

    func run() async {
        await cancelWhenGracefulShutdown { await work() }
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
