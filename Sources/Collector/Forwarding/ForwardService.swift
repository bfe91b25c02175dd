import CollectorTunables
import CoreMetrics
import HTTPConnection
import LogArchive
import Logging
import RecordStore
import Registry
import Synchronization
import WireModel

/// The endpoints of a collector, by their names, and what all of them need.
package struct ForwardSettings: Sendable, Equatable {
    package var endpoints: [String: ForwardEndpoint] = [:]
    package var allowsPlaintext = false
    package var proxies = ProxyEnvironment()

    package init() {}
}

/// Sends what the collector stores on to other receivers of OTLP.
///
/// Each endpoint has a cursor for each source in the registry, which moves once the endpoint has answered. So each
/// record is sent at least once, in the order of receipt, and therefore in the order of each device's numbers. An
/// endpoint that is slow or gone delays no other one and no device: the records wait where they are stored.
///
/// In a cluster `run` is called by the collector whose turn at housekeeping it is. Safe from any thread.
package final class ForwardService: Sendable {
    private struct State {
        var settings: ForwardSettings
        /// Changes with the settings.
        var generation = 0
    }

    private let state: Mutex<State>
    private let store: any RecordStore
    private let archive: LogArchive
    private let metadata: MetadataService
    private let notices: NoticeService
    let factory: any MetricsFactory
    private let clock: any StoreClock
    let logger: Logger
    let makeClient: @Sendable (ForwardEndpoint, ForwardSettings) throws -> any ForwardClient

    /// How often gauges are set and notices looked at. Other settings are applied within a tenth of it.
    static let interval = Duration.seconds(5)

    /// - Parameter makeClient: other than HTTP only in tests.
    package init(
        _ settings: ForwardSettings, store: any RecordStore, archive: LogArchive, metadata: MetadataService,
        notices: NoticeService, metrics: any MetricsFactory, clock: any StoreClock = SystemStoreClock(), logger: Logger,
        makeClient: @escaping @Sendable (ForwardEndpoint, ForwardSettings) throws -> any ForwardClient = {
            try HTTPForwardClient($0, $1)
        }
    ) {
        state = Mutex(State(settings: settings))
        (self.store, self.archive, self.metadata, self.notices) = (store, archive, metadata, notices)
        (factory, self.clock, self.logger) = (metrics, clock, logger)
        self.makeClient = makeClient
    }

    /// Applies other settings. Every endpoint goes on where its cursor is.
    package func apply(_ settings: ForwardSettings) {
        state.withLock { state in
            state.settings = settings
            // Files of authorities may have changed, too.
            state.generation += 1
        }
    }

    var current: (settings: ForwardSettings, generation: Int) { state.withLock { ($0.settings, $0.generation) } }

    /// Forwards until the task is cancelled.
    package func run() async {
        var reported: [String: String]?
        while !Task.isCancelled {
            let (settings, generation) = current
            let forwarders = forwarders(settings)
            reported = await withTaskGroup(of: Void.self, returning: [String: String]?.self) { group in
                for forwarder in forwarders { group.addTask { await forwarder.run() } }
                let told = await watch(forwarders, since: generation, reported)
                group.cancelAll()
                await group.waitForAll()
                return told
            }
            for forwarder in forwarders { forwarder.metrics.waits(0, lagMicroseconds: 0) }
            await shutDown(forwarders)
        }
    }

    private func forwarders(_ settings: ForwardSettings) -> [SourceForwarder] {
        let devices = ForwardDevices(metadata)
        return settings.endpoints.sorted { $0.key < $1.key }.flatMap { name, endpoint -> [SourceForwarder] in
            let sources = ForwardSource.allCases.filter { !endpoint.kinds(of: $0).isEmpty }
            do {
                let client = try makeClient(endpoint, settings)
                return sources.map { source in
                    SourceForwarder(
                        name: name, endpoint: endpoint, source: source, store: store, archive: archive,
                        metadata: metadata, devices: devices, client: client,
                        metrics: ForwardMetrics(name, source, factory), clock: clock, logger: logger)
                }
            } catch {
                // The settings were checked, so a file has gone since.
                logger.error(
                    "an endpoint cannot be used until the configuration is reloaded",
                    metadata: ["forward.endpoint": "\(name)", "error": "\(error)"])
                return []
            }
        }
    }

    private func shutDown(_ forwarders: [SourceForwarder]) async {
        var ended: Set<String> = []
        for forwarder in forwarders where ended.insert(forwarder.name).inserted { await forwarder.client.shutDown() }
    }

    /// Sets gauges and raises notices, until the settings change or the task is cancelled.
    /// - Parameter reported: the notices that are open; `nil` if that is not known.
    private func watch(
        _ forwarders: [SourceForwarder], since generation: Int, _ reported: [String: String]?
    ) async -> [String: String]? {
        var reported = reported
        while !Task.isCancelled {
            for forwarder in forwarders { forwarder.measure() }
            let troubles = Self.troubles(forwarders, reported ?? [:])
            if troubles != reported, await notices.follow(.forwardFailing, troubles, reported: reported) {
                reported = troubles
            }
            for _ in 0..<10 {
                try? await Task.sleep(for: Self.interval / 10)
                if Task.isCancelled || current.generation != generation { return reported }
            }
        }
        return reported
    }

    /// By endpoint. The text is that of when it was noticed first: reasons that alternate would be a new notice each
    /// time.
    private static func troubles(
        _ forwarders: [SourceForwarder], _ reported: [String: String]
    ) -> [String: String] {
        var troubles: [String: String] = [:]
        for forwarder in forwarders where troubles[forwarder.name] == nil {
            guard let reason = forwarder.trouble(), let url = forwarder.endpoint.url else { continue }
            troubles[forwarder.name] =
                reported[forwarder.name]
                ?? "Nothing could be forwarded to \(url) for \(Tunables.Forwarding.patience.components.seconds / 60) "
                + "minutes: \(reason). Records wait until retention removes them."
        }
        return troubles
    }
}

extension HTTPForwardClient {
    init(_ endpoint: ForwardEndpoint, _ settings: ForwardSettings) throws(ConnectionSettingsError) {
        guard let url = endpoint.url else { throw ConnectionSettingsError(.invalidServerURL, "it has no url") }
        try self.init(endpoint, url, allowsPlaintext: settings.allowsPlaintext, proxies: settings.proxies)
    }
}
