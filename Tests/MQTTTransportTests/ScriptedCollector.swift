import Crypto
import FoundationEssentials
import MosquittoTestKit
import Synchronization
import TestKit
import WireModel

@testable import MQTTClient
@testable import MQTTTransport

/// Stands for a collector at a broker: takes requests, also in parts, and answers as a script says.
final class ScriptedCollector: Sendable {
    struct Request: Sendable {
        var first: MQTTMessage
        var body: Data
        var parts = 1
    }

    struct Answer: Sendable {
        var status = 200
        var headers: [MQTTMessage.Property] = []
        var body = Data()
        /// Answers in parts of this size.
        var partBytes: Int?
        /// What is done to the messages before they are published.
        var mangle: @Sendable (inout [MQTTMessage]) -> Void = { _ in }
        /// Refuses a request in parts after its first one.
        var refusesParts = false
        /// Nothing is answered.
        var isSilent = false
    }

    let requests = Watched<[Request]>([])
    let states = Watched<[MQTTMessage]>([])
    private let open = Mutex<[Data: Request]>([:])
    private let answer: @Sendable (Request) -> Answer
    private let client: MQTTClient
    private let running: Task<Void, Never>
    private let arrivals: AsyncStream<MQTTMessage>.Continuation
    private let isConnected = Watched(0)

    init(_ broker: MosquittoBroker, answer: @escaping @Sendable (Request) -> Answer) async throws {
        self.answer = answer
        let (messages, arrivals) = AsyncStream.makeStream(of: MQTTMessage.self)
        self.arrivals = arrivals
        let isConnected = isConnected
        var settings = MQTTSettings(
            address: try MQTTAddress("mqtt://127.0.0.1:\(broker.port)/ws1", what: "address"), clientID: "collector")
        settings.maximumPacketBytes = 10_000_000
        let given = settings
        let client = try MQTTClient(
            subscriptions: ["$share/ws1/ws1/v1/d/+/q", "ws1/v1/d/+/q/7f3a", "ws1/v1/d/+/s"],
            settings: { () throws(MQTTError) in given }, received: { arrivals.yield($0) },
            changed: { if $0 == .connected { isConnected.change { $0 += 1 } } })
        self.client = client
        running = Task { await client.run() }
        try await isConnected.until { $0 > 0 }
        Task { for await message in messages { await self.take(message) } }
    }

    func stop() async {
        arrivals.finish()
        running.cancel()
        await running.value
    }

    func publish(_ message: MQTTMessage) async throws {
        try await client.connected(within: .seconds(20)).publish(message)
    }

    private func take(_ message: MQTTMessage) async {
        if message.topic.hasSuffix("/s") { return states.change { $0.append(message) } }
        guard let correlation = message.correlation, let topic = message.responseTopic else { return }
        let parts = message[":part"].flatMap { AnswerAssembly.part($0) } ?? (1, 1)
        var request = open.withLock { $0[correlation] } ?? Request(first: message, body: Data())
        request.body.append(message.payload)
        request.parts = parts.number
        if parts.number == 1, parts.count > 1, !answer(request).refusesParts {
            open.withLock { [request] in $0[correlation] = request }
            var goOn = MQTTMessage(topic: topic, properties: [.init(":status", "100"), .init(":to", "7f3a")])
            goOn.correlation = correlation
            try? await publish(goOn)
        } else if parts.number < parts.count, !answer(request).refusesParts {
            open.withLock { [request] in $0[correlation] = request }
        } else {
            requests.change { [request] in $0.append(request) }
            await reply(answer(request), to: topic, correlation)
        }
    }

    private func reply(_ answer: Answer, to topic: String, _ correlation: Data) async {
        guard !answer.isSilent else { return }
        let size = answer.partBytes ?? max(1, answer.body.count)
        let count = max(1, (answer.body.count + size - 1) / size)
        var messages = (0..<count).map { number in
            var message = MQTTMessage(topic: topic, payload: answer.body.dropFirst(number * size).prefix(size))
            message.correlation = correlation
            if number == 0 { message.properties = [.init(":status", "\(answer.status)")] + answer.headers }
            if count > 1 { message.properties.append(.init(":part", "\(number + 1)/\(count)")) }
            if count > 1, number == 0 {
                message.properties += [
                    .init(":length", "\(answer.body.count)"),
                    .init(":digest", Data(SHA256.hash(data: answer.body)).hexadecimal),
                ]
            }
            return message
        }
        answer.mangle(&messages)
        for message in messages { try? await publish(message) }
    }
}
