import FoundationEssentials
import MosquittoTestKit
import TestKit
import Testing

@testable import MQTTClient

@Suite(.timeLimit(.minutes(5))) struct MQTTClientTests {
    @Test func `A message arrives with its payload and all properties`() async throws {
        let broker = try await MosquittoBroker.start()
        let reader = try ClientProbe(try broker.settings("reader"), subscriptions: ["ws1/a/+"])
        let writer = try ClientProbe(try broker.settings("writer"))
        try await reader.connected()
        var message = MQTTMessage(topic: "ws1/a/b", payload: Data([0, 1, 255]))
        message.responseTopic = "ws1/answers"
        message.correlation = Data([7, 0, 9])
        message.expirySeconds = 60
        message.properties = [.init(":path", "/api/v1/batches"), .init("authorization", "Bearer ü"), .init("a", "")]
        #expect(try await writer.publish(message) == .delivered)
        try await reader.heard.until { !$0.messages.isEmpty }
        var received = reader.heard.value.messages[0]
        // The broker counts it down.
        #expect((1...60).contains(received.expirySeconds ?? 0))
        received.expirySeconds = 60
        #expect(received == message)
        await reader.stop()
        await writer.stop()
    }

    @Test func `A message that nobody has subscribed to is said to be so`() async throws {
        let broker = try await MosquittoBroker.start()
        let writer = try ClientProbe(try broker.settings("writer"))
        #expect(try await writer.publish(MQTTMessage(topic: "ws1/nobody")) == .noSubscribers)
        await writer.stop()
    }

    @Test func `Two hundred messages of 90,000 bytes arrive whole and in order`() async throws {
        let broker = try await MosquittoBroker.start()
        let reader = try ClientProbe(try broker.settings("reader"), subscriptions: ["ws1/a"])
        let writer = try ClientProbe(try broker.settings("writer"))
        try await reader.connected()
        for number in 0..<200 {
            try await writer.publish(
                MQTTMessage(topic: "ws1/a", payload: Data(repeating: UInt8(number), count: 90_000)))
        }
        try await reader.heard.until { $0.messages.count == 200 }
        #expect(reader.heard.value.messages.map { $0.payload.first } == (0..<200).map { UInt8($0) })
        #expect(reader.heard.value.messages.allSatisfy { $0.payload.count == 90_000 })
        await reader.stop()
        await writer.stop()
    }

    @Test func `A client connects and subscribes again after the broker was killed`() async throws {
        let broker = try await MosquittoBroker.start()
        let reader = try ClientProbe(try broker.settings("reader"), subscriptions: ["ws1/a"])
        let writer = try ClientProbe(try broker.settings("writer"))
        for probe in [reader, writer] { try await probe.connected() }
        await broker.kill()
        #expect([.connectionClosed, .connectionRefused].contains(try await reader.failure().code))
        await #expect(throws: MQTTError.self) { try await writer.publish(MQTTMessage(topic: "ws1/a")) }
        try await broker.restart()
        // A caller that comes during an attempt shares its failure, and an attempt may have begun before the restart.
        for probe in [reader, writer] { try await probe.heard.until { $0.connections > 1 } }
        #expect(try await writer.publish(MQTTMessage(topic: "ws1/a")) == .delivered)
        try await reader.heard.until { !$0.messages.isEmpty }
        await reader.stop()
        await writer.stop()
    }

    @Test func `Of two clients with the same id one says why it is thrown out, and stays away`() async throws {
        let broker = try await MosquittoBroker.start()
        let ended = Watched<[MQTTError]>([])
        var probes: [ClientProbe] = []
        for _ in 0..<2 {
            let probe = try ClientProbe(try broker.settings("same"))
            try await probe.connected()
            probes.append(probe)
        }
        for probe in probes {
            Task {
                try await probe.heard.until { $0.failures.contains { $0.code == .takenOver } }
                ended.change { $0 += probe.heard.value.failures.filter { $0.code == .takenOver } }
            }
        }
        try await ended.until { !$0.isEmpty }
        #expect(ended.value[0].message.contains("mqttName"))
        let loser = probes[probes[0].heard.value.failures.contains { $0.code == .takenOver } ? 0 : 1]
        // A caller does not end this wait, so the two do not throw each other out for ever.
        let refusal = await #expect(throws: MQTTError.self) { try await loser.publish(MQTTMessage(topic: "ws1/a")) }
        #expect(refusal?.code == .takenOver)
        for probe in probes { await probe.stop() }
    }

    @Test(arguments: [
        (128, MQTTError.Code.unspecified, "+ and #"), (134, .badCredentials, "mqttPasswordFile"),
        (135, .notAuthorized, "ACL"), (142, .takenOver, "mqttName"), (149, .packetTooLarge, "max_packet_size"),
        (158, .notSupported, "shared"), (251, .other, "251"),
    ])
    func `A reason code of the broker is explained with its remedy`(
        reason: CInt, code: MQTTError.Code, remedy: String
    ) {
        let error = MQTTError(reason: reason, of: .subscribe("ws1/#"), peer: "broker:8883", clientID: "device")
        #expect(error.code == code)
        #expect(error.message.contains("broker:8883") && error.message.contains(remedy))
    }

    @Test func `A will is published when the connection breaks, and none after a stop`() async throws {
        let broker = try await MosquittoBroker.start()
        let reader = try ClientProbe(try broker.settings("reader"), subscriptions: ["ws1/+"])
        try await reader.connected()
        for (name, breaks) in [("stopped", false), ("broken", true)] {
            var settings = try broker.settings(name)
            settings.will = MQTTMessage(
                topic: "ws1/\(name)", payload: Data("offline".utf8), properties: [.init(":reason", "lost")])
            let device = try ClientProbe(settings)
            try await device.connected()
            if breaks {
                // Another with its id ends its connection without its disconnect.
                let other = try ClientProbe(try broker.settings(name))
                try await other.connected()
                await other.stop()
            }
            await device.stop()
        }
        let last = try ClientProbe(try broker.settings("last"))
        try await last.publish(MQTTMessage(topic: "ws1/last"))
        try await reader.heard.until { $0.messages.contains { $0.topic == "ws1/last" } }
        let wills = reader.heard.value.messages.filter { $0.topic != "ws1/last" }
        #expect(wills.map(\.topic) == ["ws1/broken"])
        #expect(wills.first?[":reason"] == "lost")
        await reader.stop()
        await last.stop()
    }

    @Test func `Nothing is kept for a client that was away: clean start, no session`() async throws {
        let broker = try await MosquittoBroker.start()
        let reader = try ClientProbe(try broker.settings("reader"), subscriptions: ["ws1/a"])
        try await reader.connected()
        await reader.stop()
        let writer = try ClientProbe(try broker.settings("writer"))
        #expect(try await writer.publish(MQTTMessage(topic: "ws1/a", payload: Data([1]))) == .noSubscribers)
        let again = try ClientProbe(try broker.settings("reader"), subscriptions: ["ws1/a"])
        try await again.connected()
        try await writer.publish(MQTTMessage(topic: "ws1/a", payload: Data([2])))
        try await again.heard.until { !$0.messages.isEmpty }
        #expect(again.heard.value.messages.map(\.payload) == [Data([2])])
        await again.stop()
        await writer.stop()
    }

    @Test func `A frozen broker is unresponsive after the keep-alive`() async throws {
        let broker = try await MosquittoBroker.start()
        var settings = try broker.settings("device")
        settings.keepAlive = .seconds(5)
        let device = try ClientProbe(settings)
        try await device.connected()
        broker.freeze()
        let why = try await device.failure()
        broker.thaw()
        #expect(why.code == .unresponsive)
        #expect(why.message.contains("unresponsive"))
        try await device.heard.until { $0.connections > 1 }
        await device.stop()
    }

    @Test func `A message that a broker has no room for is refused with the setting to raise`() async throws {
        var options = MosquittoBroker.Options()
        options.lines = ["max_packet_size 20000"]
        let broker = try await MosquittoBroker.start(options)
        let writer = try ClientProbe(try broker.settings("writer"))
        let connected = try await writer.client.connected(within: .seconds(20))
        #expect(connected.maximumPacketBytes == 20_000)
        let refusal = await #expect(throws: MQTTError.self) {
            try await connected.publish(MQTTMessage(topic: "ws1/a", payload: Data(count: 30_000)))
        }
        #expect(refusal?.code == .packetTooLarge)
        #expect(refusal?.message.contains("max_packet_size") == true)
        await writer.stop()
    }

    @Test func `A limit that the broker does not announce is answered with 149`() async throws {
        var options = MosquittoBroker.Options()
        options.lines = ["message_size_limit 20000"]
        let broker = try await MosquittoBroker.start(options)
        let writer = try ClientProbe(try broker.settings("writer"))
        let refusal = await #expect(throws: MQTTError.self) {
            try await writer.publish(MQTTMessage(topic: "ws1/a", payload: Data(count: 30_000)))
        }
        #expect(refusal?.code == .packetTooLarge)
        await writer.stop()
    }

    @Test func `A wrong password is named, and so is an address that nobody listens on`() async throws {
        var options = MosquittoBroker.Options()
        options.users = ["device": "right"]
        let broker = try await MosquittoBroker.start(options)
        let wrong = try ClientProbe(try broker.settings("device", user: "device", password: "wrong"))
        // Mosquitto says 135 where 134 would be the exact one.
        let why = try await wrong.failure()
        #expect([.badCredentials, .notAuthorized].contains(why.code))
        #expect(why.message.contains("password"))
        await wrong.stop()
        let right = try ClientProbe(try broker.settings("device", user: "device", password: "right"))
        try await right.connected()
        await right.stop()
        await broker.kill()
        let nobody = try ClientProbe(try broker.settings("device"))
        #expect(try await nobody.failure().code == .connectionRefused)
        await nobody.stop()
    }

    @Test func `Subscriptions and topics that no broker accepts are refused before they are sent`() async throws {
        let broker = try await MosquittoBroker.start()
        for filter in ["", "ws1/#/a", "ws1/a+", "ws1/a#", "ws1/\0"] {
            let refusal = #expect(throws: MQTTError.self) {
                try ClientProbe(try broker.settings("reader"), subscriptions: [filter])
            }
            #expect(refusal?.code == .topic)
        }
        let writer = try ClientProbe(try broker.settings("writer"))
        for topic in ["", "ws1/+", "ws1/#", "ws1/a\0b"] {
            let refusal = await #expect(throws: MQTTError.self) { try await writer.publish(MQTTMessage(topic: topic)) }
            #expect(refusal?.code == .topic)
        }
        await writer.stop()
    }
}
