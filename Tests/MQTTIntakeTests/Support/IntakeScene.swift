import Collector
import Foundation
import HTTPTypes
import LogArchive
import Logging
import MQTTClient
import Registry
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import MQTTIntake

/// A collector with real routes behind a broker, and devices that send messages.
struct IntakeScene: Sendable {
    static let prefix = "fleet/ws1"
    static let collector = "c0ffee"

    let directory: TemporaryDirectory
    let clock = ManualStoreClock()
    let store = InMemoryRecordStore()
    let metadata: MetadataService
    let archive: LogArchive
    let server: CollectorServer
    let telemetry = CollectorTelemetry()
    let broker: any Broker
    let intake: MQTTIntake
    /// Nobody but the test moves it.
    let uptime = ManualUptime()
    let enrollmentToken: String

    final class ManualUptime: Sendable {
        private let time = Mutex<Int64>(1_000_000_000)
        var now: Int64 { time.withLock { $0 } }
        func advance(seconds: Int64) { time.withLock { $0 += seconds * 1_000_000 } }
    }

    /// - Parameter broker: made with the topics of the collector.
    init(
        _ settings: MQTTIntake.Settings = MQTTIntake.Settings(), server limits: CollectorServer.Settings? = nil,
        collector: String = Self.collector, broker make: (IntakeTopics) throws -> any Broker
    ) throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        directory = try TemporaryDirectory()
        let (metadata, created) = try MetadataService.open(directory: directory.path, clock: clock, logger: logger)
        self.metadata = metadata
        enrollmentToken = try #require(created).enrollmentToken
        var configuration = LogArchive.Configuration()
        configuration.leastFreeBytes = 0
        archive = try LogArchive.open(metadata: metadata, configuration: configuration, logger: logger)
        let (notices, clock, uptime) = (NoticeService(metadata: metadata), clock, uptime)
        server = CollectorServer(
            store: store, metadata: metadata, archive: archive, notices: notices,
            settings: limits ?? CollectorServer.Settings(port: 0), telemetry: telemetry, logger: logger,
            clock: { clock.now() })
        let topics = IntakeTopics(prefix: Self.prefix, collector: collector, share: "secret")
        broker = try make(topics)
        intake = MQTTIntake(
            exchange: server.exchange, metadata: metadata, notices: notices, broker: broker, topics: topics,
            peer: "broker.example:8883", settings: settings, metrics: telemetry.registry, logger: logger,
            uptime: { uptime.now })
    }

    /// Serves while the test runs, and closes everything after it.
    func serve(_ body: @escaping @Sendable () async throws -> Void) async throws {
        let intake = intake
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { await intake.run() }
            let result: Result<Void, any Error>
            do { result = .success(try await body()) } catch { result = .failure(error) }
            group.cancelAll()
            try await group.waitForAll()
            try result.get()
        }
        archive.shutDown()
        await metadata.close()
    }

    /// A scene in memory.
    static func play(
        _ settings: MQTTIntake.Settings = MQTTIntake.Settings(), server: CollectorServer.Settings? = nil,
        packetLimit: Int? = nil, _ body: @escaping @Sendable (IntakeScene, InMemoryBroker) async throws -> Void
    ) async throws {
        let broker = InMemoryBroker(packetLimit: packetLimit)
        let scene = try IntakeScene(settings, server: server) { _ in broker }
        try await scene.serve { try await body(scene, broker) }
    }

    /// Enrolls a device without the broker.
    func enrolled() async throws -> EnrollResult {
        var request = WireEnrollRequest()
        request.deviceName = "kiosk"
        request.machineHash = UUID().uuidString
        return try await metadata.enroll(token: enrollmentToken, request: request)
    }

    /// A line of `/metrics`.
    func metric(_ line: String) -> Bool { telemetry.registry.exposition().split(separator: "\n").contains(line[...]) }
}

/// A device's messages.
struct MessagingDevice: Sendable {
    let name: String
    var bearer: String?
    var expirySeconds: UInt32? = 30
    var acceptPart = 98_304

    private var root: String { "\(IntakeScene.prefix)/v1/d/\(name)" }
    var answers: String { "\(root)/a" }
    var news: String { "\(root)/n" }

    /// A request in one message.
    func request(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: Data = Data(),
        correlation: Data = .random16()
    ) -> MQTTMessage {
        var message = MQTTMessage(topic: "\(root)/q", payload: body)
        message.responseTopic = answers
        message.correlation = correlation
        message.expirySeconds = expirySeconds
        message.properties = [.init(":method", method), .init(":path", path), .init(":accept-part", "\(acceptPart)")]
        if let bearer { message.properties.append(.init("authorization", "Bearer \(bearer)")) }
        message.properties += headers.sorted { $0.key < $1.key }.map { .init($0.key, $0.value) }
        return message
    }

    /// A request in parts of one size: the first for the common topic, the others for a collector's own.
    func parts(
        _ method: String, _ path: String, _ headers: [String: String] = [:], body: Data, partBytes: Int,
        digest: Data? = nil, length: Int? = nil, collector: String = IntakeScene.collector
    ) -> [MQTTMessage] {
        let pieces = stride(from: 0, to: body.count, by: partBytes).map {
            Data(body[$0..<min($0 + partBytes, body.count)])
        }
        var first = request(method, path, headers, body: pieces[0])
        first.properties += [
            .init(":part", "1/\(pieces.count)"), .init(":length", "\(length ?? body.count)"),
            .init(":digest", (digest ?? body.sha256).hexadecimal),
        ]
        return [first]
            + pieces.indices.dropFirst().map { number in
                var part = MQTTMessage(topic: "\(root)/q/\(collector)", payload: pieces[number])
                part.responseTopic = answers
                part.correlation = first.correlation
                part.expirySeconds = expirySeconds
                part.properties = [.init(":part", "\(number + 1)/\(pieces.count)")]
                return part
            }
    }

    func state(_ word: String, connection: String, device: DeviceID? = nil, reason: String? = nil) -> MQTTMessage {
        var message = MQTTMessage(topic: "\(root)/s", payload: Data(word.utf8))
        message.properties = [.init(":connection", connection)]
        if let device { message.properties.append(.init(":device", "\(device)")) }
        if let reason { message.properties.append(.init(":reason", reason)) }
        return message
    }
}

extension InMemoryBroker {
    /// Gives a request, and waits for its first answer of a status other than 100.
    func ask(_ message: MQTTMessage) async throws -> MQTTMessage {
        give(message)
        return try await answer(to: message)
    }

    /// Waits for an answer.
    /// - Parameter status: `nil` for any but 100.
    func answer(to request: MQTTMessage, status: String? = nil) async throws -> MQTTMessage {
        let correlation = request.correlation
        let fits: @Sendable (MQTTMessage) -> Bool = { message in
            guard message.correlation == correlation, let given = message[":status"] else { return false }
            return status == nil ? given != "100" : given == status
        }
        try await published.until { $0.contains(where: fits) }
        return try #require(published.value.first(where: fits))
    }

    /// How many messages of this status a request has got.
    func count(_ request: MQTTMessage, status: String) -> Int {
        published.value.count { $0.correlation == request.correlation && $0[":status"] == status }
    }
}

extension MQTTMessage {
    var problem: Problem {
        get throws {
            #expect(self["content-type"] == WireNames.problem)
            return try JSONDecoder().decode(Problem.self, from: payload)
        }
    }
}
