import Foundation
import MQTTClient
import NIOCore
import Registry
import TestKit
import Testing
import WireModel

@testable import MQTTIntake

@Suite("Requests in parts")
struct RequestPartsTests {
    private static let batch = ["content-type": WireNames.protobuf]

    /// An upload's chunk would do as well; a body that is no batch shows by its 400 that all of it was read.
    private static let body = Data((0..<300_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3) })

    private static func device(_ scene: IntakeScene, _ name: String = "a") async throws -> MessagingDevice {
        MessagingDevice(name: name, bearer: try await scene.enrolled().credential)
    }

    private static func parts(_ device: MessagingDevice, digest: Data? = nil, length: Int? = nil) -> [MQTTMessage] {
        device.parts(
            "POST", WireNames.batchesPath, batch, body: body, partBytes: 98_304, digest: digest, length: length)
    }

    /// Whether the collector read the whole body and found it to be no batch.
    private static func wasRead(_ answer: MQTTMessage) throws -> Bool {
        try answer[":status"] == "400" && answer.problem.code == Problem.Code.malformed.rawValue
            && answer.problem.detail?.contains("\(body.count) bytes") == true
    }

    @Test func `The collector asks for the other parts, and answers the whole`() async throws {
        try await IntakeScene.play { scene, broker in
            let parts = Self.parts(try await Self.device(scene))
            #expect(parts.count == 4)
            broker.give(parts[0])
            let goOn = try await broker.answer(to: parts[0], status: "100")
            #expect(goOn[":to"] == IntakeScene.collector && goOn.payload.isEmpty)
            for part in parts.dropFirst() { broker.give(part) }
            #expect(try Self.wasRead(try await broker.answer(to: parts[0])))
            #expect(broker.count(parts[0], status: "100") == 1)
        }
    }

    @Test func `A part that comes twice counts once`() async throws {
        try await IntakeScene.play { scene, broker in
            let parts = Self.parts(try await Self.device(scene))
            for number in [0, 0, 1, 1, 2, 1, 0, 3] { broker.give(parts[number]) }
            #expect(try Self.wasRead(try await broker.answer(to: parts[0])))
        }
    }

    @Test func `A part that is left out breaks the request`() async throws {
        try await IntakeScene.play { scene, broker in
            let parts = Self.parts(try await Self.device(scene))
            for number in [0, 1, 3] { broker.give(parts[number]) }
            let broken = try await broker.answer(to: parts[0])
            #expect(broken[":status"] == "408")
            #expect(try broken.problem.code == "parts-broken" && broken.problem.retryable)
            #expect(try broken.problem.detail?.contains("part 4 came after part 2") == true)
        }
    }

    @Test func `Another digest, another length and another count break it, too`() async throws {
        try await IntakeScene.play { scene, broker in
            let device = try await Self.device(scene)
            let altered = Self.parts(device, digest: Data(count: 32))
            for part in altered { broker.give(part) }
            let digest = try await broker.answer(to: altered[0]).problem
            #expect(digest.code == "parts-broken" && digest.detail?.contains("SHA-256") == true)

            let longer = Self.parts(device, length: Self.body.count + 1)
            for part in longer { broker.give(part) }
            #expect(try await broker.answer(to: longer[0]).problem.code == "parts-broken")
            let shorter = Self.parts(device, length: Self.body.count - 1)
            for part in shorter { broker.give(part) }
            #expect(try await broker.answer(to: shorter[0]).problem.code == "parts-broken")

            var counted = Self.parts(device)
            counted[1].properties = [.init(":part", "2/5")]
            for part in counted { broker.give(part) }
            #expect(try await broker.answer(to: counted[0]).problem.code == "parts-broken")
        }
    }

    @Test func `No part is asked for that would be in vain`() async throws {
        try await IntakeScene.play { scene, broker in
            let stranger = Self.parts(MessagingDevice(name: "b", bearer: "wrong"))
            #expect(try await broker.ask(stranger[0])[":status"] == "401")
            let tooLarge = Self.parts(try await Self.device(scene), length: WireLimits.bodyBytes + 1)
            #expect(try await broker.ask(tooLarge[0])[":status"] == "413")
            #expect(!broker.published.value.contains { $0[":status"] == "100" })
        }
    }

    @Test(arguments: ["0/4", "1/1", "1/1025", "4", "x/4", "2/4"])
    func `A wrong first part is refused`(part: String) async throws {
        try await IntakeScene.play { scene, broker in
            var parts = Self.parts(try await Self.device(scene))
            let place = try #require(parts[0].properties.firstIndex { $0.name == ":part" })
            parts[0].properties[place].value = part
            let status = try await broker.ask(parts[0])[":status"]
            #expect(status == (part == "2/4" ? "408" : "400"))
        }
    }

    @Test func `A part of a request that the collector does not know is refused`() async throws {
        try await IntakeScene.play { scene, broker in
            let parts = Self.parts(try await Self.device(scene))
            let unknown = try await broker.ask(parts[2])
            #expect(unknown[":status"] == "408")
            #expect(try unknown.problem.code == "parts-broken")
        }
    }

    @Test func `A new request of a device replaces the one that is incomplete, and nobody else's`() async throws {
        try await IntakeScene.play { scene, broker in
            let (device, other) = (try await Self.device(scene), try await Self.device(scene, "b"))
            let (former, next, others) = (Self.parts(device), Self.parts(device), Self.parts(other))
            broker.give(former[0])
            _ = try await broker.answer(to: former[0], status: "100")
            broker.give(others[0])
            broker.give(next[0])
            #expect(try await broker.answer(to: former[0]).problem.code == "parts-broken")
            for number in 1..<4 {
                broker.give(next[number])
                broker.give(others[number])
            }
            #expect(try Self.wasRead(try await broker.answer(to: next[0])))
            #expect(try Self.wasRead(try await broker.answer(to: others[0])))
        }
    }

    @Test func `Parts that wait are bounded, and given back when their request ends`() {
        let memory = PartMemory(limit: 25_000)
        func inbox() -> PartInbox { PartInbox(PartSequence(count: 4, length: 40_000, digest: ""), memory: memory) {} }
        let (first, second) = (inbox(), inbox())
        #expect(first.put(1, of: 4, ByteBuffer(repeating: 0, count: 10_000)))
        #expect(first.put(2, of: 4, ByteBuffer(repeating: 0, count: 10_000)))
        #expect(second.put(1, of: 4, ByteBuffer(repeating: 0, count: 10_000)), "it is refused by its own answer")
        #expect(!second.put(2, of: 4, ByteBuffer(repeating: 0, count: 10_000)), "it has ended")
        #expect(memory.bytes == 20_000)
        first.fail(CancellationError())
        first.fail(CancellationError())
        #expect(memory.bytes == 0)
    }

    @Test func `A body is read part by part, and its end is known`() async throws {
        let memory = PartMemory(limit: 100)
        let whole = Data([1, 2, 3])
        let asked = Watched(0)
        let inbox = PartInbox(
            PartSequence(count: 3, length: 3, digest: whole.sha256.hexadecimal), memory: memory
        ) { asked.change { $0 += 1 } }
        inbox.put(1, of: 3, ByteBuffer(bytes: [1]))
        var read: [UInt8] = []
        for try await part in inbox.body {
            read += Array(part.readableBytesView)
            #expect(asked.value == (read.count == 1 ? 0 : 1), "after the first part it is asked for more, once")
            if read.count < 3 { inbox.put(read.count + 1, of: 3, ByteBuffer(bytes: [UInt8(read.count + 1)])) }
        }
        #expect(Data(read) == whole && memory.bytes == 0)
    }
}
