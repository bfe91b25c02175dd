import FoundationEssentials
import Gzip
import HTTPTransport
import Transmitter
import WireModel

/// A collector's routes for people, as one person asks them about one device.
final class CollectorClient: Sendable {
    /// How long a collector may look for the first line, and be silent between two pieces of a log.
    private static let patience = Duration.seconds(120)

    let device: DeviceID
    /// The collector as it was named.
    let name: String
    private let transport: HTTPTransport
    private let token: AccessToken

    private init(_ access: CollectorAccess) throws(LogCommandError) {
        device = access.device
        token = access.token
        name = "\(access.configuration.collector)"
        do throws(HTTPTransportError) { transport = try HTTPTransport(configuration: access.configuration) } catch {
            throw LogCommandError(.failed, error.message, cause: error)
        }
    }

    /// Asks, and lets go of the connections whatever comes of it.
    static func with<Value>(
        _ access: CollectorAccess, _ body: (CollectorClient) async throws -> Value
    ) async throws -> Value {
        let client = try CollectorClient(access)
        do {
            let value = try await body(client)
            await client.transport.shutdown()
            return value
        } catch {
            await client.transport.shutdown()
            throw error
        }
    }

    func get<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) async throws(LogCommandError) -> Value {
        try decoded(try await send(.get, path), path)
    }

    /// - Parameter key: makes a repeat harmless.
    func post<Value: Decodable>(_ path: String, _ body: some Encodable, key: String) async throws(LogCommandError) -> Value {
        let data: Data
        do { data = try JSONEncoder().encode(body) } catch {
            throw LogCommandError(.failed, "the request cannot be written as JSON: \(error)", cause: error)
        }
        let headers = [("Content-Type", WireNames.json), ("Idempotency-Key", key)]
        do throws(LogCommandError) { return try decoded(try await send(.post, path, headers: headers, body: data), path) } catch {
            // Nobody knows whether it arrived; with its key it counts once.
            guard (error.cause as? TransportError)?.code == .connectionClosed else { throw error }
            return try decoded(try await send(.post, path, headers: headers, body: data), path)
        }
    }

    func delete<Value: Decodable>(_ path: String) async throws(LogCommandError) -> Value {
        try decoded(try await send(.delete, path), path)
    }

    /// Text of a log, piece by piece; it was whole if this returns.
    /// - Parameter receive: told pieces of any size, one at a time. What it throws ends the request and is thrown on.
    func content(_ path: String, _ receive: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        var patience = BusyPatience()
        while true {
            do { return try await readContent(path, receive) } catch let error as LogCommandError {
                try await pause(after: error, &patience)
            }
        }
    }

    private func readContent(_ path: String, _ receive: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        // Who takes the text bounds what is kept of it.
        let inflater = try GzipDecompressor(limits: InflateLimits(maximumBytes: .max - 1, maximumRatio: .max))
        let name = name
        var failure: (any Error)?
        var request = request(.get, path, headers: [("Accept-Encoding", "gzip")])
        request.timeout = Self.patience
        do {
            let answer = try await transport.stream(
                request, silence: Self.patience,
                isWanted: { $0.status == 200 && $0.headers["content-encoding"] == "gzip" && LogCommandError.refusal($0, from: name) == nil }
            ) { piece in
                try inflater.update(piece) { text in
                    guard failure == nil else { return }
                    do { try receive(text) } catch { failure = error }
                }
                if let failure { throw failure }
            }
            if let refusal = LogCommandError.refusal(answer, from: name) { throw refusal }
            guard answer.headers["content-encoding"] == "gzip" else {
                throw LogCommandError(
                    .failed, "\(name) sent a log in another form than was asked for: something on the way changes answers")
            }
            // gzip's sum and length: what came is what the collector compressed.
            try inflater.finish()
        } catch let error as GzipError {
            throw LogCommandError(.tryAgain, "\(name) sent a log that was damaged on the way: \(error.message)", cause: error)
        } catch let error as TransportError {
            throw LogCommandError(error, peer: name)
        }
    }

    private func send(
        _ method: TransportRequest.Method, _ path: String, headers: [(String, String)] = [], body: Data? = nil
    ) async throws(LogCommandError) -> Data {
        var patience = BusyPatience()
        while true {
            let answer: TransportResponse
            do throws(TransportError) { answer = try await transport.send(request(method, path, headers: headers, body: body)) } catch {
                throw LogCommandError(error, peer: name)
            }
            guard let refusal = LogCommandError.refusal(answer, from: name) else { return answer.body }
            try await pause(after: refusal, &patience)
        }
    }

    /// Waits as long as a busy collector asks.
    /// - Throws: the error, where waiting is of no use or takes too long.
    private func pause(after error: LogCommandError, _ patience: inout BusyPatience) async throws(LogCommandError) {
        guard let asked = error.retryAfter, let pause = patience.pause(asked, roll: .random(in: 0...1)) else { throw error }
        do { try await Task.sleep(for: pause) } catch { throw LogCommandError(.tryAgain, "interrupted", cause: error) }
    }

    private func request(
        _ method: TransportRequest.Method, _ path: String, headers: [(String, String)] = [], body: Data? = nil
    ) -> TransportRequest {
        TransportRequest(method: method, path: path, headers: [("Authorization", "Bearer \(token.secret)")] + headers, body: body)
    }

    private func decoded<Value: Decodable>(_ body: Data, _ path: String) throws(LogCommandError) -> Value {
        do { return try JSONDecoder().decode(Value.self, from: body) } catch {
            throw LogCommandError(
                .failed, "\(name) answered \(path.prefix { $0 != "?" }) with JSON of another form than is known", cause: error)
        }
    }
}
