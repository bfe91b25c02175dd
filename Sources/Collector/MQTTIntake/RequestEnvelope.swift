import FoundationEssentials
import HTTPTypes
import MQTTClient
import WireModel

/// Where an answer goes.
struct ReturnAddress: Equatable, Sendable {
    /// The response topic.
    var topic: String
    var correlation: Data
    /// The sender's name at the broker.
    var name: String
    /// When nobody waits for the answer any more, microseconds of `Uptime`.
    var deadline: Int64
    /// The greatest payload that the sender takes in one message.
    var acceptedBytes = Int.max
}

/// Why a message gets no answer: where one would go is not known or not allowed.
enum IgnoredReason: String, CaseIterable, Sendable {
    /// An old message that the broker keeps. It would come again with each subscription.
    case retained
    case topic
    /// The response topic is missing, or is not the sender's own. An answer to it would let a sender write to others.
    case responseTopic = "response-topic"
    case correlation
    /// More requests are worked on than may be.
    case overload
    /// It says nothing that can be used, such as a state of another form.
    case malformed
}

/// A request as a message says it, before anything of it is checked but where its answer goes.
struct RequestEnvelope: Sendable {
    /// What part 1 of several says of the whole.
    struct Parts: Equatable, Sendable {
        var count: Int
        var length: Int
        var digest: String
    }

    var address: ReturnAddress
    var head: HTTPRequest
    /// `nil` for a request in one message.
    var parts: Parts?

    static let correlationBytes = 16
    /// Seconds.
    static let timeLimits: ClosedRange<UInt32> = 1...600
    static let leastAcceptedBytes = 4096
    /// Seconds for a request that names no time limit.
    static let usualTimeLimit: UInt32 = 60

    /// Where the answer to a message goes.
    /// - Parameter now: `Uptime`.
    static func address(
        of message: MQTTMessage, name: String, in topics: IntakeTopics, at now: Int64
    ) -> Result<ReturnAddress, Ignored> {
        guard !message.isRetained else { return .failure(Ignored(.retained)) }
        guard let topic = message.responseTopic, topic == topics.answers(of: name) else {
            return .failure(Ignored(.responseTopic))
        }
        guard let correlation = message.correlation, correlation.count == correlationBytes else {
            return .failure(Ignored(.correlation))
        }
        let seconds = message.expirySeconds ?? usualTimeLimit
        let limit = min(max(seconds, timeLimits.lowerBound), timeLimits.upperBound)
        return .success(
            ReturnAddress(
                topic: topic, correlation: correlation, name: name, deadline: now + Int64(limit) * 1_000_000))
    }

    struct Ignored: Error, Equatable {
        let reason: IgnoredReason
        init(_ reason: IgnoredReason) { self.reason = reason }
    }

    /// The head of a request whose properties are wrong, for the log line and the count.
    static let unknownHead = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")

    /// - Throws: a problem that names the property.
    init(_ message: MQTTMessage, _ address: ReturnAddress) throws(Problem) {
        guard !message.hasTooManyProperties else {
            throw Self.refusal(
                """
                the message has more than \(MQTTMessage.maximumProperties) user properties, or more than \
                \(MQTTMessage.maximumPropertyBytes) bytes of them
                """)
        }
        guard let seconds = message.expirySeconds else { throw Self.refusal("Message Expiry Interval is missing") }
        guard Self.timeLimits.contains(seconds) || seconds == 0 else {
            throw Self.refusal("Message Expiry Interval is \(seconds) s; expected 1 to 600")
        }
        let verb = try Self.required(":method", message)
        guard let method = HTTPRequest.Method(verb), [.get, .post, .put].contains(method) else {
            throw Self.refusal(":method is not GET, POST or PUT")
        }
        let path = try Self.required(":path", message)
        guard path.hasPrefix("/"), path.utf8.count <= 2048, path.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw Self.refusal(":path must begin with / and hold printable ASCII only, at most 2,048 bytes")
        }
        guard let accepted = Int(try Self.required(":accept-part", message)), accepted >= Self.leastAcceptedBytes else {
            throw Self.refusal(":accept-part is not a number of \(Self.leastAcceptedBytes) or more bytes")
        }
        self.address = address
        self.address.acceptedBytes = accepted
        head = HTTPRequest(method: method, scheme: nil, authority: nil, path: path)
        for property in message.properties where !property.name.hasPrefix(":") {
            guard let name = HTTPField.Name(property.name), HTTPField.isValidValue(property.value) else {
                throw Self.refusal("a user property is no header: \(property.name.prefix(64).debugDescription)")
            }
            head.headerFields.append(HTTPField(name: name, value: property.value))
        }
        parts = try Self.parts(message)
        let length = parts?.length ?? message.payload.count
        // What a message says of its own length is not needed, and it must not contradict itself.
        head.headerFields[.contentLength] = length > 0 ? "\(length)" : nil
        head.headerFields[.transferEncoding] = nil
    }

    private static func parts(_ message: MQTTMessage) throws(Problem) -> Parts? {
        guard let text = message[":part"] else { return nil }
        guard let (number, count) = part(text) else { throw refusal(":part is not of the form 1/54") }
        guard number == 1 else {
            throw .partsBroken("part \(number) came on the topic for first parts; it belongs on the one that :to names")
        }
        guard PartSequence.counts.contains(count) else {
            throw refusal(":part names \(count) parts; expected 2 to \(PartSequence.counts.upperBound)")
        }
        guard let length = Int(try required(":length", message)), length >= count else {
            throw refusal(":length is not the number of bytes of a body in \(count) parts")
        }
        let digest = try required(":digest", message)
        guard digest.utf8.count == 64, digest.utf8.allSatisfy({ hexadecimal.contains($0) }) else {
            throw refusal(":digest is not SHA-256 as 64 hexadecimal digits in lower case")
        }
        return Parts(count: count, length: length, digest: digest)
    }

    /// Number and count of a part: `2/54`.
    static func part(_ text: String) -> (number: Int, count: Int)? {
        let words = text.split(separator: "/", omittingEmptySubsequences: false)
        guard words.count == 2, let number = Int(words[0]), let count = Int(words[1]), number >= 1, count >= 1 else {
            return nil
        }
        return (number, count)
    }

    private static let hexadecimal = Set("0123456789abcdef".utf8)

    private static func required(_ name: String, _ message: MQTTMessage) throws(Problem) -> String {
        guard let value = message[name] else { throw refusal("the user property \(name) is missing") }
        return value
    }

    private static func refusal(_ what: String) -> Problem {
        Problem(
            status: 400, code: .malformed, title: "Malformed request",
            detail: "The message is no request: \(what). See Schemas/mqtt/PROTOCOL.md.", scope: .device)
    }
}
