import FoundationEssentials
import MosquittoTestKit
import TestKit
import Testing

@testable import MQTTClient

/// The ACL of `Schemas/mqtt/PROTOCOL.md`, and devices that try to break out of it.
@Suite(.timeLimit(.minutes(5))) struct AccessControlTests {
    private static let acl = """
        pattern write ws1/v1/d/%u/q
        pattern write ws1/v1/d/%u/q/+
        pattern write ws1/v1/d/%u/s
        pattern read ws1/v1/d/%u/a
        pattern read ws1/v1/d/%u/n

        user collector
        topic read ws1/v1/d/+/q
        topic read ws1/v1/d/+/q/+
        topic readwrite ws1/v1/d/+/s
        topic write ws1/v1/d/+/a
        topic write ws1/v1/d/+/n
        """

    private func broker() async throws -> MosquittoBroker {
        var options = MosquittoBroker.Options()
        options.users = ["good": "1", "evil": "2", "collector": "3"]
        options.acl = Self.acl
        return try await MosquittoBroker.start(options)
    }

    @Test func `A device can publish and read below its own topics only`() async throws {
        let broker = try await broker()
        let collector = try ClientProbe(
            try broker.settings("collector", user: "collector", password: "3"),
            subscriptions: ["$share/ws1/ws1/v1/d/+/q", "ws1/v1/d/+/q/7f3a", "ws1/v1/d/+/s"])
        let good = try ClientProbe(
            try broker.settings("good", user: "good", password: "1"),
            subscriptions: ["ws1/v1/d/good/a", "ws1/v1/d/good/n"])
        // It asks for everything. A broker may refuse that, or grant it and deliver nothing.
        let evil = try ClientProbe(
            try broker.settings("evil", user: "evil", password: "2"),
            subscriptions: ["ws1/v1/d/evil/a", "#", "ws1/v1/d/+/a", "ws1/v1/d/good/#", "$share/guess/ws1/v1/d/+/q"])
        try await collector.connected()
        try await good.connected()
        try await evil.connected()

        for topic in ["good/q", "good/q/7f3a", "good/s", "good/a", "good/n", "evil/a", "evil/n", "x/q"] {
            let refusal = await #expect(throws: MQTTError.self) {
                try await evil.publish(MQTTMessage(topic: "ws1/v1/d/\(topic)", payload: Data("evil".utf8)))
            }
            #expect(refusal?.code == .notAuthorized)
            #expect(refusal?.message.contains("ACL") == true)
        }
        #expect(try await good.publish(MQTTMessage(topic: "ws1/v1/d/good/q", payload: Data("good".utf8))) == .delivered)
        try await good.publish(MQTTMessage(topic: "ws1/v1/d/good/q/7f3a", payload: Data("part".utf8)))
        try await evil.publish(MQTTMessage(topic: "ws1/v1/d/evil/s", payload: Data("last".utf8)))
        try await collector.heard.until { $0.messages.contains { $0.payload == Data("last".utf8) } }
        #expect(collector.heard.value.messages.allSatisfy { $0.payload != Data("evil".utf8) })
        #expect(collector.heard.value.messages.contains { $0.topic == "ws1/v1/d/good/q/7f3a" })

        try await collector.publish(MQTTMessage(topic: "ws1/v1/d/good/a", payload: Data("secret".utf8)))
        try await collector.publish(MQTTMessage(topic: "ws1/v1/d/evil/a", payload: Data("end".utf8)))
        try await good.heard.until { !$0.messages.isEmpty }
        try await evil.heard.until { $0.messages.contains { $0.payload == Data("end".utf8) } }
        #expect(evil.heard.value.messages.map(\.topic).allSatisfy { $0 == "ws1/v1/d/evil/a" })
        for probe in [collector, good, evil] { await probe.stop() }
    }
}
