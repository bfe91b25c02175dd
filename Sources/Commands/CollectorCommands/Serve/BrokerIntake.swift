import Collector
import CollectorAPI
import CommandKit
import Foundation
import Logging
import MQTTClient
import MQTTIntake
import Registry
import TelemetryBasics
import WireModel

extension Settings {
    /// The intake from the message broker; `nil` without one.
    /// - Throws: `CommandError` if libmosquitto cannot be used; errors of the registry.
    func intake(
        _ collector: CollectorServer, _ served: any ServedData, _ devices: BrokerDevices?,
        _ telemetry: CollectorTelemetry, logger: Logger
    ) async throws -> MQTTIntake? {
        guard let address = broker.address, let devices else { return nil }
        // Another one for each process: parts of a request that one collector has begun must not reach the next one.
        let level = CollectorID.random().data.hexadecimal
        let topics = IntakeTopics(
            prefix: address.prefix, collector: level, share: try await served.metadata.brokerShare())
        let settings = broker
        let connection: LibraryBroker
        do throws(MQTTError) {
            connection = try LibraryBroker(topics) { () throws(MQTTError) in
                guard let connection = try settings.connection(clientID: "ws1collector-\(level)") else {
                    throw MQTTError(.configuration, "mqtt-broker is not set")
                }
                return connection
            }
        } catch { throw CommandError(.usage, error.message, cause: error) }
        var limits = MQTTIntake.Settings()
        limits.maximumRequests = broker.maximumRequests
        return MQTTIntake(
            exchange: collector.exchange, metadata: served.metadata, notices: served.notices, broker: connection,
            topics: topics, peer: address.authority, settings: limits, devices: devices, metrics: telemetry.registry,
            logger: logger)
    }
}

extension BrokerConnectionView {
    init(_ connection: BrokerDevices.Connection) {
        self.init()
        name = connection.name
        state = connection.state.rawValue
        since = connection.since.map(Timestamp.text)
    }
}
