import Crypto
import FoundationEssentials
import MQTTClient
import WireModel

/// Puts the messages of one answer together. Pure, and bounded: it keeps no more than the request allows.
struct AnswerAssembly: Sendable {
    enum Step: Equatable, Sendable {
        /// There is more to come, or the message was a repeat.
        case wait
        /// A collector takes the other parts of the request, at this level.
        case goOn(to: String)
        case answer
        case failed(TransportError)
    }

    private(set) var response = TransportResponse(status: 0)
    private let maximumBytes: Int
    private let path: String
    private let peer: String
    /// Part 1 was taken, or a whole answer.
    private var isBegun = false
    private var hasGoneOn = false
    private var parts = 1
    private var taken = 0
    private var length = 0
    private var digest = ""

    init(_ request: TransportRequest, peer: String) {
        maximumBytes = request.maximumResponseBytes
        path = request.path
        self.peer = peer
    }

    mutating func take(_ message: MQTTMessage) -> Step {
        let part: (number: Int, count: Int)
        if let text = message[":part"] {
            guard let read = Self.part(text) else { return broken("the part \(text)") }
            part = read
        } else {
            part = (1, 1)
        }
        if part.number == 1 {
            guard !isBegun else { return .wait }
            guard let status = message[":status"].flatMap({ Int($0) }), (100...599).contains(status) else {
                return broken("no status")
            }
            if status == 100 { return goOn(message) }
            return begin(message, status, parts: part.count)
        }
        // Quality of service 1 may repeat a part.
        guard isBegun, part.number > taken else { return isBegun ? .wait : broken("part \(part.number) first") }
        guard part.number == taken + 1, part.count == parts else { return broken("part \(part.number) too early") }
        return append(message)
    }

    private mutating func goOn(_ message: MQTTMessage) -> Step {
        guard !hasGoneOn else { return .wait }
        guard let collector = message[":to"], (1...64).contains(collector.utf8.count),
            collector.utf8.allSatisfy(Self.isOfLevel)
        else { return broken("no collector for the other parts") }
        hasGoneOn = true
        return .goOn(to: collector)
    }

    private mutating func begin(_ message: MQTTMessage, _ status: Int, parts: Int) -> Step {
        isBegun = true
        self.parts = parts
        response.status = status
        for property in message.properties where !property.name.hasPrefix(":") {
            let name = property.name.lowercased()
            if response.headers[name] == nil { response.headers[name] = property.value }
        }
        length = message.payload.count
        if parts > 1 {
            guard let given = message[":length"].flatMap({ Int($0) }), given >= 0, let digest = message[":digest"]
            else {
                return broken("parts without length or digest")
            }
            length = given
            self.digest = digest
        }
        guard length <= maximumBytes else {
            return .failed(
                TransportError(
                    .responseTooLarge, "\(peer) answered \(path) with \(length) bytes, over \(maximumBytes) bytes"))
        }
        return append(message)
    }

    private mutating func append(_ message: MQTTMessage) -> Step {
        taken += 1
        guard response.body.count + message.payload.count <= length else { return broken("more than it announced") }
        response.body.append(message.payload)
        guard taken == parts else { return .wait }
        guard response.body.count == length else { return broken("less than it announced") }
        guard parts == 1 || Data(SHA256.hash(data: response.body)).hexadecimal == digest else {
            return broken("another content than it announced")
        }
        return .answer
    }

    private func broken(_ what: String) -> Step {
        .failed(
            TransportError(
                .other, "the answer to \(path) over the broker \(peer) was broken: it had \(what); it is asked again"))
    }

    /// `2/54`; `nil` for anything else.
    static func part(_ text: String) -> (number: Int, count: Int)? {
        let numbers = text.split(separator: "/", omittingEmptySubsequences: false)
        guard numbers.count == 2, let number = Int(numbers[0]), let count = Int(numbers[1]),
            (2...RequestMessages.maximumParts).contains(count), (1...count).contains(number)
        else { return nil }
        return (number, count)
    }

    private static func isOfLevel(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"):
            true
        default: false
        }
    }
}
