import Foundation
import MQTTClient
import RecordStore
import Registry
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import MQTTIntake

@Suite("News for connected devices")
struct BrokerNewsTests {
    private static func issue(_ scene: IntakeScene, to device: DeviceID) async throws {
        let new = NewCommand(
            device: device, action: .sendBeacon(.init()), expires: scene.clock.now() + 60_000_000, issuer: .commandLine,
            idempotencyKey: nil, request: Data())
        _ = try await scene.metadata.issue(new, organization: nil)
    }

    private static func words(_ broker: InMemoryBroker, to device: MessagingDevice) -> [String] {
        broker.published.value.filter { $0.topic == device.news }.map { String(decoding: $0.payload, as: UTF8.self) }
    }

    /// Gives a device's state, and returns once the collector knows it.
    private static func connect(
        _ device: MessagingDevice, _ id: DeviceID, _ connection: String, _ broker: InMemoryBroker
    ) async throws {
        broker.give(device.state("online", connection: connection, device: id))
        _ = try await broker.ask(device.request("GET", WireNames.commandsPath))
    }

    /// Returns once earlier changes, such as enrollments, are told to nobody any more. So who connects then hears only
    /// of later ones.
    private static func settle(_ scene: IntakeScene, _ broker: InMemoryBroker) async throws {
        let last = try await scene.enrolled()
        let device = MessagingDevice(name: "last", bearer: last.credential)
        try await connect(device, last.deviceID, "last", broker)
        // A round has all that came before it, and tells each device once. At the second one the first is over.
        for round in 1...2 {
            try await issue(scene, to: last.deviceID)
            try await broker.published.until { $0.count { $0.topic == device.news } >= round }
        }
    }

    @Test func `A command rings at its device, and at no other`() async throws {
        try await IntakeScene.play { scene, broker in
            let (one, two) = (try await scene.enrolled(), try await scene.enrolled())
            let (first, second) = (
                MessagingDevice(name: "a", bearer: one.credential), MessagingDevice(name: "b", bearer: two.credential)
            )
            try await Self.settle(scene, broker)
            try await Self.connect(first, one.deviceID, "1", broker)
            try await Self.connect(second, two.deviceID, "2", broker)
            try await Self.issue(scene, to: two.deviceID)
            try await broker.published.until { $0.contains { $0.topic == second.news } }
            #expect(Self.words(broker, to: second).first == "commands")
            let news = try #require(broker.published.value.first { $0.topic == second.news })
            #expect(news.expirySeconds == 60 && !news.isRetained)
            #expect(Self.words(broker, to: first).isEmpty)
            // What it asks for then is there.
            let answer = try await broker.ask(second.request("GET", WireNames.commandsPath))
            #expect(try WireCommandsAnswer.decode(answer.payload).commands.count == 1)
        }
    }

    @Test func `A profile rings at the devices of its organization`() async throws {
        try await IntakeScene.play { scene, broker in
            let one = try await scene.enrolled()
            let device = MessagingDevice(name: "a", bearer: one.credential)
            try await Self.settle(scene, broker)
            try await Self.connect(device, one.deviceID, "1", broker)
            try await scene.metadata.createOrganization("west")
            _ = try await scene.metadata.putProfile(
                WireProfile(), ProfileScope(organization: "west"), expected: nil, by: .commandLine)
            _ = try await scene.metadata.putProfile(
                WireProfile(), ProfileScope(organization: "default"), expected: nil, by: .commandLine)
            try await broker.published.until {
                $0.contains { $0.topic == device.news && $0.payload == Data("profile".utf8) }
            }
            try await Self.issue(scene, to: one.deviceID)
            try await broker.published.until { $0.contains { $0.payload == Data("commands".utf8) } }
            #expect(Self.words(broker, to: device).filter { $0 == "profile" } == ["profile"])
        }
    }

    @Test func `News that nobody could be told wait for the broker`() async throws {
        try await IntakeScene.play { scene, broker in
            let one = try await scene.enrolled()
            let device = MessagingDevice(name: "a", bearer: one.credential)
            try await Self.settle(scene, broker)
            try await Self.connect(device, one.deviceID, "1", broker)
            broker.lose("it was restarted")
            try await broker.answerless(device.request("GET", WireNames.commandsPath), scene)
            try await Self.issue(scene, to: one.deviceID)
            #expect(Self.words(broker, to: device).isEmpty)
            #expect(scene.metric("ws1_mqtt_connected 0"))
            broker.comeBack()
            try await broker.published.until { $0.contains { $0.topic == device.news } }
            #expect(Self.words(broker, to: device).contains("commands"))
        }
    }

    @Test func `News that the broker did not take are told with the next connection`() async throws {
        try await IntakeScene.play { scene, broker in
            let one = try await scene.enrolled()
            let device = MessagingDevice(name: "a", bearer: one.credential)
            try await Self.settle(scene, broker)
            try await Self.connect(device, one.deviceID, "1", broker)
            broker.fail()
            try await Self.issue(scene, to: one.deviceID)
            try await broker.failures.until { $0 > 0 }
            broker.lose("it was restarted")
            broker.comeBack()
            try await broker.published.until { $0.contains { $0.topic == device.news } }
            #expect(Self.words(broker, to: device).contains("commands"))
        }
    }
}

extension InMemoryBroker {
    /// Gives a request whose answer cannot be published, and waits until that was found out.
    func answerless(_ message: MQTTMessage, _ scene: IntakeScene) async throws {
        give(message)
        try await failures.until { $0 > 0 }
    }
}
