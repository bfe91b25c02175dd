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

    /// Runs `body` with a client, and closes its connections whether `body` returns or throws.
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

    func get<Value: Decodable>(_ path: String, as type: Value.Type = Value.self) async throws(LogCommandError) -> Value
    {
        try decoded(try await send(.get, path), path)
    }

    /// - Parameter key: makes a repeat harmless.
    func post<Value: Decodable>(_ path: String, _ body: some Encodable, key: String) async throws(LogCommandError)
        -> Value
    {
        let data: Data
        do { data = try JSONEncoder().encode(body) } catch {
            throw LogCommandError(.failed, "the request cannot be written as JSON: \(error)", cause: error)
        }
        let headers = [("Content-Type", WireNames.json), ("Idempotency-Key", key)]
        do throws(LogCommandError) {
            return try decoded(try await send(.post, path, headers: headers, body: data), path)
        } catch {
            // The request may have arrived; its idempotency key makes the repeat count once.
            guard (error.cause as? TransportError)?.code == .connectionClosed else { throw error }
            return try decoded(try await send(.post, path, headers: headers, body: data), path)
        }
    }

    func delete<Value: Decodable>(_ path: String) async throws(LogCommandError) -> Value {
        try decoded(try await send(.delete, path), path)
    }

    /// Streams the text of a log. The text was complete if this returns.
    /// - Parameter receive: takes pieces of any size, one at a time. An error it throws ends the request and is
    ///   rethrown.
    func content(_ path: String, _ receive: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws {
        var patience = BusyPatience()
        while true {
            do { return try await readContent(path, receive) } catch let error as LogCommandError {
                try await pause(after: error, &patience)
            }
        }
    }

    private func readContent(_ path: String, _ receive: @escaping (UnsafeRawBufferPointer) throws -> Void) async throws
    {
        // No limit here: `receive` bounds what it keeps.
        let inflater = try GzipDecompressor(limits: InflateLimits(maximumBytes: .max - 1, maximumRatio: .max))
        let name = name
        var failure: (any Error)?
        var request = request(.get, path, headers: [("Accept-Encoding", "gzip")])
        request.timeout = Self.patience
        do {
            let answer = try await transport.stream(
                request, silence: Self.patience,
                isWanted: {
                    $0.status == 200 && $0.headers["content-encoding"] == "gzip"
                        && LogCommandError.refusal($0, from: name) == nil
                }
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
                    .failed,
                    "\(name) sent a log in another form than was asked for: something on the way changes answers")
            }
            // Checks gzip's CRC and length.
            try inflater.finish()
        } catch let error as GzipError {
            throw LogCommandError(
                .tryAgain, "\(name) sent a log that was damaged on the way: \(error.message)", cause: error)
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
            do throws(TransportError) {
                answer = try await transport.send(request(method, path, headers: headers, body: body))
            } catch {
                throw LogCommandError(error, peer: name)
            }
            guard let refusal = LogCommandError.refusal(answer, from: name) else { return answer.body }
            try await pause(after: refusal, &patience)
        }
    }

    /// Waits as long as a busy collector asks.
    /// - Throws: the error, where waiting is of no use or takes too long.
    private func pause(after error: LogCommandError, _ patience: inout BusyPatience) async throws(LogCommandError) {
        guard let asked = error.retryAfter, let pause = patience.pause(asked, roll: .random(in: 0...1)) else {
            throw error
        }
        do { try await Task.sleep(for: pause) } catch { throw LogCommandError(.tryAgain, "interrupted", cause: error) }
    }

    private func request(
        _ method: TransportRequest.Method, _ path: String, headers: [(String, String)] = [], body: Data? = nil
    ) -> TransportRequest {
        TransportRequest(
            method: method, path: path, headers: [("Authorization", "Bearer \(token.secret)")] + headers, body: body)
    }

    private func decoded<Value: Decodable>(_ body: Data, _ path: String) throws(LogCommandError) -> Value {
        do { return try JSONDecoder().decode(Value.self, from: body) } catch {
            throw LogCommandError(
                .failed, "\(name) answered \(path.prefix { $0 != "?" }) with JSON of another form than is known",
                cause: error)
        }
    }
}

