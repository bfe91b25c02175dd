import Foundation
import HTTPTypes
import MQTTClient
import NIOCore
import Testing

@testable import Collector
@testable import MQTTIntake

@Suite("Topics and messages of the intake")
struct IntakeTopicsTests {
    private let topics = IntakeTopics(prefix: "fleet/ws1", collector: "c1", share: "secret")

    @Test(arguments: [
        ("fleet/ws1/v1/d/kiosk-7/q", IntakeTopics.Kind.request), ("fleet/ws1/v1/d/kiosk-7/q/c1", .part),
        ("fleet/ws1/v1/d/kiosk-7/s", .state),
    ])
    func `A topic is known with its name`(topic: String, kind: IntakeTopics.Kind) throws {
        let parsed = try #require(topics.parse(topic))
        #expect(parsed.kind == kind && parsed.name == "kiosk-7")
    }

    @Test(arguments: [
        "fleet/ws1/v1/d//q", "fleet/ws1/v1/d/kiosk-7", "fleet/ws1/v1/d/kiosk-7/q/c2", "fleet/ws1/v1/d/kiosk-7/a",
        "fleet/ws1/v1/d/kiosk-7/q/c1/x", "fleet/ws1/v2/d/kiosk-7/q", "other/v1/d/kiosk-7/q", "",
        "fleet/ws1/v1/d/" + String(repeating: "n", count: 129) + "/q",
    ])
    func `Another topic is none of the collector's`(topic: String) {
        #expect(topics.parse(topic) == nil)
    }

    @Test func `Requests are shared among collectors, and parts are not`() {
        #expect(
            topics.subscriptions == [
                "$share/secret/fleet/ws1/v1/d/+/q", "fleet/ws1/v1/d/+/q/c1", "fleet/ws1/v1/d/+/s",
            ])
    }

    @Test func `A message stays below the broker's limit`() {
        #expect(AnswerMessages.partBytes(maximumPacketBytes: nil) == 98_304)
        #expect(AnswerMessages.partBytes(maximumPacketBytes: 1 << 20) == 98_304)
        #expect(AnswerMessages.partBytes(maximumPacketBytes: 100_000) == 100_000 - 20_480)
        #expect(AnswerMessages.partBytes(maximumPacketBytes: 8192) == 2048)
    }

    @Test(arguments: [0, 1, 9, 10, 11, 20, 95])
    func `Parts of an answer are the whole, in order and none too large`(size: Int) {
        let address = ReturnAddress(topic: "t", correlation: Data([7]), name: "n", deadline: 9_000_000)
        let body = ByteBuffer(bytes: (0..<size).map { UInt8($0) })
        let messages = AnswerMessages.of(
            DeviceExchange.Answer(status: 200, headers: [.contentType: "x"], body: body), to: address, partBytes: 10,
            at: 1_000_000)
        #expect(messages.reduce(Data()) { $0 + $1.payload } == Data(body.readableBytesView))
        #expect(messages.allSatisfy { $0.payload.count <= 10 && $0.expirySeconds == 8 && $0.topic == "t" })
        #expect(messages.count == max(1, (size + 9) / 10))
        #expect(messages[0][":status"] == "200" && messages[0]["content-type"] == "x")
        #expect((messages[0][":part"] == nil) == (messages.count == 1))
    }

    @Test func `Events that find the queue full are dropped and counted, but none of the connection`() async {
        let queue = EventQueue(limit: 3000)
        for number in 0..<5 { queue.put(.message(MQTTMessage(topic: "\(number)", payload: Data(count: 10)))) }
        queue.put(.disconnected(reason: "x"))
        #expect(queue.takeDropped() == 3 && queue.takeDropped() == 0)
        queue.end()
        var topics: [String] = []
        while let event = await queue.next() {
            switch event {
            case .message(let message): topics.append(message.topic)
            case .disconnected(let reason): topics.append(reason)
            case .connected: topics.append("connected")
            }
        }
        #expect(topics == ["0", "1", "x"])
    }
}
