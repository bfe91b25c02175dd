import FoundationEssentials
import MQTTClient
import MosquittoTestKit
import Synchronization
import TestKit
import Testing
import Transmitter
import WireModel

@testable import MQTTTransport

@Suite(.timeLimit(.minutes(5))) struct MQTTTransportTests {
    private final class Device: Sendable { let id = Mutex<String?>(nil) }

    private func with(
        _ options: MosquittoBroker.Options = .init(), device: Device = Device(),
        answer: @escaping @Sendable (ScriptedCollector.Request) -> ScriptedCollector.Answer,
        _ body: (MosquittoBroker, ScriptedCollector, MQTTTransport) async throws -> Void
    ) async throws {
        let broker = try await MosquittoBroker.start(options)
        let collector = try await ScriptedCollector(broker, answer: answer)
        let transport = try Self.transport(broker, device: device)
        transport.start()
        try await body(broker, collector, transport)
        await transport.shutdown()
        await collector.stop()
    }

    private static func transport(
        _ broker: MosquittoBroker, name: String = "device-1", device: Device = Device()
    ) throws -> MQTTTransport {
        var settings = MQTTTransportSettings(
            address: try MQTTAddress("mqtt://127.0.0.1:\(broker.port)/ws1", what: "address"))
        settings.name = name
        var waits = MQTTClient.Waits()
        waits.first = .milliseconds(20)
        waits.longest = .milliseconds(100)
        waits.brief = .zero
        return try MQTTTransport(settings, waits: waits) { device.id.withLock { $0 } }
    }

    private func bytes(_ count: Int) -> Data {
        var dice = SplitMix64(seed: 7)
        return Data((0..<count).map { _ in UInt8(truncatingIfNeeded: dice.next()) })
    }

    @Test func `A request arrives as over HTTP, and its answer too`() async throws {
        try await with { request in
            ScriptedCollector.Answer(
                status: 429, headers: [.init("retry-after", "7"), .init("WS1-Collector-Version", "1.0.0")],
                body: Data("busy".utf8))
        } _: { _, collector, transport in
            let answer = try await transport.send(
                TransportRequest(
                    method: .post, path: "/api/v1/batches?x=1", headers: [("Authorization", "Bearer t")],
                    body: Data([1, 0, 2])))
            #expect(answer.status == 429)
            #expect(answer.retryAfter == .seconds(7))
            #expect(answer.headers["ws1-collector-version"] == "1.0.0")
            #expect(answer.body == Data("busy".utf8))
            let request = try #require(collector.requests.value.first)
            #expect(request.first.topic == "ws1/v1/d/device-1/q")
            #expect(request.first.responseTopic == "ws1/v1/d/device-1/a")
            #expect(request.first.correlation?.count == 16)
            #expect(request.first[":method"] == "POST" && request.first[":path"] == "/api/v1/batches?x=1")
            #expect(request.first["authorization"] == "Bearer t")
            #expect(request.first[":part"] == nil && request.body == Data([1, 0, 2]))
        }
    }

    @Test(arguments: [(nil, 54), (20_000, 1024)] as [(Int?, Int)])
    func `A chunk goes in parts below the broker's largest packet`(packet: Int?, mostParts: Int) async throws {
        var options = MosquittoBroker.Options()
        if let packet { options.lines = ["max_packet_size \(packet)"] }
        let body = bytes(packet == nil ? 5_262_144 : 100_000)
        try await with(options) { _ in
            ScriptedCollector.Answer(status: 204)
        } _: { _, collector, transport in
            let answer = try await transport.send(TransportRequest(method: .put, path: "/chunk", body: body))
            #expect(answer.status == 204)
            let request = try #require(collector.requests.value.first)
            #expect(request.body == body)
            #expect((2...mostParts).contains(request.parts))
        }
    }

    @Test func `A refusal of the first part ends the request before the others are sent`() async throws {
        let body = bytes(300_000)
        try await with { _ in
            ScriptedCollector.Answer(status: 413, refusesParts: true)
        } _: { _, collector, transport in
            let answer = try await transport.send(TransportRequest(method: .put, path: "/chunk", body: body))
            #expect(answer.status == 413)
            #expect(collector.requests.value.map(\.parts) == [1])
        }
    }

    @Test func `An answer in parts is put together, also with repeated parts`() async throws {
        let body = bytes(250_000)
        try await with { _ in
            ScriptedCollector.Answer(body: body, partBytes: 90_000) { $0 = [$0[0], $0[0], $0[1], $0[0], $0[1], $0[2]] }
        } _: { _, _, transport in
            let answer = try await transport.send(TransportRequest(method: .get, path: "/profile"))
            #expect(answer.body == body)
        }
    }

    @Test func `A broken answer is an error and never a success`() async throws {
        let body = bytes(250_000)
        let mangles: [@Sendable (inout [MQTTMessage]) -> Void] = [
            { $0.remove(at: 1) }, { $0[2].payload = Data(count: $0[2].payload.count) }, { $0[1].payload.removeLast() },
            { $0[0].properties.removeAll { $0.name == ":status" } },
            { $0[0].properties.removeAll { $0.name == ":digest" } },
            { $0[1].properties = [.init(":part", "2/4")] },
        ]
        for mangle in mangles {
            try await with { _ in
                ScriptedCollector.Answer(body: body, partBytes: 90_000, mangle: mangle)
            } _: { _, _, transport in
                let error = await #expect(throws: TransportError.self) {
                    try await transport.send(TransportRequest(method: .get, path: "/profile"))
                }
                #expect(error?.code == .other)
            }
        }
    }

    @Test func `An answer above the request's limit is refused`() async throws {
        let body = bytes(2000)
        try await with { _ in
            ScriptedCollector.Answer(body: body)
        } _: { _, _, transport in
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(
                    TransportRequest(method: .get, path: "/profile", maximumResponseBytes: 1999))
            }
            #expect(error?.code == .responseTooLarge)
        }
    }

    @Test func `Without a collector the request ends at once and says so`() async throws {
        let broker = try await MosquittoBroker.start()
        let transport = try Self.transport(broker)
        transport.start()
        let error = await #expect(throws: TransportError.self) {
            try await transport.send(TransportRequest(method: .get, path: "/profile", timeout: .seconds(600)))
        }
        #expect(error?.code == .connectionRefused)
        #expect(error?.message.contains("collector") == true)
        await transport.shutdown()
    }

    @Test func `A silent collector is a time out that mentions the ACL`() async throws {
        try await with { _ in
            ScriptedCollector.Answer(isSilent: true)
        } _: { _, _, transport in
            let error = await #expect(throws: TransportError.self) {
                try await transport.send(TransportRequest(method: .get, path: "/x", timeout: .milliseconds(200)))
            }
            #expect(error?.code == .timedOut)
            #expect(error?.message.contains("ACL") == true)
        }
    }

    @Test func `A request that is open when the broker is killed ends at once, and the next one works`() async throws {
        let isSilent = Mutex(true)
        try await with { _ in
            ScriptedCollector.Answer(isSilent: isSilent.withLock { $0 })
        } _: {
            broker, collector, transport in
            let open = Task {
                try await transport.send(TransportRequest(method: .get, path: "/x", timeout: .seconds(600)))
            }
            try await collector.requests.until { !$0.isEmpty }
            await broker.kill()
            await #expect(throws: TransportError.self) { try await open.value }
            isSilent.withLock { $0 = false }
            try await broker.restart()
            var status = 0
            while status != 200 {
                // The collector's client may come back later than the device's.
                status = (try? await transport.send(TransportRequest(method: .get, path: "/y")).status) ?? 0
            }
        }
    }

    @Test func `News ring at once, and many are one`() async throws {
        try await with { _ in
            ScriptedCollector.Answer()
        } _: { _, collector, transport in
            _ = try await transport.send(TransportRequest(method: .get, path: "/x"))
            var rings = transport.news.makeAsyncIterator()
            // The connection itself: what was new before is told to nobody.
            await rings.next()
            let began = ContinuousClock.now
            try await collector.publish(MQTTMessage(topic: "ws1/v1/d/device-1/n", payload: Data("commands".utf8)))
            await rings.next()
            #expect(ContinuousClock.now - began < .seconds(1))
        }
    }

    @Test func `The state says online with the device, stopped, or lost`() async throws {
        let device = Device()
        try await with(device: device) { _ in
            ScriptedCollector.Answer()
        } _: { broker, collector, transport in
            try await collector.states.until { !$0.isEmpty }
            let first = collector.states.value[0]
            #expect(first.payload == Data("online".utf8) && first[":device"] == nil)
            device.id.withLock { $0 = "0b9d" }
            _ = try await transport.send(TransportRequest(method: .get, path: "/x"))
            try await collector.states.until { $0.count > 1 }
            #expect(collector.states.value[1][":device"] == "0b9d")
            #expect(collector.states.value[1][":connection"] == first[":connection"])
            // Another client with the name: the broker ends the connection and publishes the will.
            try await Self.takeOver(broker, "device-1")
            try await collector.states.until { $0.contains { $0[":reason"] == "lost" } }
            // The device comes back by itself, as another connection.
            try await collector.states.until { $0.last?.payload == Data("online".utf8) && $0.count > 3 }
            #expect(collector.states.value.last?[":connection"] != first[":connection"])
            await transport.shutdown()
            try await collector.states.until { $0.last?[":reason"] == "stopped" }
            #expect(collector.states.value.last?.payload == Data("offline".utf8))
        }
    }

    /// Connects once with the name, and disconnects.
    private static func takeOver(_ broker: MosquittoBroker, _ name: String) async throws {
        let connections = Watched(0)
        let settings = MQTTSettings(
            address: try MQTTAddress("mqtt://127.0.0.1:\(broker.port)/ws1", what: "address"), clientID: name)
        let client = try MQTTClient(
            subscriptions: [], settings: { () throws(MQTTError) in settings }, received: { _ in },
            changed: { if $0 == .connected { connections.change { $0 += 1 } } })
        let running = Task { await client.run() }
        try await connections.until { $0 > 0 }
        running.cancel()
        await running.value
    }

    @Test func `A device that unenrolled leaves no state behind`() async throws {
        let device = Device()
        device.id.withLock { $0 = "0b9d" }
        try await with(device: device) { _ in
            ScriptedCollector.Answer(status: 204)
        } _: { _, collector, transport in
            try await collector.states.until { !$0.isEmpty }
            _ = try await transport.send(TransportRequest(method: .post, path: WireNames.unenrollPath))
            device.id.withLock { $0 = nil }
            try await collector.states.until { $0.last?.payload.isEmpty == true }
        }
    }
}
