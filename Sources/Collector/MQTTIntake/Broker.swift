import MQTTClient

/// What a broker says to this collector.
package enum BrokerEvent: Equatable, Sendable {
    /// The collector is connected, and its subscriptions are in force.
    case connected
    /// The connection is lost, or could not be made. It is tried again without further ado.
    /// - Parameter reason: what failed and what to do.
    case disconnected(reason: String)
    case message(MQTTMessage)
}

/// A connection to a message broker that is made again whenever it breaks. This is the port between the intake, which
/// decides, and the network.
package protocol Broker: Sendable {
    /// Connects and subscribes, again whenever the connection breaks, until the task is cancelled. Then it disconnects,
    /// and `next` ends.
    func run() async

    /// The next event, in order; `nil` at the end. One task asks.
    ///
    /// Few events wait to be asked for, so a collector that cannot keep up slows the broker down. Whoever asks must
    /// not wait for `publish` in between: acknowledgements may be behind what waits.
    func next() async -> BrokerEvent?

    /// The largest packet that the broker takes on the present connection; `nil`: it named no limit.
    var maximumPacketBytes: Int? { get async }

    /// How many messages were dropped since the last call, because too many waited.
    func takeDropped() -> Int

    /// Sends a message with QoS 1. Messages of one task arrive in their order.
    /// - Throws: if there is no connection, the broker refuses the message, or does not acknowledge it in time.
    func publish(_ message: MQTTMessage) async throws
}
