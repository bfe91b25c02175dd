import FoundationEssentials
import MQTTClient
import MQTTTransport
import Synchronization
import WireModel

/// Sends the requests of devices through a message broker, and those of the oracle over HTTP.
///
/// Few connections serve all devices: the collector reads the device from the credential inside a request, never from
/// the topic. Two requests in parts that meet on one connection break each other; both are repeated, as after any
/// fault.
package final class BrokerFleetTransport: FleetTransport {
    private let people: HTTPFleetTransport
    private let connections: [MQTTTransport]
    private let turn = Atomic<Int>(0)

    private static let timeout = Duration.seconds(60)
    private static let connectionCount = 8

    /// - Parameters:
    ///   - people: how the oracle reaches the collector.
    ///   - broker: the address with the prefix. Devices have the names `fleet-1` and so on there, without a password.
    /// - Throws: `library`, `configuration`.
    package init(people: HTTPFleetTransport, broker: MQTTAddress, allowsPlaintext: Bool) throws(MQTTError) {
        self.people = people
        var connections: [MQTTTransport] = []
        for number in 1...Self.connectionCount {
            var settings = MQTTTransportSettings(address: broker)
            settings.name = "fleet-\(number)"
            settings.allowsPlaintext = allowsPlaintext
            connections.append(try MQTTTransport(settings, device: { nil }))
        }
        self.connections = connections
    }

    package func shutdown() async {
        for connection in connections { await connection.shutdown() }
        await people.shutdown()
    }

    package func send(_ request: FleetRequest) async -> FleetAnswer? {
        // Only devices send a body.
        guard let body = request.body, let method = TransportRequest.Method(rawValue: request.method) else {
            return await people.send(request)
        }
        var message = TransportRequest(method: method, path: request.path, body: body, timeout: Self.timeout)
        message.headers = [("authorization", "Bearer \(request.bearer)"), ("content-type", WireNames.protobuf)]
        if request.isGzip { message.headers.append(("content-encoding", "gzip")) }
        let place = turn.wrappingAdd(1, ordering: .relaxed).newValue % connections.count
        let (connection, whole) = (connections[place], message)
        let exchange = Task { try? await connection.send(whole) }
        // There is no middle of a message: the device gives up while it is on its way, or before.
        if request.isCut { exchange.cancel() }
        guard let response = await exchange.value, !request.isCut else { return nil }
        return FleetAnswer(status: response.status, body: response.body)
    }
}
