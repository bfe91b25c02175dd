import Foundation
import MQTTClient
import MosquittoTestKit
import RecordStore
import Registry
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import MQTTIntake

/// The routes behind a real Mosquitto, under the access list that is packaged.
@Suite("Behind Mosquitto", .timeLimit(.minutes(5)))
struct MosquittoIntakeTests {
    private static let users = ["collector": "c", "good": "g", "evil": "e"]

    /// Tools/packaging/mosquitto/ws1.acl, below the prefix of the tests.
    private static func accessList() throws -> String {
        let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
        let list = try String(
            contentsOf: root.appending(path: "Tools/packaging/mosquitto/ws1.acl"), encoding: .utf8)
        return list.replacing(" ws1/v1/", with: " \(IntakeScene.prefix)/v1/")
    }

    private static func broker() async throws -> MosquittoBroker {
        var options = MosquittoBroker.Options()
        (options.users, options.acl) = (users, try accessList())
        return try await MosquittoBroker.start(options)
    }

    private static func settings(_ broker: MosquittoBroker, _ user: String, _ id: String) throws(MQTTError)
        -> MQTTSettings
    {
        var settings = MQTTSettings(
            address: try MQTTAddress("mqtt://127.0.0.1:\(broker.port)/\(IntakeScene.prefix)", what: "address"),
            clientID: id)
        (settings.user, settings.password) = (user, users[user])
        return settings
    }

    private static func scene(_ broker: MosquittoBroker, _ collector: String = IntakeScene.collector) throws
        -> IntakeScene
    {
        try IntakeScene(collector: collector) { topics in
            try LibraryBroker(topics) { () throws(MQTTError) in
                try settings(broker, "collector", "ws1collector-\(topics.collector)")
            }
        }
    }

    /// A collector behind a broker, and a device at it.
    private static func play(
        _ body: @escaping @Sendable (IntakeScene, MosquittoBroker, BrokerClient) async throws -> Void
    ) async throws {
        let broker = try await broker()
        let scene = try scene(broker)
        try await scene.serve {
            let device = try BrokerClient(
                MessagingDevice(name: "good", bearer: try await scene.enrolled().credential)
            ) { () throws(MQTTError) in try settings(broker, "good", "good") }
            try await device.run { try await body(scene, broker, device) }
        }
    }

    @Test func `A request is answered, also in parts`() async throws {
        try await Self.play { scene, _, device in
            let commands = try await device.ask(device.messages.request("GET", WireNames.commandsPath))
            #expect(commands[":status"] == "200")
            let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })
            let parts = device.messages.parts(
                "POST", WireNames.batchesPath, ["content-type": WireNames.protobuf], body: body, partBytes: 98_304)
            try await device.publish(parts[0])
            #expect(try await device.answer(to: parts[0], isGoOn: true)[":to"] == IntakeScene.collector)
            for part in parts.dropFirst() { try await device.publish(part) }
            let answer = try await device.answer(to: parts[0], isGoOn: false)
            #expect(try answer.problem.detail?.contains("\(body.count) bytes") == true)
        }
    }

    @Test func `A command rings at a connected device`() async throws {
        try await Self.play { scene, _, device in
            let enrolled = try await scene.enrolled()
            var state = device.messages.state("online", connection: "1", device: enrolled.deviceID)
            state.isRetained = true
            try await device.publish(state)
            // The state is known once a later message of the same device was answered.
            _ = try await device.ask(device.messages.request("GET", WireNames.commandsPath))
            let new = NewCommand(
                device: enrolled.deviceID, action: .sendBeacon(.init()), expires: scene.clock.now() + 60_000_000,
                issuer: .commandLine, idempotencyKey: nil, request: Data())
            _ = try await scene.metadata.issue(new, organization: nil)
            try await device.heard.until { $0.contains { $0.payload == Data("commands".utf8) } }
        }
    }

    @Test func `A device cannot break out of its topics, nor take requests away from the collectors`() async throws {
        try await Self.play { scene, broker, device in
            let enrolled = try await scene.enrolled()
            let evil = try BrokerClient(
                MessagingDevice(name: "evil", bearer: enrolled.credential),
                subscribing: [
                    "#", "\(IntakeScene.prefix)/v1/d/good/a", "$share/ws1/\(IntakeScene.prefix)/v1/d/+/q",
                    "\(IntakeScene.prefix)/v1/d/+/q/\(IntakeScene.collector)",
                ]
            ) { () throws(MQTTError) in try Self.settings(broker, "evil", "evil") }
            try await evil.run {
                #expect(try await evil.ask(evil.messages.request("GET", WireNames.commandsPath))[":status"] == "200")
                // In the name of the other device: at its topic, and for its answers.
                let stolen = device.messages.request("GET", WireNames.commandsPath)
                await #expect(throws: MQTTError.self) { try await evil.publish(stolen) }
                var answered = evil.messages.request("GET", WireNames.commandsPath)
                answered.responseTopic = device.messages.answers
                try await evil.publish(answered)
                for topic in [device.messages.answers, device.messages.news] {
                    await #expect(throws: MQTTError.self) { try await evil.publish(MQTTMessage(topic: topic)) }
                }
                // None of the other device's requests is dealt to it.
                for _ in 0..<20 {
                    let answer = try await device.ask(device.messages.request("GET", WireNames.commandsPath))
                    #expect(answer[":status"] == "200")
                }
                #expect(device.heard.value.allSatisfy { $0.correlation != answered.correlation })
                #expect(evil.heard.value.allSatisfy { $0.topic.hasPrefix("\(IntakeScene.prefix)/v1/d/evil/") })
            }
        }
    }

    @Test(arguments: [false, true])
    func `A broker that was restarted is joined again`(isKilled: Bool) async throws {
        try await Self.play { scene, broker, device in
            _ = try await device.ask(device.messages.request("GET", WireNames.commandsPath))
            if isKilled { await broker.kill() } else { await broker.stop() }
            try await broker.restart()
            // The collector comes back by itself; until then nobody subscribes to requests.
            var answer: MQTTMessage?
            while answer == nil {
                let request = device.messages.request("GET", WireNames.commandsPath)
                guard (try? await device.publish(request)) == .delivered else { continue }
                answer = try await device.answer(to: request, isGoOn: false)
            }
            #expect(answer?[":status"] == "200")
        }
    }

    @Test func `Two collectors share the requests`() async throws {
        let broker = try await Self.broker()
        let (one, two) = (try Self.scene(broker, "one"), try Self.scene(broker, "two"))
        try await one.serve {
            try await two.serve {
                let device = try BrokerClient(MessagingDevice(name: "good", bearer: "nobody's")) {
                    () throws(MQTTError) in try Self.settings(broker, "good", "good")
                }
                try await device.run {
                    // Each collector answers with its own id.
                    var answered: Set<String> = []
                    while answered.count < 2 {
                        let request = device.messages.request("GET", WireNames.commandsPath)
                        guard (try? await device.publish(request)) == .delivered else { continue }
                        let answer = try await device.answer(to: request, isGoOn: false)
                        answered.insert(answer["ws1-collector-id"] ?? "")
                    }
                    #expect(answered == [one.metadata.collectorID.description, two.metadata.collectorID.description])
                }
            }
        }
    }
}
