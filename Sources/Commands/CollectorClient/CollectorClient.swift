import FoundationEssentials
import HTTPConnection
import NIOCore
import NIOPosix
import TelemetryBasics
import WireModel

/// A collector's routes for people, as one person calls them.
///
/// A busy collector is asked again. Every other answer that is not what was asked for is a `CollectorClientError`.
package final class CollectorClient: Sendable {
    /// How long a collector may look for the first line, and be silent between two pieces of a log.
    static let patience = Duration.seconds(120)
    /// Between two attempts at a request whose answer was lost. A collector that was killed is back within seconds.
    private static let repeatPause = Duration.milliseconds(250)

    /// The collector as it was named.
    package let name: String
    let connection: HTTPConnection
    private let group: MultiThreadedEventLoopGroup
    private let token: String
    private let organization: String?

    private init(_ settings: ConnectionSettings, token: String, organization: String?) throws(CollectorClientError) {
        name = "\(settings.collector)"
        self.token = token
        self.organization = organization
        do throws(ConnectionSettingsError) {
            let configuration = try settings.clientConfiguration()
            group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
            connection = HTTPConnection(settings, configuration, on: group)
        } catch { throw CollectorClientError(.failed, error.message, cause: error) }
    }

    /// Runs `body` with a client, and closes its connections whether `body` returns or throws.
    /// - Parameters:
    ///   - token: the person's access token.
    ///   - organization: the one that is looked at; `nil` for all that the person sees.
    package static func with<Value>(
        _ settings: ConnectionSettings, token: String, organization: String? = nil,
        _ body: (CollectorClient) async throws -> Value
    ) async throws -> Value {
        let client = try CollectorClient(settings, token: token, organization: organization)
        let result: Result<Value, any Error>
        do { result = .success(try await body(client)) } catch { result = .failure(error) }
        await client.connection.shutdown()
        // Fails only where it was shut down before.
        try? await client.group.shutdownGracefully()
        return try result.get()
    }

    package func get<Value: Decodable>(_ path: String) async throws(CollectorClientError) -> Value {
        try decoded(try await send(.get, path), path)
    }

    /// A request whose answer was lost may have arrived. It is repeated with its key until the collector answers, which
    /// may have to start first. Whoever calls this again has another key, and the collector does the same twice.
    /// - Parameter key: makes a repeat harmless.
    package func post<Value: Decodable>(_ path: String, _ body: some Encodable, key: String)
        async throws(CollectorClientError) -> Value
    {
        let data: Data
        do { data = try JSONEncoder().encode(body) } catch {
            throw CollectorClientError(.failed, "the request cannot be written as JSON: \(error)", cause: error)
        }
        return try decoded(try await repeating(path, data, key: key), path)
    }

    /// Posts JSON until the collector answers, as ``post(_:_:key:)`` does.
    func repeating(_ path: String, _ data: Data, key: String) async throws(CollectorClientError) -> Data {
        let headers = [("Content-Type", WireNames.json), ("Idempotency-Key", key)]
        var patience = BusyPatience()
        var mayHaveArrived = false
        while true {
            do throws(CollectorClientError) {
                return try await send(.post, path, headers: headers, body: data)
            } catch {
                let code = (error.cause as? TransportError)?.code
                let status = error.foreignStatus
                // Only a refusal of the collector's own says that no attempt counted. 502 and 504 say that a proxy lost
                // the collector's answer.
                guard code != nil || status != nil else { throw error }
                mayHaveArrived =
                    mayHaveArrived || code == .connectionClosed || code == .timedOut || status == 502 || status == 504
                guard mayHaveArrived else { throw error }
                let isAway =
                    code == .connectionClosed || code == .connectionRefused || [502, 503, 504].contains(status)
                guard isAway, let pause = patience.pause(Self.repeatPause, roll: .random(in: 0...1)) else {
                    throw CollectorClientError(
                        error.code, "\(error.message). An earlier attempt may have arrived: look before you repeat it",
                        cause: error.cause)
                }
                try await sleep(pause)
            }
        }
    }

    package func delete<Value: Decodable>(_ path: String) async throws(CollectorClientError) -> Value {
        try decoded(try await send(.delete, path), path)
    }

    func send(
        _ method: TransportRequest.Method, _ path: String, headers: [(String, String)] = [], body: Data? = nil,
        maximumAnswerBytes: Int = 4 << 20
    ) async throws(CollectorClientError) -> Data {
        var patience = BusyPatience()
        while true {
            let answer: TransportResponse
            do throws(TransportError) {
                var request = request(method, path, headers: headers, body: body)
                request.maximumResponseBytes = maximumAnswerBytes
                answer = try await connection.send(request)
            } catch {
                throw CollectorClientError(error, peer: name)
            }
            guard let refusal = CollectorClientError.refusal(answer, from: name) else { return answer.body }
            try await pause(after: refusal, &patience)
        }
    }

    /// Waits as long as a busy collector asks.
    /// - Throws: the error, where waiting is of no use or lasts too long.
    func pause(after error: CollectorClientError, _ patience: inout BusyPatience) async throws(CollectorClientError) {
        guard let asked = error.retryAfter, let pause = patience.pause(asked, roll: .random(in: 0...1)) else {
            throw error
        }
        try await sleep(pause)
    }

    private func sleep(_ pause: Duration) async throws(CollectorClientError) {
        do { try await Task.sleep(for: pause) } catch {
            throw CollectorClientError(.tryAgain, "interrupted", cause: error)
        }
    }

    func request(
        _ method: TransportRequest.Method, _ path: String, headers: [(String, String)] = [], body: Data? = nil
    ) -> TransportRequest {
        let narrowing = organization.map { (path.contains("?") ? "&" : "?") + "organization=\(LogQuery.encoded($0))" }
        return TransportRequest(
            method: method, path: path + (narrowing ?? ""), headers: [("Authorization", "Bearer \(token)")] + headers,
            body: body)
    }

    private func decoded<Value: Decodable>(_ body: Data, _ path: String) throws(CollectorClientError) -> Value {
        do { return try JSONDecoder().decode(Value.self, from: body) } catch {
            throw CollectorClientError(
                .failed, "\(name) answered \(path.prefix { $0 != "?" }) with JSON of another form than is known",
                cause: error)
        }
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
