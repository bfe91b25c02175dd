import CollectorAPI
import Console
import FoundationEssentials
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import LogArchive
import Logging
import NIOCore
import NIOSSL
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// The collector's HTTP server: combines routes, limits and connections with a record store and metadata.
package struct CollectorServer: Sendable {
    package struct Settings: Sendable {
        package var host: String
        package var port: Int
        package var connections: ConnectionLimits
        /// The largest batch body as sent, in bytes.
        package var bodyBytes: Int
        /// The largest batch body after inflating, in bytes.
        package var inflatedBytes: Int
        /// The most bodies in memory, and their bytes.
        package var budget: IngestBudget
        /// Whether only TLS is served. Answers then inform browsers of it.
        package var servesTLS = false
        /// The average rate of one device, in requests per second. Bursts may be twice as large.
        package var deviceRequestsPerSecond = 1000
        /// The most answers that stream logs. Each uses up to about 40 MiB.
        package var logStreams: Int
        /// The most requests of people and scripts that are worked on at once, with a share per token.
        package var peopleRequests = 64
        package var requestsPerToken = 16
        /// Fewer free bytes of the data directory are shown on every page of the console; 0 for never.
        package var diskNoticeBytes: UInt64 = 0
        /// The most questions about the fleet's records at once.
        package var fleetScans: Int
        /// The metrics of devices that `/metrics/devices` shows at first.
        package var deviceMetrics = DeviceMetricSettings()

        package init(
            host: String = "127.0.0.1", port: Int = 8420, connections: ConnectionLimits = ConnectionLimits(),
            bodyBytes: Int = WireLimits.bodyBytes, inflatedBytes: Int = WireLimits.inflatedBytes,
            budget: IngestBudget = IngestBudget(), logStreams: Int = 8, fleetScans: Int = 4
        ) {
            self.host = host
            self.port = port
            self.connections = connections
            self.bodyBytes = bodyBytes
            self.inflatedBytes = inflatedBytes
            self.budget = budget
            self.logStreams = logStreams
            self.fleetScans = fleetScans
        }
    }

    package let settings: Settings
    package let responder: CollectorResponder
    /// Answers devices whose requests come another way than over HTTP.
    package let exchange: DeviceExchange
    /// Sums up the balances of all devices, while its `run` is called.
    package let fleetBalance: FleetBalanceKeeper
    /// The health of the collector itself, while its `run` is called.
    package let health: CollectorHealth
    /// The newest values of devices for Prometheus.
    package let deviceMetrics: DeviceMetricReader
    /// The collector's own metrics as OTLP.
    package let ownMetrics: OwnMetrics
    private let identity: CollectorIdentity
    private let metrics: CollectorMetrics
    private let logger: Logger

    /// - Parameters:
    ///   - collectors: how many serve the same devices now, behind a balancer.
    ///   - broker: the message broker that is served; `nil`: none.
    ///   - brokerConnection: a device's connection to the message broker; `nil` if none is known.
    package init(
        store: any RecordStore, metadata: MetadataService, archive: LogArchive, notices: NoticeService,
        settings: Settings = Settings(), collectors: @escaping @Sendable () -> Int = { 1 },
        certificates: DeviceCertificates = .off,
        telemetry: CollectorTelemetry = CollectorTelemetry(), console: Console? = nil,
        certificateExpiry: @escaping @Sendable () -> Double? = { nil },
        ownPin: @escaping @Sendable () -> Data? = { nil }, backupPin: @escaping @Sendable () -> Data? = { nil },
        ownRoot: @escaping @Sendable () -> Data? = { nil },
        serverCertificates: @escaping @Sendable () -> CertificatesView.Server? = { nil },
        retentionLimits: @escaping @Sendable () async -> RetentionLimits = { RetentionLimits() },
        broker: EnrollmentBroker? = nil,
        brokerConnection: @escaping @Sendable (DeviceID) -> BrokerConnectionView? = { _ in nil },
        logger: Logger, clock: @escaping @Sendable () -> Int64
    ) {
        self.settings = settings
        self.logger = logger
        let health = CollectorHealth(
            store: store, metadata: metadata, lowBytes: settings.diskNoticeBytes, logger: logger, now: clock)
        self.health = health
        let pins = CertificatePinCheck(ownPin: ownPin)
        metrics = telemetry.metrics
        identity = CollectorIdentity(
            collector: metadata.collectorID, incarnation: metadata.incarnationID, strictTransport: settings.servesTLS)
        let reader = BodyReader(
            batchLimit: BodyReader.Limit(bytes: settings.bodyBytes, inflatedBytes: settings.inflatedBytes),
            budget: settings.budget, metrics: telemetry.metrics)
        let router = CollectorRouter(
            metadata: metadata, certificates: certificates, identity: identity, metrics: telemetry.metrics,
            rate: RequestRate(perSecond: settings.deviceRequestsPerSecond, sharers: collectors),
            shares: RequestShares(settings.peopleRequests, perToken: settings.requestsPerToken),
            people: .shared, clock: clock)
        let shared = RouteContext(
            store: store, metadata: metadata, archive: archive, notices: notices, reader: reader,
            scans: RequestShares(settings.fleetScans), pages: RequestShares(settings.logStreams), logger: logger)
        fleetBalance = FleetBalanceKeeper(store: store, metadata: metadata, logger: logger, now: clock)
        deviceMetrics = DeviceMetricReader(store: store, metadata: metadata, settings: settings.deviceMetrics)
        let metricsRoutes = MetricsRoutes(
            shared: shared, registry: telemetry.registry, budget: settings.budget,
            certificateExpiry: certificateExpiry, deviceAuthority: certificates.authority)
        ownMetrics = OwnMetrics(
            routes: metricsRoutes, collector: metadata.collectorID, port: settings.port, began: clock(), clock: clock)
        let groups: [any RouteGroup] = [
            EnrollmentRoutes(shared: shared, certificates: certificates), IngestRoutes(shared: shared),
            OTLPRoutes(shared: shared, limits: settings.budget.otlpLimits, executor: .otlp, turns: OTLPTurns()),
            ProfileRoutes(shared: shared, pins: pins), ProfileRevisionRoutes(shared: shared, pins: pins),
            DeviceRoutes(shared: shared, brokerConnection: brokerConnection), DoNotDisturbRoutes(shared: shared),
            AssignmentRoutes(shared: shared),
            OrganizationRoutes(shared: shared),
            TokenRoutes(
                shared: shared,
                trust: EnrollmentTrust(own: ownPin, backup: backupPin, root: ownRoot, broker: broker)),
            RetentionRoutes(shared: shared),
            CapacityRoutes(shared: shared, rate: telemetry.metrics.ingestRate, limits: retentionLimits),
            CertificateRoutes(
                shared: shared, server: serverCertificates, backupPin: backupPin, devices: certificates),
            AboutRoutes(shared: shared, health: health, began: clock()), AuditRoutes(shared: shared),
            CommandRoutes(shared: shared), DeviceJobRoutes(shared: shared), LogQuotaRoutes(shared: shared),
            LogRoutes(shared: shared, streams: RequestShares(settings.logStreams)), LogLineRoutes(shared: shared),
            LogCountRoutes(shared: shared), UploadRoutes(shared: shared), NoticeRoutes(shared: shared),
            QueryRoutes(shared: shared), RecordRoutes(shared: shared),
            FleetBalanceRoutes(shared: shared, keeper: fleetBalance),
            SeriesRoutes(shared: shared), PositionRoutes(shared: shared), EventRoutes(shared: shared),
            FleetMetricRoutes(shared: shared), FleetSeriesRoutes(shared: shared),
            HealthRoutes(shared: shared, health: health, hasConsole: console != nil),
            metricsRoutes, DeviceMetricRoutes(shared: shared, values: deviceMetrics),
        ]
        for group in groups { group.add(to: router) }
        let api = router.responder()
        exchange = DeviceExchange(
            api: api, refusals: router.refusals, identity: identity, logger: logger)
        let telemetryOfConsole = RequestTelemetry(identity: identity, metrics: telemetry.metrics)
        responder = CollectorResponder(
            routes: router.routes, api: api,
            console: console.map { console in
                var console = console
                console.troubles = { health.troubles.map(Console.Trouble.init) }
                console.silenceNoticesFrom = { metadata.silenceNoticesFrom }
                return ConsoleRouter(
                    console: console, api: api, metadata: metadata, reader: reader, peers: router.peers,
                    people: .shared, servesTLS: settings.servesTLS, logger: logger
                ).responder(telemetry: telemetryOfConsole, metrics: telemetry.metrics, clock: clock)
            })
    }

    /// The server as a service. A `ServiceGroup` runs and ends it.
    /// - Parameters:
    ///   - tls: `nil` serves plain HTTP.
    ///   - started: called once with the port.
    package func application(
        tls: TLSConfiguration? = nil, eventLoopGroup: EventLoopGroupProvider = .singleton,
        started: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) throws -> Application<CollectorResponder> {
        let (identity, limits, metrics) = (identity, settings.connections, metrics)
        let shares = ConnectionShares(limits, logger: logger)
        let http1 = HTTPServerBuilder.http1(
            configuration: .init(
                additionalChannelHandlers: [
                    ConnectionGuard(identity: identity, limits: limits, shares: shares, metrics: metrics)
                ],
                httpDecoderConfiguration: .init(
                    maxHeaderFieldSize: 16 * 1024, maxHeaderListSize: 32 * 1024, maxHeaderFieldCount: 100)))
        return Application(
            responder: responder,
            server: try tls.map { try HTTPServerBuilder.tls(http1, tlsConfiguration: $0) } ?? http1,
            configuration: ApplicationConfiguration(
                address: .hostname(settings.host, port: settings.port),
                availableConnectionsDelegate: MaximumAvailableConnections(limits.connections, logger: logger)),
            onServerRunning: { channel in await started(channel.localAddress?.port ?? 0) },
            eventLoopGroupProvider: eventLoopGroup, logger: logger)
    }
}

/// An error outside of a request. A request's error is a `Problem`.
package struct CollectorError: CodedError {
    package enum Code: String, Sendable {
        /// A configured file or value cannot be used.
        case invalidConfiguration = "invalid-configuration"
        case io
    }

    package let code: Code
    /// The text for people: what failed, on what, and what to do.
    package let message: String
    package let cause: (any Error)?

    package init(_ code: Code, _ message: String, cause: (any Error)? = nil) {
        self.code = code
        self.message = message
        self.cause = cause
    }
}
