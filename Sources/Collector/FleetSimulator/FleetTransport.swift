import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import WireModel

/// Carries requests from the fleet to its collector.
package protocol FleetTransport: Sendable {
    /// - Returns: `nil` if no answer came, for whatever reason.
    func send(_ request: FleetRequest) async -> FleetAnswer?
    /// Ends all connections. Called once, last.
    func shutdown() async
}

package struct FleetRequest: Sendable {
    package var method = "GET"
    /// The path with its query.
    package var path: String
    package var bearer: String
    /// A Protobuf message.
    package var body: Data?
    package var isGzip = false
    /// End the connection in the middle of the body.
    package var isCut = false
}

package struct FleetAnswer: Sendable {
    package var status: Int
    package var body: Data

    package init(status: Int, body: Data) {
        self.status = status
        self.body = body
    }
}

/// Sends over HTTP, with one connection per request in flight.
package final class HTTPFleetTransport: FleetTransport {
    private let collector: String
    private let client: HTTPClient

    private static let timeout: TimeAmount = .seconds(60)
    private static let maximumAnswerBytes = 64 << 20

    /// - Parameters:
    ///   - collector: `http://host:port` without a path.
    ///   - connections: the most connections kept open.
    package init(collector: String, connections: Int) {
        self.collector = collector
        var configuration = HTTPClient.Configuration(redirectConfiguration: .disallow)
        configuration.timeout.connect = .seconds(10)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connections
        configuration.connectionPool.retryConnectionEstablishment = false
        client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }

    package func shutdown() async { try? await client.shutdown() }

    package func send(_ request: FleetRequest) async -> FleetAnswer? {
        var message = HTTPClientRequest(url: collector + request.path)
        message.method = HTTPMethod(rawValue: request.method)
        message.headers.add(name: "Authorization", value: "Bearer \(request.bearer)")
        if let body = request.body {
            message.headers.add(name: "Content-Type", value: WireNames.protobuf)
            if request.isGzip { message.headers.add(name: "Content-Encoding", value: "gzip") }
            let bytes = ByteBuffer(bytes: body)
            message.body =
                request.isCut
                ? .stream(CutBody(bytes: bytes), length: .known(Int64(bytes.readableBytes))) : .bytes(bytes)
        }
        do {
            let response = try await client.execute(message, timeout: Self.timeout)
            let body = try await response.body.collect(upTo: Self.maximumAnswerBytes)
            return FleetAnswer(status: Int(response.status.code), body: Data(body.readableBytesView))
        } catch { return nil }
    }
}

/// A body that ends, with its connection, in the middle.
private struct CutBody: AsyncSequence, Sendable {
    struct Cut: Error {}

    let bytes: ByteBuffer

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ByteBuffer?

        mutating func next() async throws -> ByteBuffer? {
            guard let bytes = rest else { throw Cut() }
            rest = nil
            return bytes.getSlice(at: bytes.readerIndex, length: bytes.readableBytes / 2)
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: bytes) }
}
