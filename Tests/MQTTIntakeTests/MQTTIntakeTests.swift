import Collector
import Foundation
import Gzip
import MQTTClient
import Registry
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import MQTTIntake

@Suite("Requests from a broker")
struct MQTTIntakeTests {
    @Test func `A device enrolls, asks for its commands and reads its profile`() async throws {
        try await IntakeScene.play { scene, broker in
            var device = MessagingDevice(name: "kiosk-7", bearer: scene.enrollmentToken)
            var enroll = WireEnrollRequest()
            enroll.deviceName = "kiosk"
            let enrolled = try await broker.ask(
                device.request(
                    "POST", WireNames.enrollPath,
                    ["content-type": WireNames.protobuf, "content-encoding": "gzip"],
                    body: try GzipCodec.compress(enroll.encoded)))
            #expect(enrolled.topic == device.answers && enrolled[":status"] == "200")
            #expect(enrolled["ws1-collector-id"] == scene.metadata.collectorID.description)
            #expect(enrolled["ws1-collector-version"] == CollectorVersion.current)
            #expect(try #require(enrolled.expirySeconds) <= 30 && !enrolled.isRetained)
            let answer = try WireEnrollAnswer.decode(enrolled.payload)

            device.bearer = answer.credential
            let commands = try await broker.ask(device.request("GET", WireNames.commandsPath))
            #expect(commands[":status"] == "200")
            #expect(try WireCommandsAnswer.decode(commands.payload).profileRevision == 1)
            let profile = try await broker.ask(device.request("GET", WireNames.profilePath))
            let tag = try #require(profile["etag"])
            let known = try await broker.ask(device.request("GET", WireNames.profilePath, ["if-none-match": tag]))
            #expect(known[":status"] == "304" && known.payload.isEmpty)
            #expect(scene.metric(#"ws1_mqtt_messages_total{kind="request"} 4"#))
            #expect(scene.metric("ws1_mqtt_connected 1"))
        }
    }

    @Test func `Refusals are problems with the same statuses as over HTTP`() async throws {
        try await IntakeScene.play { scene, broker in
            let enrolled = try await scene.enrolled()
            let (device, stranger) = (
                MessagingDevice(name: "a", bearer: enrolled.credential), MessagingDevice(name: "b", bearer: "wrong")
            )
            let unknown = try await broker.ask(stranger.request("GET", WireNames.commandsPath))
            #expect(unknown[":status"] == "401")
            #expect(try unknown.problem.code == Problem.Code.credentialUnknown.rawValue)
            for path in ["/api/v1/devices", "/metrics", "/livez", "/api/v1/about"] {
                let people = try await broker.ask(device.request("GET", path))
                #expect(people[":status"] == "404", "\(path)")
            }
            let method = try await broker.ask(device.request("PUT", WireNames.commandsPath))
            #expect(method[":status"] == "405" && method["allow"] == "GET, HEAD")
            let type = try await broker.ask(
                device.request("POST", WireNames.batchesPath, ["content-type": "text/plain"], body: Data([1])))
            #expect(type[":status"] == "415")
        }
    }

    @Test(arguments: [
        (":method", "DELETE"), (":method", nil), (":path", nil), (":path", "api"), (":path", "/\u{E4}"),
        (":accept-part", nil), (":accept-part", "12"), (":accept-part", "many"),
    ])
    func `A wrong property is refused by name`(name: String, value: String?) async throws {
        try await IntakeScene.play { scene, broker in
            let device = MessagingDevice(name: "a", bearer: "x")
            var message = device.request("GET", WireNames.commandsPath)
            message.properties.removeAll { $0.name == name }
            if let value { message.properties.append(.init(name, value)) }
            let refused = try await broker.ask(message)
            #expect(refused[":status"] == "400")
            #expect(try refused.problem.detail?.contains(name) == true)
        }
    }

    @Test func `A header that is none and a missing time limit are refused`() async throws {
        try await IntakeScene.play { scene, broker in
            var device = MessagingDevice(name: "a", bearer: "x")
            let header = try await broker.ask(device.request("GET", WireNames.commandsPath, ["a b": "c"]))
            #expect(header[":status"] == "400")
            let value = try await broker.ask(device.request("GET", WireNames.commandsPath, ["x-a": "b\r\nx-c: d"]))
            #expect(value[":status"] == "400")
            device.expirySeconds = nil
            let timeless = try await broker.ask(device.request("GET", WireNames.commandsPath))
            #expect(try timeless.problem.detail?.contains("Message Expiry Interval is missing") == true)
            var crowded = MessagingDevice(name: "a", bearer: "x").request("GET", WireNames.commandsPath)
            crowded.hasTooManyProperties = true
            #expect(try await broker.ask(crowded).problem.detail?.contains("more than 64 user properties") == true)
        }
    }

