import CoreMetrics
import Foundation
import HTTPConnection
import LogArchive
import RecordStore
import Registry
import RegistryTestKit
import SQLiteRecordStore
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import Forwarding

@Suite(.timeLimit(.minutes(2))) struct ForwardServiceTests {
    /// A collector's data, and devices that send events.
    private final class Scene: Sendable {
        let directory: TemporaryDirectory
        let metadata: MetadataService
        let store: SQLiteRecordStore
        let archive: LogArchive
        let clock = ManualStoreClock()
        let token: String

        init() async throws {
            directory = try TemporaryDirectory()
            (metadata, _) = try MetadataService.open(directory: directory.path, clock: clock, logger: quietLogger)
            store = try SQLiteRecordStore.open(
                directory: directory.path, clock: clock, incidents: { _, _ in }, logger: quietLogger)
            archive = LogArchive(metadata: metadata)
            token = try await metadata.createEnrollmentToken(organization: "default", maximumUses: nil).token
        }

        func close() async {
            archive.shutDown()
            await store.shutDown()
            await metadata.close()
        }

        func sender(_ organization: String = "default") async throws -> Sender {
            let token =
                organization == "default"
                ? token
                : try await metadata.createEnrollmentToken(organization: organization, maximumUses: nil).token
            let device = try await metadata.enroll(token: token, request: WireEnrollRequest()).deviceID
            return Sender(scene: self, chain: ScriptedDevice(device: device, stream: .event))
        }

        /// Runs a service over the data while `body` runs.
        func forwarding(
            to receivers: [String: (ForwardEndpoint, RecordingReceiver)], _ body: (ForwardService) async throws -> Void
        ) async throws {
            var settings = ForwardSettings()
            for (name, (endpoint, _)) in receivers { settings.endpoints[name] = try Self.addressed(endpoint, name) }
            let clients = Dictionary(uniqueKeysWithValues: receivers.map { ($0.key, $0.value.1) })
            let service = ForwardService(
                settings, store: store, archive: archive, metadata: metadata,
                notices: NoticeService(metadata: metadata),
                metrics: NOOPMetricsHandler.instance, clock: clock, logger: quietLogger
            ) { endpoint, _ in
                guard let client = endpoint.url.flatMap({ clients[$0.host] }) else { throw CancellationError() }
                return client
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask { await service.run() }
                try await body(service)
                group.cancelAll()
                try await group.waitForAll()
            }
        }

        static func addressed(_ endpoint: ForwardEndpoint, _ name: String) throws -> ForwardEndpoint {
            var endpoint = endpoint
            endpoint.url = try EndpointURL(server: "http://\(name)", name: "test")
            return endpoint
        }
    }

    private struct Sender {
        let scene: Scene
        var chain: ScriptedDevice
        var sent: [String] = []

        var id: String { chain.device.description }

        mutating func send(_ names: [String], test: Bool = false) async throws {
            for name in names {
                var event = WireEvent()
                event.type = .custom
                event.name = name
                let record = NewRecord(
                    stream: .event, kind: .event,
                    stamp: RecordStamp(wallTime: scene.clock.now(), bootID: nil, timeSinceBoot: 1), test: test,
                    body: event.encoded)
                chain.append(record.serialized(number: chain.last + 1))
                sent.append(name)
            }
            guard let part = chain.part() else { return }
            chain.apply(await scene.store.append([part], from: chain.device, receivedAt: scene.clock.now())[0])
        }
    }

    private static func backlog() -> ForwardEndpoint {
        var endpoint = ForwardEndpoint()
        endpoint.withBacklog = true
        return endpoint
    }

    @Test func `All records arrive in each device's order, once, also those that come later`() async throws {
        let scene = try await Scene()
        let receiver = RecordingReceiver()
        var senders = [try await scene.sender(), try await scene.sender()]
        for place in senders.indices { try await senders[place].send((1...5).map { "early \($0)" }) }
        try await scene.forwarding(to: ["a": (Self.backlog(), receiver)]) { _ in
            try await receiver.taken.until { $0.uids.count == 10 }
            scene.clock.advance(days: 1)
            senders.append(try await scene.sender())
            for place in senders.indices { try await senders[place].send((1...3).map { "late \($0)" }) }
            try await receiver.taken.until { $0.uids.count == 19 }
        }
        #expect(receiver.taken.value.uids.values.allSatisfy { $0 == 1 })
        for sender in senders { #expect(receiver.taken.value.events[sender.id] == sender.sent) }
        // Another process goes on where this one was.
        let next = RecordingReceiver()
        try await senders[0].send(["last"])
        try await scene.forwarding(to: ["a": (Self.backlog(), next)]) { _ in
            try await next.taken.until { !$0.uids.isEmpty }
        }
        #expect(next.taken.value.events == [senders[0].id: ["last"]])
        await scene.close()
    }

    @Test func `Without a backlog it begins with what comes`() async throws {
        let scene = try await Scene()
        let receiver = RecordingReceiver()
        var sender = try await scene.sender()
        try await sender.send(["before"])
        scene.clock.advance(seconds: 100)
        // As a service makes it when it begins.
        _ = try await scene.metadata.forwardCursor(of: "a", source: "event", since: scene.clock.now())
        scene.clock.advance(seconds: 100)
        try await sender.send(["after"])
        try await scene.forwarding(to: ["a": (ForwardEndpoint(), receiver)]) { _ in
            try await receiver.taken.until { !$0.uids.isEmpty }
        }
        #expect(receiver.taken.value.events == [sender.id: ["after"]])
        await scene.close()
    }

    @Test func `An end in the middle of a request loses nothing`() async throws {
        let scene = try await Scene()
        var sender = try await scene.sender()
        try await sender.send((1...300).map { "event \($0)" })
        for _ in 1...3 {
            // It takes the first request, and the process ends before it knows.
            let (reached, never) = (Watched(false), Watched(false))
            let receiver = RecordingReceiver { _ in
                reached.change { $0 = true }
                // Until the task is cancelled.
                try? await never.until { $0 }
                return .accepted(rejected: 0, message: "")
            }
            try await scene.forwarding(to: ["a": (Self.backlog(), receiver)]) { _ in try await reached.until { $0 } }
            #expect(receiver.taken.value.requests == 1)
        }
        let last = RecordingReceiver()
        try await scene.forwarding(to: ["a": (Self.backlog(), last)]) { _ in
            try await last.taken.until { $0.uids.count == 300 }
        }
        #expect(last.taken.value.events == [sender.id: sender.sent])
        await scene.close()
    }

    @Test func `A receiver that is down delays no other one, and gets everything later`() async throws {
        let scene = try await Scene()
        var sender = try await scene.sender()
        let isUp = Watched(false)
        let (good, bad) = (
            RecordingReceiver(),
            RecordingReceiver { _ in
                isUp.value ? .accepted(rejected: 0, message: "") : .later("down", retryAfter: nil)
            }
        )
        try await sender.send((1...20).map { "event \($0)" })
        try await scene.forwarding(to: ["good": (Self.backlog(), good), "bad": (Self.backlog(), bad)]) { _ in
            try await good.taken.until { $0.uids.count == 20 }
            try await bad.taken.until { $0.requests >= 2 }
            #expect(bad.taken.value.uids.isEmpty)
            isUp.change { $0 = true }
            try await bad.taken.until { $0.uids.count == 20 }
        }
        #expect(bad.taken.value.events == [sender.id: sender.sent])
        await scene.close()
    }

    @Test func `Lines of the log archive arrive in their order, once, and what is damaged is passed over`() async throws
    {
        let scene = try await Scene()
        let sender = try await scene.sender()
        let row = try #require(try await scene.metadata.device(sender.chain.device, organization: nil))
        let device = LogDevice(row: row)
        func upload(_ segment: UInt64, _ positions: ClosedRange<UInt64>) async throws -> [String] {
            // Each 50 lines are a stretch of their own.
            let chunk = try LogDevice.chunk(
                segment: segment, positions, from: scene.clock.now(), padding: 2000, linesPerMember: 50)
            try await device.upload([chunk], to: scene.archive)
            return positions.map { "line \(segment).\($0)" }
        }
        var endpoint = Self.backlog()
        endpoint.kinds = [.logs]
        let receiver = RecordingReceiver()
        var sent = try await upload(1, 1...1500)
        try await scene.forwarding(to: ["a": (endpoint, receiver)]) { _ in
            try await receiver.taken.until { $0.uids.count == 1500 }
            sent += try await upload(1, 1501...1510)
            try await receiver.taken.until { $0.uids.count == 1510 }
        }
        #expect(receiver.taken.value.lines == [sender.id: sent])
        #expect(receiver.taken.value.uids.values.allSatisfy { $0 == 1 } && receiver.taken.value.events.isEmpty)
        // The second of three stretches is damaged. Another process goes on where this one was.
        _ = try await upload(2, 1...150)
        let path = try #require(
            scene.directory.chunkFiles.map { scene.directory.path + "/chunks/" + $0 }.max {
                Self.modified($0) < Self.modified($1)
            })
        var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
        bytes[bytes.startIndex + bytes.count / 2] ^= 0x40
        try bytes.write(to: URL(fileURLWithPath: path))
        let next = RecordingReceiver()
        let last = try await upload(3, 1...1)
        try await scene.forwarding(to: ["a": (endpoint, next)]) { _ in
            try await next.taken.until { $0.lines[sender.id]?.last == last.last }
        }
        #expect(
            next.taken.value.lines[sender.id] == (1...50).map { "line 2.\($0)" } + (101...150).map { "line 2.\($0)" }
                + last)
        await scene.close()
    }

    private static func modified(_ path: String) -> Date {
        let attributes = try? FileManager.default.attributesOfItem(atPath: path)
        return attributes?[.modificationDate] as? Date ?? .distantPast
    }

    @Test func `Without a backlog, lines begin with those that come`() async throws {
        let scene = try await Scene()
        let sender = try await scene.sender()
        let device = LogDevice(
            row: try #require(try await scene.metadata.device(sender.chain.device, organization: nil)))
        try await device.upload([try LogDevice.chunk(segment: 1, 1...5)], to: scene.archive)
        scene.clock.advance(seconds: 100)
        _ = try await scene.metadata.forwardCursor(of: "a", source: "log", since: scene.clock.now())
        try await device.upload([try LogDevice.chunk(segment: 1, 6...7)], to: scene.archive)
        var endpoint = ForwardEndpoint()
        endpoint.kinds = [.logs]
        let receiver = RecordingReceiver()
        try await scene.forwarding(to: ["a": (endpoint, receiver)]) { _ in
            try await receiver.taken.until { !$0.uids.isEmpty }
        }
        #expect(receiver.taken.value.lines == [sender.id: ["line 1.6", "line 1.7"]])
        await scene.close()
    }

    @Test func `What is refused for good is passed over, and the next records go on`() async throws {
        let scene = try await Scene()
        var sender = try await scene.sender()
        let receiver = RecordingReceiver { number in number == 1 ? .refused("400") : .accepted(rejected: 0, message: "")
        }
        try await sender.send(["bad"])
        try await scene.forwarding(to: ["a": (Self.backlog(), receiver)]) { _ in
            try await receiver.taken.until { $0.requests == 1 }
            try await sender.send(["good"])
            try await receiver.taken.until { !$0.uids.isEmpty }
        }
        #expect(receiver.taken.value.events == [sender.id: ["good"]])
        await scene.close()
    }

    @Test func `Organizations and test data are filtered, and deleted devices are left out`() async throws {
        let scene = try await Scene()
        try await scene.metadata.createOrganization("shop")
        var (own, other, gone) = (
            try await scene.sender("shop"), try await scene.sender(), try await scene.sender("shop")
        )
        try await own.send(["test"], test: true)
        try await own.send(["own"])
        try await other.send(["other"])
        try await gone.send(["gone"])
        let device = gone.chain.device
        let row = try #require(try await scene.metadata.device(device, organization: nil))
        try await scene.metadata.deleteDevice(
            device, enrollment: row.enrollmentID, organization: nil, by: .commandLine)
        var (shop, tests) = (Self.backlog(), Self.backlog())
        shop.organizations = ["shop"]
        (tests.organizations, tests.withTest) = (["shop"], true)
        let (first, second) = (RecordingReceiver(), RecordingReceiver())
        try await scene.forwarding(to: ["shop": (shop, first), "tests": (tests, second)]) { _ in
            try await second.taken.until { $0.uids.count == 2 }
            try await first.taken.until { $0.uids.count == 1 }
            try await own.send(["end"])
            try await first.taken.until { $0.uids.count == 2 }
            try await second.taken.until { $0.uids.count == 3 }
        }
        #expect(first.taken.value.events == [own.id: ["own", "end"]])
        #expect(second.taken.value.events == [own.id: ["test", "own", "end"]])
        await scene.close()
    }

    @Test func `Other settings hold at once, and an endpoint goes on where it was`() async throws {
        let scene = try await Scene()
        var sender = try await scene.sender()
        let (first, second) = (RecordingReceiver(), RecordingReceiver())
        try await sender.send(["one"])
        let settings = ["a": (Self.backlog(), first), "b": (Self.backlog(), second)]
        try await scene.forwarding(to: settings) { service in
            try await first.taken.until { $0.uids.count == 1 }
            try await second.taken.until { $0.uids.count == 1 }
            var other = ForwardSettings()
            other.endpoints["b"] = try Scene.addressed(Self.backlog(), "b")
            service.apply(other)
            try await sender.send(["two"])
            try await second.taken.until { $0.uids.count == 2 }
        }
        #expect(second.taken.value.events == [sender.id: ["one", "two"]])
        #expect(first.taken.value.requests <= 2)
        await scene.close()
    }

    @Test func `A cursor is moved only from where it was`() async throws {
        let scene = try await Scene()
        let metadata = scene.metadata
        #expect(
            try await metadata.forwardCursor(of: "a", source: "event", since: 5)
                == ForwardCursor(since: 5, position: ""))
        #expect(try await metadata.moveForwardCursor(of: "a", source: "event", from: "", to: "1"))
        #expect(try await !metadata.moveForwardCursor(of: "a", source: "event", from: "", to: "2"))
        #expect(
            try await metadata.forwardCursor(of: "a", source: "event", since: 9)
                == ForwardCursor(since: 5, position: "1"))
        #expect(
            try await metadata.forwardCursor(of: "a", source: "status", since: 9)
                == ForwardCursor(since: 9, position: ""))
        await scene.close()
    }
}
