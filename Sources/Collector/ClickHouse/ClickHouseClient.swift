import AsyncHTTPClient
import HTTPConnection
import Logging
import NIOCore
import NIOPosix
import Synchronization

/// Asks ClickHouse servers over HTTP. All of them are replicas with the same tables.
///
/// The client chooses a replica for each request: the first of the configuration that works. A replica that did not
/// answer is asked last for some seconds. Queries are repeated on other replicas; inserts and DDL are not, unless no
/// connection could be made.
///
/// Thread-safe. Requests run side by side over up to 32 connections for each replica. Call `shutDown()` once, last.
package final class ClickHouseClient: Sendable {
    private struct State {
        var reads: ReplicaHealth
        /// A replica that has lost ZooKeeper refuses inserts and still answers queries.
        var inserts: ReplicaHealth
        var isShutDown = false
    }

    package let replicas: [ClickHouseReplica]
    let configuration: ClickHouseConfiguration
    /// The most bytes of an answer.
    package var maximumAnswerBytes: Int { configuration.maximumAnswerBytes }
    private let exchanges: [ClickHouseExchange]
    /// One for each replica, because their ways may lead through different proxies.
    private let clients: [HTTPClient]
    private let logger: Logger
    private let now: @Sendable () -> ContinuousClock.Instant
    private let state: Mutex<State>

    /// An unused connection closes before the server does it, which is after 3 s by default. Otherwise a request could
    /// be sent just then, and be lost.
    private static let keepAlive = Duration.seconds(2)
    private static let connectionsForEachReplica = 32

    /// Makes no connection.
    /// - Throws: `configuration` if a URL or the file of authorities is not valid, or no URL is given.
    package convenience init(_ configuration: ClickHouseConfiguration, logger: Logger) throws(ClickHouseError) {
        try self.init(configuration, logger: logger, now: { ContinuousClock.now })
    }

    /// - Parameter now: the time by which replicas are asked last.
    package init(
        _ configuration: ClickHouseConfiguration, logger: Logger,
        now: @escaping @Sendable () -> ContinuousClock.Instant
    ) throws(ClickHouseError) {
        let endpoints: [EndpointURL]
        let clientConfigurations: [HTTPClient.Configuration]
        do throws(ConnectionSettingsError) {
            endpoints = try configuration.urls.map { (url) throws(ConnectionSettingsError) in
                try EndpointURL(server: url, name: "ClickHouse URL")
            }
            try Self.checkPlaintext(configuration, endpoints)
            clientConfigurations = try endpoints.map { (endpoint) throws(ConnectionSettingsError) in
                try Self.clientConfiguration(configuration, endpoint)
            }
        } catch {
            throw ClickHouseError(.configuration, error.message, cause: error)
        }
        guard !endpoints.isEmpty else {
            throw ClickHouseError(.configuration, "no ClickHouse URL is given; give at least one, http[s]://HOST:PORT")
        }
        let clients = clientConfigurations.map {
            HTTPClient(
                eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup.singleton), configuration: $0)
        }
        let replicas = endpoints.enumerated().map { ClickHouseReplica(index: $0.offset, url: "\($0.element)") }
        self.clients = clients
        self.replicas = replicas
        self.configuration = configuration
        self.logger = logger
        self.now = now
        exchanges = zip(zip(clients, endpoints), replicas).map {
            ClickHouseExchange(
                client: $0.0, endpoint: $0.1, replica: $1, user: configuration.user, password: configuration.password)
        }
        let health = ReplicaHealth(count: replicas.count)
        state = Mutex(State(reads: health, inserts: health))
    }

    private static func checkPlaintext(
        _ configuration: ClickHouseConfiguration, _ endpoints: [EndpointURL]
    ) throws(ConnectionSettingsError) {
        if !configuration.allowsPlaintext,
            let exposed = endpoints.first(where: { $0.scheme == .http && !$0.isLoopback })
        {
            throw ConnectionSettingsError(
                .plaintext,
                "ClickHouse at \(exposed) is on another machine, and plain http:// lets everybody in between read and "
                    + "change records. Use https://, or allow plaintext where the network itself is protected")
        }
    }

    private static func clientConfiguration(
        _ configuration: ClickHouseConfiguration, _ endpoint: EndpointURL
    ) throws(ConnectionSettingsError) -> HTTPClient.Configuration {
        var settings = ConnectionSettings(
            collector: endpoint, certificateAuthorityFile: configuration.caFile)
        // Of a proxy on the way, too.
        settings.allowsPlaintext = configuration.allowsPlaintext
        settings.trustsSystem = false
        settings.keepAlive = keepAlive
        settings.connectTimeout = .seconds(configuration.connectTimeoutSeconds)
        try settings.applyProxy(from: configuration.proxies)
        var result = try settings.clientConfiguration()
        result.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsForEachReplica
        return result
    }

    /// Ends the connections. Requests that still run end with an error; the outcome of an insert is then unknown.
    package func shutDown() async {
        let isFirst = state.withLock { state in
            defer { state.isShutDown = true }
            return !state.isShutDown
        }
        guard isFirst else { return }
        // Fails only if it was shut down before.
        for client in clients { try? await client.shutdown() }
    }

    func checkRunning() throws(ClickHouseError) {
        guard state.withLock({ !$0.isShutDown }) else {
            throw ClickHouseError(.shutDown, "the ClickHouse client has been shut down")
        }
    }

    func exchange(_ index: Int) -> ClickHouseExchange { exchanges[index] }

    // MARK: Choice of replicas

    /// The replicas that a query shall ask, one after the other.
    func readOrder(_ replica: ClickHouseReplica?) -> [Int] {
        replica.map { [$0.index] } ?? state.withLock { $0.reads.order(now: now()) }
    }

    /// The replicas that an insert shall try, one after the other.
    func insertOrder(_ replica: ClickHouseReplica?) -> [Int] {
        replica.map { [$0.index] } ?? state.withLock { $0.inserts.order(now: now()) }
    }

    /// - Parameter insert: it was an insert, and the replica accepts them.
    func answered(_ index: Int, insert: Bool = false) {
        state.withLock { state in
            state.reads.answered(index)
            if insert { state.inserts.answered(index) }
        }
    }

    /// The replica did not answer.
    func failed(_ index: Int, _ error: ClickHouseError) {
        let now = now()
        let isNews = state.withLock { state in
            state.inserts.failed(index, now: now)
            return state.reads.failed(index, now: now)
        }
        logger.log(
            level: isNews ? .warning : .debug,
            "ClickHouse replica did not answer; it is asked last for a while",
            metadata: ["replica": "\(replicas[index])", "error": "\(error)"])
    }

    /// The replica answered that it accepts no inserts.
    func refusesInserts(_ index: Int, _ error: ClickHouseError) {
        let now = now()
        let isNews = state.withLock { $0.inserts.failed(index, now: now) }
        logger.log(
            level: isNews ? .warning : .debug,
            "ClickHouse replica takes no inserts; others are asked first for a while",
            metadata: ["replica": "\(replicas[index])", "error": "\(error)"])
    }
}
