import Collector
import Crypto
import FoundationEssentials
import HTTPTypes
import MQTTClient
import NIOCore
import WireModel

/// Makes the messages of an answer: one, or several parts. Pure.
enum AnswerMessages {
    /// The greatest payload of one message, so that a message stays below 128 KiB, the limit of several hosted brokers.
    static let partBytes = 98_304
    /// Room for topic and properties in a message.
    private static let headBytes = 20 * 1024
    static let leastPacketBytes = 8 * 1024

    /// The greatest payload for a broker.
    /// - Parameter maximumPacketBytes: the largest message that the broker takes; `nil`: it named no limit.
    static func partBytes(maximumPacketBytes: Int?) -> Int {
        guard let limit = maximumPacketBytes, limit < 128 * 1024 else { return partBytes }
        return min(partBytes, max(limit - headBytes, limit / 4))
    }

    /// - Parameters:
    ///   - partBytes: the greatest payload that the broker takes.
    ///   - now: `Uptime`.
    static func of(
        _ answer: DeviceExchange.Answer, to address: ReturnAddress, partBytes: Int, at now: Int64
    ) -> [MQTTMessage] {
        let headers = answer.headers.map { MQTTMessage.Property($0.name.canonicalName, $0.value) }
        let limit = max(1, min(partBytes, address.acceptedBytes))
        let size = answer.body.readableBytes
        var first = message(to: address, at: now)
        first.properties = [.init(":status", "\(answer.status)")]
        guard size > limit else {
            first.properties += headers
            first.payload = Data(answer.body.readableBytesView)
            return [first]
        }
        let count = (size + limit - 1) / limit
        // Equal parts; the last one may be shorter.
        let length = (size + count - 1) / count
        let digest = answer.body.withUnsafeReadableBytes { SHA256.hash(data: $0) }
        first.properties += [
            .init(":part", "1/\(count)"), .init(":length", "\(size)"), .init(":digest", Data(digest).hexadecimal),
        ]
        first.properties += headers
        var rest = answer.body
        var messages: [MQTTMessage] = []
        for number in 1...count {
            var part = number == 1 ? first : message(to: address, at: now)
            if number > 1 { part.properties = [.init(":part", "\(number)/\(count)")] }
            if let piece = rest.readSlice(length: min(length, rest.readableBytes)) {
                part.payload = Data(piece.readableBytesView)
            }
            messages.append(part)
        }
        return messages
    }

    /// Asks for the further parts of a request.
    static func goOn(_ address: ReturnAddress, collector: String, at now: Int64) -> MQTTMessage {
        var message = message(to: address, at: now)
        message.properties = [.init(":status", "100"), .init(":to", collector)]
        return message
    }

    private static func message(to address: ReturnAddress, at now: Int64) -> MQTTMessage {
        var message = MQTTMessage(topic: address.topic)
        message.correlation = address.correlation
        message.expirySeconds = UInt32(clamping: max(1, (address.deadline - now) / 1_000_000))
        return message
    }
}
