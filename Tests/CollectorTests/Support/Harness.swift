import Collector
import Console
import Foundation
import Gzip
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import LogArchive
import Logging
import NIOCore
import Registry
import StoreTestKit
import SwiftProtobuf
import Testing
import WireModel

/// A collector over records in memory and metadata in a directory of its own, and the words tests say to it.
struct Harness: Sendable {
    let store = InMemoryRecordStore()
    private let directory: TestMetadata
    var metadata: MetadataService { directory.service }
    var archive: LogArchive { directory.archive }
    let server: CollectorServer

    static let now: Int64 = 1_750_000_000_000_000

    init(console: Console? = nil, _ adjust: (inout CollectorServer.Settings) -> Void = { _ in }) {
        self.init(clock: { Self.now }, console: console, adjust)
    }

    init(
        clock: @escaping @Sendable () -> Int64, in directory: TestMetadata = TestMetadata(), console: Console? = nil,
        _ adjust: (inout CollectorServer.Settings) -> Void
    ) {
        self.directory = directory
        var settings = CollectorServer.Settings(port: 0)
        // No client's time is up unless the test is about that, however busy the machine.
        settings.connections.firstHeadSeconds = 3600
        settings.connections.idleSeconds = 3600
        settings.connections.bodySeconds = 3600
        settings.connections.bodyGraceSeconds = 3600
        settings.connections.answerSeconds = 3600
        adjust(&settings)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        server = CollectorServer(
            store: store, metadata: directory.service, archive: directory.archive,
            notices: NoticeService(metadata: directory.service), settings: settings, console: console, logger: logger,
            clock: clock)
    }

    /// Runs against the responder alone, without a socket.
    func route<Value: Sendable>(_ test: @escaping @Sendable (any TestClientProtocol) async throws -> Value) async throws
        -> Value
    {
        try await server.application().test(.router) { try await test($0) }
    }

    /// Runs over a real socket.
    func live<Value: Sendable>(_ test: @escaping @Sendable (LiveClient) async throws -> Value) async throws -> Value {
        try await server.application().test(.live) { framework in
            try await LiveClient.with(port: try #require(framework.port), test)
        }
    }

    /// A device of an organization and its credential.
    func enrolledDevice(_ organization: String = "default", test: Bool = false) async throws -> (
        id: DeviceID, credential: String
    ) {
        var request = WireEnrollRequest()
        request.deviceName = "kiosk-1"
        request.test = test
        let result = try await metadata.enroll(token: "enroll-\(organization)", request: request)
        return (result.deviceID, result.credential)
    }
}

extension TestClientProtocol {
    func send(
        _ method: HTTPRequest.Method, _ path: String, bearer: String? = nil, headers: HTTPFields = [:],
        body: Data? = nil
    ) async throws -> TestResponse {
        var headers = headers
        if let bearer { headers[.authorization] = "Bearer \(bearer)" }
        return try await executeRequest(
            uri: path, method: method, headers: headers, body: body.map { ByteBuffer(bytes: $0) })
    }

    /// Posts protobuf, gzip'ed as devices do.
    func post(_ path: String, bearer: String?, _ message: Data, gzip: Bool = true) async throws -> TestResponse {
        var headers: HTTPFields = [.contentType: WireNames.protobuf]
        if gzip { headers[.contentEncoding] = "gzip" }
        return try await send(
            .post, path, bearer: bearer, headers: headers, body: gzip ? try GzipCodec.compress(message) : message)
    }

    func json(_ path: String, bearer: String, status: HTTPResponse.Status = .ok) async throws -> JSONObject {
        let response = try await send(.get, path, bearer: bearer)
        #expect(response.status == status, "\(path): \(String(buffer: response.body))")
        return try response.json
    }
}

/// What `JSONSerialization` gives, with a little less casting.
struct JSONObject: @unchecked Sendable {
    // Immutable after parsing, and only read.
    let fields: [String: Any]

    subscript(_ name: String) -> Any? { fields[name] }
    func text(_ name: String) -> String? { fields[name] as? String }
    func flag(_ name: String) -> Bool? { fields[name] as? Bool }
    func number(_ name: String) -> Int? { fields[name] as? Int }
    func object(_ name: String) -> JSONObject? { (fields[name] as? [String: Any]).map(JSONObject.init) }
    func objects(_ name: String) -> [JSONObject] { (fields[name] as? [[String: Any]] ?? []).map(JSONObject.init) }
}

/// An answer, whether it came from the responder alone or over a socket.
protocol CollectorResponse {
    var status: HTTPResponse.Status { get }
    var headers: HTTPFields { get }
    var content: ByteBuffer { get }
}

extension TestResponse: CollectorResponse {
    var content: ByteBuffer { body }
}

extension TestClient.Response: CollectorResponse {
    var content: ByteBuffer { body ?? ByteBuffer() }
}

extension CollectorResponse {
    var json: JSONObject {
        get throws {
            let parsed = try JSONSerialization.jsonObject(with: Data(content.readableBytesView))
            return JSONObject(fields: try #require(parsed as? [String: Any]))
        }
    }

    var problem: Problem {
        get throws {
            #expect(headers[.contentType] == WireNames.problem)
            return try JSONDecoder().decode(Problem.self, from: Data(content.readableBytesView))
        }
    }

    func message<Body: Message>(_ type: Body.Type) throws -> Body {
        #expect(headers[.contentType] == WireNames.protobuf)
        return try Body.decode(Data(content.readableBytesView))
    }
}
