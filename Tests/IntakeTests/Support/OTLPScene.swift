import Foundation
import Glibc
import ListeningSockets
import LogStore
import OTLP
import SwiftProtobuf
import Synchronization
import TestKit
import Testing
import WireModel

@testable import Intake

/// An intake of OTLP with a store behind it, and senders on loopback.
final class OTLPScene {
    struct Reply {
        var status: Int
        /// Names in lower case.
        var headers: [String: String]
        var body: [UInt8]

        var message: String { get throws { try OTLPStatus(serializedBytes: body).message } }
    }

    let directory: TemporaryDirectory
    let clock = ManualIntakeClock()
    let source: OTLPIntake
    let committer: IntakeCommitter
    /// The store cannot be opened as long as this holds.
    let gate: Gate
    let sink = Sink()

    final class Gate { var isShut = false }

    /// Stands for the device's queue.
    final class Sink: Sendable {
        let records = Mutex<[OTLPMetricRecord]>([])
        let outcome = Mutex<OTLPMetricOutcome>(.stored)
    }

    init(
        hasSocket: Bool = false, isShut: Bool = false,
        _ change: (inout OTLPIntake.Configuration) -> Void = { _ in }
    ) throws {
        directory = try TemporaryDirectory()
        var configuration = OTLPIntake.Configuration(port: 0, socket: hasSocket ? directory.file("otlp") : nil)
        change(&configuration)
        let sink = sink
        source = OTLPIntake(configuration, clock: clock.clock) { records in
            let outcome = sink.outcome.withLock { $0 }
            if outcome == .stored { sink.records.withLock { $0 += records } }
            return outcome
        }
        var store = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
        store.applicationIdentifier = "otlp"
        let gate = Gate()
        gate.isShut = isShut
        self.gate = gate
        committer = IntakeCommitter(
            "otlp", source: source, limit: nil, level: .verbose, clock: clock.clock
        ) { [gate] () throws(LogStoreError) in
            if gate.isShut { throw LogStoreError(.locked, "the key is not at hand") }
            return try IntakeLog(store)
        }
    }

    deinit { committer.finish() }

    var path: String { directory.file("otlp") }

    var stored: StoredLines { get throws { try StoredLines(directory.file("logs")) } }

    func connected() throws -> Int32 {
        try Self.connected(.internet(host: "127.0.0.1", port: try #require(source.server.ports.first)))
    }

    static func connected(_ address: SocketAddress) throws -> Int32 {
        let system = try #require(address.system)
        let descriptor = socket(system.family, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        try #require(descriptor >= 0)
        guard SocketAddress.call(system.bytes, { connect(descriptor, $0, $1) }) == 0 else {
            close(descriptor)
            throw Closed()
        }
        return descriptor
    }

    /// Writes while the other side reads.
    static func send(_ bytes: [UInt8], to descriptor: Int32) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes[sent...].withUnsafeBytes {
                Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
            }
            guard count > 0 else { return }
            sent += count
        }
    }

    /// Sends a request in a connection of its own, and stores until the answer is there.
    func exchange(
        _ path: String = "/v1/logs", headers: [String] = [protobuf], body: [UInt8], method: String = "POST",
        host: String? = "127.0.0.1"
    ) async throws -> Reply {
        let connection = try connected()
        defer { close(connection) }
        Self.send(Self.request(path, headers: headers, body: body, method: method, host: host), to: connection)
        return try await reply(on: connection)
    }

    static let protobuf = "Content-Type: application/x-protobuf"
    static let json = "Content-Type: application/json"

    static func request(
        _ path: String = "/v1/logs", headers: [String] = [protobuf], body: [UInt8], method: String = "POST",
        host: String? = "127.0.0.1"
    ) -> [UInt8] {
        let lines =
            ["\(method) \(path) HTTP/1.1"] + (host.map { ["Host: \($0)"] } ?? []) + headers
            + ["Content-Length: \(body.count)", "", ""]
        return Array(lines.joined(separator: "\r\n").utf8) + body
    }

    /// The next answer; bounded by the suite's time limit.
    func reply(on connection: Int32) async throws -> Reply {
        var received: [UInt8] = []
        while true {
            _ = committer.step()
            var piece = [UInt8](repeating: 0, count: 65_536)
            let count = recv(connection, &piece, piece.count, Int32(MSG_DONTWAIT))
            if count == 0 { throw Closed() }
            if count > 0 { received += piece[..<count] }
            if let reply = Self.parse(received) { return reply }
            // The answer is made in a task, which needs a thread.
            await Task.yield()
        }
    }

    /// There is no connection, or it was closed without an answer.
    struct Closed: Error {}

    private static func parse(_ bytes: [UInt8]) -> Reply? {
        let end = Array("\r\n\r\n".utf8)
        guard let place = bytes.firstRange(of: end) else { return nil }
        var lines = String(decoding: bytes[..<place.lowerBound], as: UTF8.self).components(separatedBy: "\r\n")
        let status = Int(lines.removeFirst().split(separator: " ")[1]) ?? 0
        var headers: [String: String] = [:]
        for line in lines {
            let parts = line.split(separator: ":", maxSplits: 1).map { $0.trimmingCharacters(in: .whitespaces) }
            headers[parts[0].lowercased()] = parts.count > 1 ? parts[1] : ""
        }
        let body = bytes[place.upperBound...]
        guard let length = headers["content-length"].flatMap({ Int($0) }) else {
            return status == 100 ? Reply(status: status, headers: headers, body: []) : nil
        }
        return body.count >= length ? Reply(status: status, headers: headers, body: Array(body.prefix(length))) : nil
    }

    // MARK: Bodies

    static func logs(_ texts: [String], at time: UInt64 = 1_795_305_088_000_000_000) throws -> [UInt8] {
        var scope = OTLPScopeLogs()
        scope.scope.name = "shop"
        scope.logRecords = texts.map { text in
            var record = OTLPLogRecord()
            record.timeUnixNano = time
            record.severityNumber = .warn
            record.body.stringValue = text
            return record
        }
        var group = OTLPResourceLogs()
        var name = OTLPKeyValue()
        name.key = "service.name"
        name.value.stringValue = "till"
        group.resource.attributes = [name]
        group.scopeLogs = [scope]
        var request = OTLPLogsRequest()
        request.resourceLogs = [group]
        return try request.serializedBytes()
    }

    static func gauge(_ values: [Int64], at time: UInt64 = 1_795_305_088_000_000_000) throws -> [UInt8] {
        var metric = OTLPMetric()
        metric.name = "shop.stock"
        metric.gauge.dataPoints = values.map { value in
            var point = OTLPNumberPoint()
            point.timeUnixNano = time
            point.asInt = value
            return point
        }
        var scope = OTLPScopeMetrics()
        scope.scope.name = "shop"
        scope.metrics = [metric]
        var group = OTLPResourceMetrics()
        var name = OTLPKeyValue()
        name.key = "service.name"
        name.value.stringValue = "till"
        group.resource.attributes = [name]
        group.scopeMetrics = [scope]
        var request = OTLPMetricsRequest()
        request.resourceMetrics = [group]
        return try request.serializedBytes()
    }
}
