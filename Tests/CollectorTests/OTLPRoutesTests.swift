import CollectorAPI
import CollectorTunables
import Foundation
import Gzip
import HTTPTypes
import HummingbirdTesting
import NIOCore
import OTLP
import RecordStore
import Registry
import StoreTestKit
import SwiftProtobuf
import Testing
import WireModel
import Zstd

@testable import Collector

/// `Tools/otlp-vectors` tries what one request can show. These are the rest: what is stored, and when a refusal may
/// pass.
@Suite("Routes of OTLP") struct OTLPRoutesTests {
    private static let types = (protobuf: "application/x-protobuf", json: "application/json")

    private static func body(
        _ count: Int = 1, host: String = "a", uid: String? = nil
    ) -> Data {
        let attributes = uid.map {
            #","attributes":[{"key":"log.record.uid","value":{"stringValue":"\#($0)-NUMBER"}}]"#
        }
        let resource = #""resource":{"attributes":[{"key":"host.id","value":{"stringValue":"\#(host)"}}]}"#
        let records = (0..<count).map { number in
            let more = (attributes ?? "").replacing("NUMBER", with: "\(number)")
            return #"{"timeUnixNano":"1760000000000000000","body":{"stringValue":"\#(number)"}\#(more)}"#
        }
        return Data(
            #"{"resourceLogs":[{\#(resource),"scopeLogs":[{"logRecords":[\#(records.joined(separator: ","))]}]}]}"#.utf8
        )
    }

    /// A harness, and a token for OTLP of organization `default`.
    private static func harness(
        _ adjust: @escaping (inout CollectorServer.Settings) -> Void = { _ in }
    ) async throws -> (Harness, String) {
        let harness = Harness(adjust)
        return (harness, try await harness.metadata.createOTLPToken(organization: "default").token)
    }

    private static func send(
        _ client: any TestClientProtocol, _ token: String?, _ body: Data, path: String = "/v1/logs",
        type: String = Self.types.json, headers: HTTPFields = [:]
    ) async throws -> TestResponse {
        var headers = headers
        headers[.contentType] = type
        return try await client.send(.post, path, bearer: token, headers: headers, body: body)
    }

    /// The message of a `google.rpc.Status`.
    private static func status(_ response: some CollectorResponse, json: Bool = true) throws -> String {
        #expect(response.headers[.contentType] == (json ? types.json : types.protobuf))
        let bytes = Data(response.content.readableBytesView)
        return json
            ? try OTLPStatus(jsonUTF8Bytes: bytes).message : try OTLPStatus(serializedBytes: bytes).message
    }

    private static func records(_ harness: Harness, _ stream: StreamName = .event) async throws -> [StoredRecord] {
        let devices = Set(try await harness.metadata.deviceIDs(organization: nil, withTest: true))
        return try await harness.store.records(
            RecordQuery(.among(devices), stream: stream, kinds: [WireRecordKind.otlpLog.rawValue]), before: nil,
            limit: 1000
        ).records
    }

