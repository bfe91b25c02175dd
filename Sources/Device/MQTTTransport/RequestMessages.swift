import Crypto
import FoundationEssentials
import MQTTClient
import WireModel

/// One request of the wire protocol as messages. Pure.
struct RequestMessages: Sendable {
    /// The most bytes of a body in one message: a whole one stays below 128 KiB, the limit of several hosted brokers.
    static let greatestPartBytes = 98_304
    static let leastPartBytes = 2048
    /// What topic and properties may have beside the payload.
    static let headBytes = 20 * 1024
    /// A broker that takes less in a packet cannot be used.
    static let leastPacketBytes = 8 * 1024
    static let maximumParts = 1024

    let first: MQTTMessage
    let correlation: Data
    private let body: Data
    private let partBytes: Int
    private let topics: DeviceTopics
    private let expirySeconds: UInt32

    /// How many messages there are.
    let count: Int

    /// The most bytes of a body in one message to a broker.
    /// - Parameter maximumPacketBytes: what the broker takes; `nil`: it named no limit.
    /// - Throws: `packetTooLarge` if that is too little to be used.
    static func partBytes(maximumPacketBytes: Int?, peer: String) throws(MQTTError) -> Int {
        guard let maximum = maximumPacketBytes, maximum < 128 * 1024 else { return greatestPartBytes }
        guard maximum >= leastPacketBytes else {
            throw MQTTError(
                .packetTooLarge,
                "the broker \(peer) takes no packet above \(maximum) bytes; \(leastPacketBytes) are needed. Raise its "
                    + "max_packet_size")
        }
        return min(greatestPartBytes, max(maximum / 4, maximum - headBytes))
    }

    /// - Throws: `packetTooLarge` for a body that does not fit into the allowed number of parts.
    init(
        _ request: TransportRequest, correlation: Data, topics: DeviceTopics, partBytes: Int
    ) throws(MQTTError) {
        self.correlation = correlation
        self.topics = topics
        self.partBytes = partBytes
        body = request.body ?? Data()
        expirySeconds = UInt32(clamping: min(600, max(1, request.timeout.components.seconds)))
        count = max(1, (body.count + partBytes - 1) / partBytes)
        guard count <= Self.maximumParts else {
            throw MQTTError(
                .packetTooLarge,
                "a body of \(body.count) bytes needs \(count) parts of \(partBytes) bytes; \(Self.maximumParts) are "
                    + "allowed. Raise the broker's max_packet_size")
        }
        var message = MQTTMessage(topic: topics.requests)
        message.correlation = correlation
        message.responseTopic = topics.answers
        message.expirySeconds = expirySeconds
        message.payload = body.prefix(partBytes)
        message.properties = [
            .init(":method", request.method.rawValue), .init(":path", request.path),
            .init(":accept-part", "\(Self.greatestPartBytes)"),
        ]
        if count > 1 {
            message.properties += [
                .init(":part", "1/\(count)"), .init(":length", "\(body.count)"),
                .init(":digest", Data(SHA256.hash(data: body)).hexadecimal),
            ]
        }
        message.properties += request.headers.map { .init($0.name.lowercased(), $0.value) }
        first = message
    }

    /// - Parameters:
    ///   - number: 2 up to `count`.
    ///   - collector: the level that the collector named.
    func part(_ number: Int, to collector: String) -> MQTTMessage {
        var message = MQTTMessage(topic: topics.rest(to: collector))
        message.correlation = correlation
        message.responseTopic = topics.answers
        message.expirySeconds = expirySeconds
        message.payload = body.dropFirst((number - 1) * partBytes).prefix(partBytes)
        message.properties = [.init(":part", "\(number)/\(count)")]
        return message
    }
}
