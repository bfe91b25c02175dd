import MQTTClient

/// A broker that is reached through libmosquitto.
///
/// What came waits in a queue of bounded size. A message that finds it full is dropped and counted: the library's
/// thread must not wait, because keep-alives depend on it. Its device repeats it after its time limit.
package final class LibraryBroker: Broker {
    /// How long an answer waits for a connection that is being made.
    private static let connectionWait = Duration.seconds(1)

    private let client: MQTTClient
    private let events: EventQueue

    /// Opens the library. It connects when it runs.
    /// - Parameters:
    ///   - topics: their subscriptions are those of the collector.
    ///   - settings: asked before each connection, so that a new password is used from then on.
    /// - Throws: `library`, `topic`.
    package init(
        _ topics: IntakeTopics, settings: @escaping @Sendable () throws(MQTTError) -> MQTTSettings
    ) throws(MQTTError) {
        let events = EventQueue()
        self.events = events
        client = try MQTTClient(
            subscriptions: topics.subscriptions, settings: settings, received: { events.put(.message($0)) },
            changed: { change in
                switch change {
                case .connected: events.put(.connected)
                case .disconnected(let error): events.put(.disconnected(reason: error.message))
                }
            })
    }

    package func run() async {
        await client.run()
        events.end()
    }

    package func next() async -> BrokerEvent? { await events.next() }

    package func publish(_ message: MQTTMessage) async throws {
        let connected = try await client.connected(within: Self.connectionWait)
        try await connected.publish(message)
    }

    package var maximumPacketBytes: Int? {
        get async { try? await client.connected(within: Self.connectionWait).maximumPacketBytes }
    }

    package func takeDropped() -> Int { events.takeDropped() }
}