extension CollectorClient {
    /// Bounds the memory that a list takes.
    private static let maximumChunks = 200_000
    /// Chunk ids in one request's URL.
    static let idsPerRequest = 400
    static let listRoute = "/api/v1/logs"
    static let contentRoute = "/api/v1/logs/content"

    /// All chunks that may hold matching lines, newest first.
    /// - Throws: also if the list is empty and the collector does not know the device.
    func chunks(_ query: RemoteQuery) async throws(LogCommandError) -> [RemoteChunk] {
        var chunks: [RemoteChunk] = []
        var cursor: String?
        repeat {
            let paged = query.with("limit", "1000")
            let page: RemotePage<RemoteChunk> = try await get(
                (cursor.map { paged.with("cursor", $0) } ?? paged).path(Self.listRoute))
            for chunk in page.items {
                guard let fault = chunk.fault else { continue }
                throw LogCommandError(
                    .failed,
                    "\(name) lists a chunk \(LogCommandError.shown(chunk.id)) of \(fault), which no chunk has: its list is wrong"
                )
            }
            chunks += page.items
            guard chunks.count <= Self.maximumChunks else {
                throw LogCommandError(
                    .failed, "\(name) lists more than \(Self.maximumChunks) chunks: give --since or --until")
            }
            guard page.next == nil || page.next != cursor && !page.items.isEmpty else {
                throw LogCommandError(.failed, "\(name) repeats a page of its list for ever")
            }
            cursor = page.next
        } while cursor != nil
        if chunks.isEmpty { try await requireDevice() }
        return chunks
    }

    /// An empty answer may mean that the collector has no logs of the device, or does not know it: throws in the second
    /// case.
    func requireDevice() async throws(LogCommandError) {
        struct Known: Decodable {}
        let _: Known = try await get("/api/v1/devices/\(device)")
    }
}

extension CollectorClient {
    /// Lines of a log, one by one.
    func lines(_ query: RemoteQuery, order: String, _ take: @escaping (UnsafeRawBufferPointer) throws -> Void)
        async throws
    {
        var splitter = LineSplitter()
        try await content(query.with("order", order).path(Self.contentRoute)) { try splitter.add($0, take) }
        try splitter.finish(take)
    }
}

/// Splits text that comes in pieces into lines. Holds at most one line.
struct LineSplitter {
    /// A line is never larger than a chunk.
    static let maximumLineBytes = LogLimits.chunkBytes

    private var begun: [UInt8] = []

    /// - Parameter take: takes each complete line with its newline.
    mutating func add(_ text: UnsafeRawBufferPointer, _ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        var rest = text
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            let line = UnsafeRawBufferPointer(rebasing: rest[...end])
            rest = UnsafeRawBufferPointer(rebasing: rest[(end + 1)...])
            guard begun.isEmpty else {
                try hold(line)
                try begun.withUnsafeBytes(take)
                begun.removeAll(keepingCapacity: true)
                continue
            }
            try take(line)
        }
        try hold(rest)
    }

    /// Hands over a last line without a newline.
    mutating func finish(_ take: (UnsafeRawBufferPointer) throws -> Void) throws {
        if !begun.isEmpty { try begun.withUnsafeBytes(take) }
        begun = []
    }

    private mutating func hold(_ text: UnsafeRawBufferPointer) throws(LogCommandError) {
        guard begun.count + text.count <= Self.maximumLineBytes else {
            throw LogCommandError(.failed, "the collector sent a line of more than \(Self.maximumLineBytes) bytes")
        }
        begun.append(contentsOf: text)
    }
}

/// The budget of pauses in which one request is repeated while a collector says it is busy.
struct BusyPatience {
    /// All pauses together. If the collector asks for more, the command ends with exit code 75.
    static let most = Duration.seconds(60)
    private static let least = Duration.milliseconds(100)

    private var waited = Duration.zero

    /// - Parameters:
    ///   - asked: the pause that the collector asks for.
    ///   - roll: a random number from 0 to 1. It adds up to a quarter, so that clients do not come back all at once.
    /// - Returns: `nil` if the budget is used up.
    mutating func pause(_ asked: Duration, roll: Double) -> Duration? {
        let pause = max(asked, Self.least) * (1 + roll / 4)
        guard waited + pause <= Self.most else { return nil }
        waited += pause
        return pause
    }
}
