import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import WireModel

/// Exchanges with one collector, over the kept-alive connections of one client.
///
/// An answer is complete or an error. A body that ends before its length, or exceeds the request's limit, is never
/// returned. Safe to use from any task. Call `shutdown()` once, last.
package struct HTTPConnection: Sendable {
    private let collector: EndpointURL
    package let peer: String
    package let isProxied: Bool
    private let client: HTTPClient

    /// Sends nothing before the first request.
    /// - Parameter configuration: of these settings, with what the caller adds to it.
    package init(
        _ settings: ConnectionSettings, _ configuration: HTTPClient.Configuration, on group: any EventLoopGroup
    ) {
        collector = settings.collector
        peer = settings.peer
        isProxied = settings.proxy != nil
        client = HTTPClient(eventLoopGroupProvider: .shared(group), configuration: configuration)
    }

    /// Closes the connections. Requests still running end with an error.
    package func shutdown() async {
        // Fails only where it was shut down before, and then there is nothing left to do.
        try? await client.shutdown()
    }

    /// Sends and waits for the whole answer, within `request.timeout`.
    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let result = await withTaskGroup(of: Result<TransportResponse, TransportError>?.self) { group in
            group.addTask {
                do { return .success(try await read(try await head(request), request)) } catch {
                    if Task.isCancelled { return .failure(cancelled) }
                    return .failure(TransportError(cause: error, peer: peer, isProxied: isProxied))
                }
            }
            group.addTask {
                // The client's own deadline ends with the head of the answer. This one covers the body too.
                do { try await Task.sleep(for: request.timeout) } catch { return nil }
                return .failure(
                    TransportError(
                        .timedOut, "\(peer) did not answer \(request.path) whole within \(request.timeout)"))
            }
            var result: Result<TransportResponse, TransportError>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            return result ?? .failure(cancelled)
        }
        return try result.get()
    }

    private var cancelled: TransportError { TransportError(.cancelled, "the request to \(peer) was cancelled") }

    /// Sends, and waits for status and headers within `request.timeout`; the body is still to come.
    package func head(_ request: TransportRequest) async throws -> HTTPClientResponse {
        var message = HTTPClientRequest(url: "\(collector)\(request.path)")
        message.method = HTTPMethod(rawValue: request.method.rawValue)
        for header in request.headers { message.headers.add(name: header.name, value: header.value) }
        if let body = request.body { message.body = .bytes(ByteBuffer(bytes: body)) }
        return try await client.execute(message, deadline: .now() + TimeAmount(request.timeout))
    }

    /// The whole answer with this head, of no more bytes than the request allows.
    package func read(_ response: HTTPClientResponse, _ request: TransportRequest) async throws -> TransportResponse {
        func tooLarge(_ size: String) -> TransportError {
            TransportError(
                .responseTooLarge,
                "\(peer) answered \(request.path) with \(size), over \(request.maximumResponseBytes) bytes")
        }
        if let length = response.headers.first(name: "content-length").flatMap({ Int($0) }),
            length > request.maximumResponseBytes
        {
            throw tooLarge("\(length) bytes")
        }
        var answer = TransportResponse(head: response)
        for try await chunk in response.body {
            guard answer.body.count + chunk.readableBytes <= request.maximumResponseBytes else {
                throw tooLarge("more than \(answer.body.count) bytes")
            }
            answer.body.append(contentsOf: chunk.readableBytesView)
        }
        // A cancelled sequence may end as if the body had ended.
        try Task.checkCancellation()
        return answer
    }
}

extension TransportResponse {
    /// Status and headers, without a body.
    package init(head: HTTPClientResponse) {
        var headers: [String: String] = [:]
        for (name, value) in head.headers where headers[name.lowercased()] == nil {
            headers[name.lowercased()] = value
        }
        self.init(status: Int(head.status.code), headers: headers)
    }
}