    @Test func `Nothing is answered where an answer would go to somebody else`() async throws {
        try await IntakeScene.play { scene, broker in
            let enrolled = try await scene.enrolled()
            let (device, victim) = (
                MessagingDevice(name: "a", bearer: enrolled.credential), MessagingDevice(name: "b", bearer: nil)
            )
            var toVictim = device.request("GET", WireNames.commandsPath)
            toVictim.responseTopic = victim.answers
            var toEverybody = toVictim
            toEverybody.responseTopic = "fleet/ws1/v1/d/+/a"
            var toNobody = toVictim
            toNobody.responseTopic = nil
            var uncorrelated = device.request("GET", WireNames.commandsPath)
            uncorrelated.correlation = Data([1])
            var retained = device.request("GET", WireNames.commandsPath)
            retained.isRetained = true
            var elsewhere = device.request("GET", WireNames.commandsPath)
            elsewhere.topic = "fleet/ws1/v1/d/a/q/another"
            for message in [toVictim, toEverybody, toNobody, uncorrelated, retained, elsewhere] { broker.give(message) }
            // What comes after them shows that they were looked at.
            #expect(try await broker.ask(device.request("GET", WireNames.commandsPath))[":status"] == "200")
            #expect(broker.published.value.count == 1)
            for (reason, count) in [("response-topic", 3), ("correlation", 1), ("retained", 1), ("topic", 1)] {
                #expect(scene.metric(#"ws1_mqtt_messages_ignored_total{reason="\#(reason)"} \#(count)"#), "\(reason)")
            }
        }
    }

    @Test func `An answer that is larger than a message goes in parts`() async throws {
        try await IntakeScene.play { scene, broker in
            var profile = WireProfile()
            profile.customPayload = String(repeating: "0123456789", count: 1000)
            _ = try await scene.metadata.putProfile(
                profile, ProfileScope(organization: "default"), expected: nil, by: .commandLine)
            var device = MessagingDevice(name: "a", bearer: try await scene.enrolled().credential)
            device.acceptPart = 4096
            let request = device.request("GET", WireNames.profilePath)
            broker.give(request)
            try await broker.published.until { $0.count == 3 }
            let parts = broker.published.value
            #expect(parts.map { $0[":part"] } == ["1/3", "2/3", "3/3"])
            #expect(parts.allSatisfy { $0.correlation == request.correlation && $0.payload.count <= 4096 })
            #expect(parts.dropFirst().allSatisfy { $0.properties.count == 1 })
            let whole = parts.reduce(Data()) { $0 + $1.payload }
            #expect(parts[0][":status"] == "200" && parts[0][":length"] == "\(whole.count)")
            #expect(parts[0][":digest"] == whole.sha256.hexadecimal)
            #expect(try WireProfile.decode(whole).customPayload == profile.customPayload)
        }
    }

    @Test func `A request beyond the limit is refused as busy, and served once there is room`() async throws {
        var settings = MQTTIntake.Settings()
        settings.maximumRequests = 1
        try await IntakeScene.play(settings) { scene, broker in
            let bearer = try await scene.enrolled().credential
            // It waits for its parts.
            let parts = MessagingDevice(name: "a", bearer: bearer).parts(
                "POST", WireNames.batchesPath, ["content-type": WireNames.protobuf], body: Data(count: 20_000),
                partBytes: 10_000)
            broker.give(parts[0])
            _ = try await broker.answer(to: parts[0], status: "100")
            let busy = try await broker.ask(
                MessagingDevice(name: "b", bearer: bearer).request("GET", WireNames.commandsPath))
            #expect(busy[":status"] == "429" && busy["retry-after"] == "2")
            // Its place is free again once it has ended.
            broker.give(parts[1])
            _ = try await broker.answer(to: parts[0])
            var status: String?
            while status != "200" {
                status = try await broker.ask(
                    MessagingDevice(name: "b", bearer: bearer).request("GET", WireNames.commandsPath))[":status"]
            }
        }
    }

    @Test func `An answer for which nobody waits any more is not sent`() async throws {
        try await IntakeScene.play { scene, broker in
            let device = MessagingDevice(name: "a", bearer: try await scene.enrolled().credential)
            let parts = device.parts(
                "POST", WireNames.batchesPath, ["content-type": WireNames.protobuf], body: Data(count: 20_000),
                partBytes: 10_000)
            broker.give(parts[0])
            _ = try await broker.answer(to: parts[0], status: "100")
            scene.uptime.advance(seconds: 31)
            await scene.intake.look()
            // Whatever came of it, the device has another answer next.
            var other = MessagingDevice(name: "a", bearer: device.bearer)
            other.expirySeconds = 30
            #expect(try await broker.ask(other.request("GET", WireNames.commandsPath))[":status"] == "200")
            #expect(broker.published.value.count { $0.correlation == parts[0].correlation } == 1, "the 100")
        }
    }
}