    @Test func `Log records are stored with their context, and the API gives them back as they came`() async throws {
        let (harness, token) = try await Self.harness()
        try await harness.route { client in
            let response = try await Self.send(client, token, Self.body(3))
            #expect(response.status == .ok && String(buffer: response.body) == "{}")
            #expect(response.headers[.contentType] == Self.types.json)
            let page = try await client.json("/api/v1/devices?state=otlp", bearer: "viewer-default")
            let device = try #require(page.objects("items").first)
            #expect(device.text("kind") == "otlp" && device.text("state") == "otlp" && device.text("name") == "a")
            let id = try #require(device.text("id"))
            let list = try await client.json("/api/v1/devices/\(id)/otlp?signal=logs", bearer: "viewer-default")
            let found = try list.objects("items").map { item in
                try #require(
                    item.objects("resourceLogs").first?.objects("scopeLogs").first?.objects("logRecords").first)
            }
            #expect(found.compactMap { $0.object("body")?.text("stringValue") }.sorted() == ["0", "1", "2"])
            #expect(found.allSatisfy { $0.text("timeUnixNano") == "1760000000000000000" })
            let metrics = try await client.json("/api/v1/devices/\(id)/otlp?signal=metrics", bearer: "viewer-default")
            #expect(metrics.objects("items").isEmpty)
            let stranger = try await client.send(.get, "/api/v1/devices/\(id)/otlp", bearer: "viewer-other")
            #expect(stranger.status == .notFound)
        }
    }

    @Test func `A record with a uid is stored once, one without each time it comes`() async throws {
        let (harness, token) = try await Self.harness()
        try await harness.route { client in
            for _ in 0..<3 {
                let known = try await Self.send(client, token, Self.body(5, uid: "u"))
                let other = try await Self.send(client, token, Self.body(1))
                #expect(known.status == .ok && other.status == .ok)
            }
        }
        #expect(try await Self.records(harness).count == 5 + 3)
    }

    @Test func `A store that takes nothing is 503 with a time to wait, and nothing is lost`() async throws {
        let (harness, token) = try await Self.harness()
        try await harness.route { client in
            harness.store.fail(StoreError(.diskFull, "full"))
            for type in [Self.types.json, Self.types.protobuf] {
                let body =
                    type == Self.types.json
                    ? Self.body() : try OTLPLogsRequest.decode(Array(Self.body()), as: .json).serializedData()
                let refused = try await Self.send(client, token, body, type: type)
                #expect(refused.status == .serviceUnavailable)
                #expect(try !Self.status(refused, json: type == Self.types.json).isEmpty)
                #expect(refused.headers[.retryAfter].flatMap(Int.init) ?? 0 > 0)
            }
            harness.store.fail(nil)
            #expect(try await Self.send(client, token, Self.body()).status == .ok)
        }
        #expect(try await Self.records(harness).count == 1)
    }

    @Test func `Every refusal has the form of OTLP`() async throws {
        let (harness, token) = try await Self.harness()
        try await harness.route { client in
            let cases: [(HTTPRequest.Method, String, String?, String?, HTTPFields, Data?, Int)] = [
                (.post, "/v1/logs", nil, Self.types.json, [:], Self.body(), 401),
                (.post, "/v1/logs", "nonsense", Self.types.json, [:], Self.body(), 401),
                (.post, "/v1/logs", "enroll-default", Self.types.json, [:], Self.body(), 401),
                (.post, "/v1/logs", "administrator-default", Self.types.json, [:], Self.body(), 401),
                (.get, "/v1/logs", token, nil, [:], nil, 405),
                (.post, "/v1/traces", token, Self.types.json, [:], Self.body(), 404),
                (.post, "/v1/logs/", token, Self.types.json, [:], Self.body(), 404),
                (.post, "/v1/logs", token, "text/plain", [:], Self.body(), 415),
                (.post, "/v1/logs", token, nil, [:], Self.body(), 415),
                (.post, "/v1/logs", token, Self.types.json, [.contentEncoding: "br"], Self.body(), 415),
                (.post, "/v1/logs", token, Self.types.json, [.contentEncoding: "zstd"], Self.body(), 400),
                (.post, "/v1/logs", token, Self.types.json, [.contentEncoding: "gzip"], Self.body(), 400),
                (.post, "/v1/logs", token, Self.types.json, [:], Data("{".utf8), 400),
                (.post, "/v1/logs", token, Self.types.json, [.transferEncoding: "gzip"], Self.body(), 501),
            ]
            for (method, path, bearer, type, headers, body, expected) in cases {
                var headers = headers
                headers[.contentType] = type
                let response = try await client.send(method, path, bearer: bearer, headers: headers, body: body)
                let answer = Comment(rawValue: "\(method) \(path) \(type ?? "-"): \(response.status)")
                #expect(Int(response.status.code) == expected, answer)
                let message = try Self.status(response, json: type == Self.types.json)
                #expect(!message.isEmpty, answer)
                if expected == 405 { #expect(response.headers[.allow] == "POST") }
                if expected == 401 { #expect(response.headers[.wwwAuthenticate] != nil) }
                if expected == 404, path == "/v1/traces" { #expect(message.contains("/v1/logs and /v1/metrics")) }
            }
        }
        #expect(try await Self.records(harness).isEmpty)
    }

    @Test func `A body may be compressed with zstd`() async throws {
        let (harness, token) = try await Self.harness()
        try await harness.route { client in
            let body = try #require(Self.body(50).withUnsafeBytes { ZstdCodec().compress($0) })
            #expect(try await Self.send(client, token, body, headers: [.contentEncoding: "zstd"]).status == .ok)
            let cut = try await Self.send(client, token, body.dropLast(1), headers: [.contentEncoding: "zstd"])
            #expect(cut.status == .badRequest)
            #expect(try Self.status(cut).contains("inside a zstd frame"))
        }
        #expect(try await Self.records(harness).count == 50)
    }

    @Test func `A revoked or deleted device's records are rejected for good, those beside it are stored`() async throws
    {
        let (harness, token) = try await Self.harness()
        try await harness.route { client in
            for host in ["a", "b", "c"] {
                #expect(try await Self.send(client, token, Self.body(host: host)).status == .ok)
            }
            let devices = try await harness.metadata.devices(organization: nil, after: nil, limit: 10).devices
            let (a, b) = (
                try #require(devices.first { $0.name == "a" }), try #require(devices.first { $0.name == "b" })
            )
            _ = try await harness.metadata.revokeDevice(a.id, organization: nil, by: .commandLine)
            try await harness.metadata.deleteDevice(
                b.id, enrollment: b.enrollmentID, organization: nil, by: .commandLine)
            var request = OTLPLogsRequest()
            for host in ["a", "b", "c"] {
                request.resourceLogs += try OTLPLogsRequest.decode(Array(Self.body(2, host: host)), as: .json)
                    .resourceLogs
            }
            let response = try await Self.send(
                client, token, try request.serializedData(), type: Self.types.protobuf)
            #expect(response.status == .ok)
            let answer = try OTLPLogsResponse(serializedBytes: Data(response.body.readableBytesView))
            #expect(answer.partialSuccess.rejectedLogRecords == 4)
            #expect(answer.partialSuccess.errorMessage.contains("revoked"))
            #expect(answer.partialSuccess.errorMessage.contains("deleted"))
        }
        // One each before, and two more of c; those of the deleted device are not listed.
        #expect(try await Self.records(harness).count == 1 + 3)
    }

    @Test func `More new devices than a token may make are 429, and known ones go on`() async throws {
        let (harness, token) = try await Self.harness()
        let limit = 20
        var quotas = RecordQuotas()
        quotas.otlpDevices = limit
        harness.metadata.setRecordQuotas(quotas)
        func many(_ hosts: Range<Int>) throws -> Data {
            var request = OTLPLogsRequest()
            for host in hosts {
                request.resourceLogs += try OTLPLogsRequest.decode(Array(Self.body(host: "h\(host)")), as: .json)
                    .resourceLogs
            }
            return try request.serializedData()
        }
        let (first, further, tooMany) = (
            try many(0..<limit), try many(limit..<limit + 1),
            try many(0..<Tunables.OTLP.devicesPerRequest + 1)
        )
        try await harness.route { client in
            let large = try await Self.send(client, token, tooMany, type: Self.types.protobuf)
            #expect(large.status == .contentTooLarge)
            #expect(try await Self.send(client, token, first, type: Self.types.protobuf).status == .ok)
            let refused = try await Self.send(client, token, further, type: Self.types.protobuf)
            #expect(refused.status == .tooManyRequests)
            #expect(refused.headers[.retryAfter].flatMap(Int.init) ?? 0 >= 1)
            #expect(try Self.status(refused, json: false).contains("service.instance.id"))
            #expect(try await Self.send(client, token, first, type: Self.types.protobuf).status == .ok)
        }
    }

    @Test func `Quotas of bytes hold for senders of OTLP: 429 until the next day`() async throws {
        let (harness, token) = try await Self.harness()
        var request = try OTLPLogsRequest.decode(Array(Self.body(10)), as: .json)
        let tally = request.removeForbidden()
        let bytes = try #require(
            OTLPItems(request, tally, organization: "default", receivedAt: 0).entries.first?.bytes)
        // The request that reaches the quota is the last one that is stored.
        let stored = (3000 + bytes - 1) / bytes
        let expected = Array(repeating: HTTPResponse.Status.ok, count: stored) + [.tooManyRequests, .tooManyRequests]
        #expect(stored > 1)
        var quotas = RecordQuotas()
        quotas.deviceBytes = 3000
        quotas.organizationBytes = 2 * stored * bytes
        harness.metadata.setRecordQuotas(quotas)
        try await harness.route { client in
            for host in ["a", "b"] {
                var statuses: [HTTPResponse.Status] = []
                for _ in expected {
                    statuses.append(try await Self.send(client, token, Self.body(10, host: host)).status)
                }
                #expect(statuses == expected, "each device has a quota of its own: \(host)")
            }
            let whole = try await Self.send(client, token, Self.body(1, host: "c"))
            #expect(whole.status == .tooManyRequests, "the organization")
            #expect(try Self.status(whole).contains("organization"))
            #expect(whole.headers[.retryAfter] != nil)
        }
    }

    @Test func `What one request can take of the memory is bounded, and what never fits is refused for good`()
        async throws
    {
        let (harness, token) = try await Self.harness { $0.budget = IngestBudget(maximumBytes: 4 << 20) }
        let limits = IngestBudget(maximumBytes: 4 << 20).otlpLimits
        #expect(limits.bodyBytes < 2 << 20 && limits.elements < 20_000)
        try await harness.route { client in
            let spaces = Data(repeating: UInt8(ascii: " "), count: limits.bodyBytes + 1)
            #expect(try await Self.send(client, token, spaces).status == .contentTooLarge)
            let bomb = try await Self.send(
                client, token, try GzipCodec.compress(spaces), headers: [.contentEncoding: "gzip"])
            #expect(bomb.status == .contentTooLarge)
            let frame = try #require(spaces.withUnsafeBytes { ZstdCodec().compress($0) })
            #expect(frame.count < 10_000)
            let other = try await Self.send(client, token, frame, headers: [.contentEncoding: "zstd"])
            #expect(other.status == .contentTooLarge)
            // Two bytes each.
            let empties = Data(Array(repeating: [UInt8(0x0a), 0], count: limits.elements + 1).joined())
            let elements = try await Self.send(client, token, empties, type: Self.types.protobuf)
            #expect(elements.status == .contentTooLarge)
            // The largest that is accepted has room when it is alone.
            let largest = Data(Array(repeating: [UInt8(0x0a), 0], count: limits.elements).joined())
            #expect(try await Self.send(client, token, largest, type: Self.types.protobuf).status == .ok)
            #expect(harness.server.settings.budget.load.bytes == 0)
        }
    }

    @Test func `Senders of OTLP leave devices a quarter of the memory`() async throws {
        let budget = IngestBudget(maximumBytes: 1 << 20)
        try await budget.withPlace(for: .otlp(token: "t")) { place in
            try place.grow(by: budget.maximumOTLPBytes)
            do {
                try place.grow(by: 1)
                Issue.record("no bound")
            } catch { #expect(error is IngestBudget.Full) }
            try await budget.withPlace(for: .device(.random())) { try $0.grow(by: 100_000) }
        }
        #expect(budget.load.bytes == 0 && budget.load.bodies == 0)
    }

    @Test func `A body that trickles is refused so that its sender sends it again`() async throws {
        let (harness, token) = try await Self.harness { $0.connections.bodySeconds = 1 }
        let answer = try await harness.live { client in
            let port = client.port
            return try await withCheckedThrowingContinuation { continuation in
                DispatchQueue.global().async {
                    continuation.resume(
                        with: Result {
                            let connection = try RawConnection(port: port)
                            connection.send(
                                "POST /v1/logs HTTP/1.1\r\nHost: c\r\nAuthorization: Bearer \(token)\r\n"
                                    + "Content-Type: application/json\r\nContent-Length: 1000\r\n\r\na")
                            return connection.receiveToEnd().text
                        })
                }
            }
        }
        #expect(answer.hasPrefix("HTTP/1.1 503 "), Comment(rawValue: answer))
        #expect(answer.lowercased().contains("content-type: application/json\r\n"))
        #expect(answer.lowercased().contains("retry-after: 1\r\n"))
        #expect(answer.contains(#""message":"The request did not arrive"#))
        #expect(answer.components(separatedBy: "HTTP/1.1 ").count == 2, "one answer")
    }

    @Test func `Counters say what came, by signal`() async throws {
        let (harness, token) = try await Self.harness()
        try await harness.route { client in
            _ = try await Self.send(client, token, Self.body(5, uid: "u"))
            _ = try await Self.send(client, token, Self.body(5, uid: "u"))
            let metrics = try await client.send(.get, "/metrics", bearer: "administrator-all")
            let text = String(buffer: metrics.body)
            for line in [
                #"ws1_otlp_items_total{fate="accepted",signal="logs"} 10"#,
                #"ws1_otlp_items_total{fate="rejected",signal="metrics"} 0"#, "ws1_otlp_known_total 5",
                #"ws1_devices{state="otlp"} 1"#,
            ] {
                #expect(text.contains(line), Comment(rawValue: line))
            }
        }
    }
}
