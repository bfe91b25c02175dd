import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import WireModel

/// A client with a connection of its own to a collector that runs over a real socket.
///
/// It waits as long as a test may last: on a busy machine an answer comes late, and what is promised is what it says.
struct LiveClient: Sendable {
    let port: Int
    private let client: TestClient

    static func with<Value: Sendable>(port: Int, _ work: @escaping @Sendable (LiveClient) async throws -> Value)
        async throws -> Value
    {
        try await TestClient.withClient(host: "127.0.0.1", port: port, configuration: .init(timeout: .seconds(300))) {
            client in
            try await work(LiveClient(port: port, client: client))
        }
    }

    func send(
        _ method: HTTPRequest.Method, _ path: String, bearer: String?, headers: HTTPFields = [:], body: Data? = nil
    ) async throws -> TestClient.Response {
        var headers = headers
        if body != nil, headers[.contentType] == nil { headers[.contentType] = WireNames.protobuf }
        if let bearer { headers[.authorization] = "Bearer \(bearer)" }
        return try await client.execute(
            .init(
                path, method: method, authority: "localhost", headers: headers, body: body.map { ByteBuffer(bytes: $0) }
            ))
    }

    func post(_ path: String, bearer: String, _ message: Data) async throws -> TestClient.Response {
        try await send(.post, path, bearer: bearer, body: message)
    }
}
