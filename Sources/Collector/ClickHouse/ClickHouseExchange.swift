import AsyncHTTPClient
import Glibc
import HTTPConnection
import NIOCore
import NIOHTTP1
import NIOPosix
import WireModel

/// One HTTP request to one server, and its whole answer.
///
/// An answer is complete or an error: a body that ends before its length, or has no length at all, is never returned.
struct ClickHouseExchange: Sendable {
    struct Request: Sendable {
        /// The names and values after `?` in the URL.
        var parameters: [(name: String, value: String)]
        var body: ByteBuffer
        var isGzip = false
        var timeoutSeconds: Int
        var maximumBytes: Int
    }

    struct Answer: Sendable {
        let status: Int
        let headers: HTTPHeaders
        let body: ByteBuffer
    }

    /// Why there is no answer, or no good one.
    struct Failure: Error {
        let error: ClickHouseError
        /// The connection was never made, so that nothing of the request left this machine.
        var isNothingSent = false
        /// The connection ended. A server ends those that it did not use for a while, also just as a request is sent.
        var isClosedConnection = false
        /// The server's exception, if it did answer.
        var exception: ServerException?
    }

    let client: HTTPClient
    let endpoint: EndpointURL
    let replica: ClickHouseReplica
    let user: String
    let password: String

    /// Sends and waits for the whole answer.
    func send(_ request: Request) async throws(Failure) -> Answer {
        let result = await withTaskGroup(of: Result<Answer, Failure>?.self) { group in
            group.addTask {
                do { return .success(try await exchange(request)) } catch { return .failure(failure(error)) }
            }
            group.addTask {
                // The client's own deadline ends with the head of the answer. This one covers the body too.
                do { try await Task.sleep(for: .seconds(request.timeoutSeconds)) } catch { return nil }
                return .failure(timedOut(request))
            }
            var result: Result<Answer, Failure>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            // The group waits for both anyway. An answer that came just before the time limit is not thrown away.
            while let next = await group.next() {
                if case .success? = next { result = next }
            }
            return result ?? .failure(timedOut(request))
        }
        return try result.get()
    }

    private func timedOut(_ request: Request) -> Failure {
        Failure(
            error: ClickHouseError(
                .unavailable, "\(replica) did not answer within \(request.timeoutSeconds) s; check that it runs"))
    }

    private func exchange(_ request: Request) async throws -> Answer {
        var message = HTTPClientRequest(url: "\(endpoint)/?\(URLQuery.text(request.parameters))")
        message.method = .POST
        message.headers.add(name: "X-ClickHouse-User", value: user)
        if !password.isEmpty { message.headers.add(name: "X-ClickHouse-Key", value: password) }
        if request.isGzip { message.headers.add(name: "Content-Encoding", value: "gzip") }
        message.body = .bytes(request.body)
        let response = try await client.execute(
            message, deadline: .now() + .seconds(Int64(request.timeoutSeconds)))
        let body = try await body(of: response, upTo: request.maximumBytes)
        // A cancelled sequence may end as if the body had ended.
        try Task.checkCancellation()
        return Answer(status: Int(response.status.code), headers: response.headers, body: body)
    }

    private func body(of response: HTTPClientResponse, upTo limit: Int) async throws -> ByteBuffer {
        let length = response.headers.first(name: "content-length").flatMap { Int($0) }
        let isChunked = response.headers["transfer-encoding"].contains { $0.lowercased().contains("chunked") }
        guard length != nil || isChunked else {
            throw ClickHouseError(
                .protocolViolation, "\(replica) answered without a length, so that its end cannot be told from a cut")
        }
        if let length, length > limit { throw tooLarge("\(length) bytes", limit) }
        var body = ByteBuffer()
        for try await chunk in response.body {
            guard body.readableBytes + chunk.readableBytes <= limit else {
                throw tooLarge("more than \(body.readableBytes) bytes", limit)
            }
            body.writeImmutableBuffer(chunk)
        }
        return body
    }

    private func tooLarge(_ size: String, _ limit: Int) -> ClickHouseError {
        ClickHouseError(
            .answerTooLarge, "\(replica) answered with \(size), over \(limit) bytes; ask for fewer rows at a time")
    }

    private func failure(_ cause: any Error) -> Failure {
        if let error = cause as? ClickHouseError { return Failure(error: error) }
        let words = TransportError(cause: cause, peer: replica.url, isProxied: false)
        let isForeign = words.code == .other && cause is HTTPParserError
        return Failure(
            error: ClickHouseError(isForeign ? .protocolViolation : .unavailable, words.message, cause: cause),
            isNothingSent: Self.isOfConnecting(cause),
            isClosedConnection: words.code == .connectionClosed)
    }

    /// Whether the error can only come from making a connection.
    private static func isOfConnecting(_ cause: any Error) -> Bool {
        switch cause {
        case is NIOConnectionError, ChannelError.connectTimeout: true
        case let error as IOError: error.errnoCode == ECONNREFUSED
        default: cause as? HTTPClientError == .connectTimeout
        }
    }
}

/// The part of a URL after `?`.
enum URLQuery {
    /// Everything but letters, digits and `-._~` is escaped.
    static func text(_ parameters: [(name: String, value: String)]) -> String {
        parameters.map { "\(escaped($0.name))=\(escaped($0.value))" }.joined(separator: "&")
    }

    private static func escaped(_ text: String) -> String {
        let digits = Array("0123456789ABCDEF".utf8)
        var result: [UInt8] = []
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"):
                result.append(byte)
            default: result += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: result, as: UTF8.self)
    }
}
