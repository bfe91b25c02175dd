import AsyncHTTPClient
import FoundationEssentials
import NIOCore
import NIOHTTP1
import NIOPosix
import NIOSSL
import Synchronization
import Transmitter
import WireModel

/// The transport over HTTP/1.1: one event loop thread, persistent connections, TLS 1.2 or later. It follows no
/// redirects.
///
/// An answer is complete or an error. A body that ends before its length, or exceeds the request's limit, is never
/// returned. Safe to use from any task. Call `shutdown()` once, last.
package final class HTTPTransport: Transport {
    private let collector: EndpointURL
    /// Host and port in error messages: those of the proxy if there is one.
    let peer: String
    private let group: MultiThreadedEventLoopGroup
    private let configuration: HTTPClient.Configuration
    let state: Mutex<State>

    private let clientKeyFile: String?

    /// The key that the server showed on a client's newest connection.
    final class ShownKey: Sendable {
        let key = Mutex<Data?>(nil)
    }

    struct State {
        var pins: PinSet
        var shown = ShownKey()
        var identity: ClientIdentity?
        var client: HTTPClient
        /// Former clients that are shutting down.
        var ending: [Task<Void, Never>] = []
        var isShutDown = false
    }

    /// Sends nothing before the first request.
    ///
    /// - Throws: `plaintext` for plain HTTP to another machine without permission in the configuration.
    package init(configuration: HTTPTransportConfiguration) throws(HTTPTransportError) {
        try configuration.checkPlaintext()
        var settings = HTTPClient.Configuration(
            tlsConfiguration: try Self.tls(configuration),
            redirectConfiguration: .disallow,
            timeout: .init(connect: TimeAmount(configuration.connectTimeout)),
            connectionPool: .init(idleTimeout: TimeAmount(configuration.keepAlive)),
            proxy: configuration.proxy.map { .server(host: $0.host, port: $0.port) },
            decompression: .disabled)
        settings.httpVersion = .http1Only
        // The transmitter alone decides about retries, by the kind of failure. So a failure is reported at once here.
        settings.connectionPool.retryConnectionEstablishment = false
        collector = configuration.collector
        peer = (configuration.proxy.map { "proxy \($0.authority)" }) ?? configuration.collector.authority
        group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        self.configuration = settings
        clientKeyFile = configuration.clientKeyFile
        let shown = configuration.collector.scheme == .https ? ShownKey() : nil
        state = Mutex(
            State(
                pins: PinSet(), shown: shown ?? ShownKey(),
                client: Self.client(settings, PinSet(), nil, shown, on: group)))
    }

    private static func client(
        _ settings: HTTPClient.Configuration, _ pins: PinSet, _ identity: ClientIdentity?, _ shown: ShownKey?,
        on group: MultiThreadedEventLoopGroup
    ) -> HTTPClient {
        var settings = settings
        if let identity, var tls = settings.tlsConfiguration {
            identity.apply(to: &tls)
            settings.tlsConfiguration = tls
        }
        if let shown {
            // Called for every new connection after its handshake and before its first request. This is where a key is
            // refused.
            settings.http1_1ConnectionDebugInitializer = { channel in
                do {
                    let key = try pins.check(channel)
                    shown.key.withLock { $0 = key }
                    return channel.eventLoop.makeSucceededVoidFuture()
                } catch {
                    channel.close(promise: nil)
                    return channel.eventLoop.makeFailedFuture(error)
                }
            }
        }
        return HTTPClient(eventLoopGroupProvider: .shared(group), configuration: settings)
    }

    package var serverKey: Data? { state.withLock(\.shown).key.withLock { $0 } }

    /// Closes connections made under other pins. A request on one of them fails as if the connection broke.
    ///
    /// Plain `http` has no certificate to pin. The configuration of this machine permitted it, and nobody on the way
    /// can make a device fall back to it.
    package func pin(to pins: [Data]) {
        guard collector.scheme == .https else { return }
        let pins = PinSet(pins)
        state.withLock { state in
            guard !state.isShutDown, state.pins != pins else { return }
            state.pins = pins
            replaceClient(&state)
        }
    }

    /// Like `pin`, closes connections that showed another certificate or none.
    package func show(certificate chain: String?) throws(TransportError) -> CertificateLife? {
        guard collector.scheme == .https else { return nil }
        let made: Result<ClientIdentity?, TransportError>
        do throws(TransportError) {
            made = .success(
                try chain.map { chain throws(TransportError) in try ClientIdentity(chain: chain, keyFile: clientKeyFile)
                })
        } catch { made = .failure(error) }
        let identity = (try? made.get()) ?? nil
        state.withLock { state in
            guard !state.isShutDown, state.identity?.chain != identity?.chain else { return }
            state.identity = identity
            replaceClient(&state)
        }
        return try made.get()?.life
    }

    private func replaceClient(_ state: inout State) {
        let former = state.client
        // The former client may still make connections. Their keys do not count for the new pins.
        state.shown = ShownKey()
        state.client = Self.client(configuration, state.pins, state.identity, state.shown, on: group)
        // It ends by itself. Shutdown waits for it, because it uses the thread. It fails only if it was shut down
        // before.
        state.ending.append(Task { try? await former.shutdown() })
    }

    static func tls(_ configuration: HTTPTransportConfiguration) throws(HTTPTransportError) -> TLSConfiguration {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.minimumTLSVersion = .tlsv12
        tls.cipherSuites = WireNames.cipherSuites
        guard let file = configuration.certificateAuthorityFile else { return tls }
        do {
            let certificates = try NIOSSLCertificate.fromPEMFile(file)
            guard !certificates.isEmpty else { throw NIOSSLError.failedToLoadCertificate }
            tls.trustRoots = .certificates(certificates)
        } catch {
            throw HTTPTransportError(
                .certificateAuthorities,
                "no certificate could be read from \(file): it must exist, be readable and hold PEM certificates",
                cause: error)
        }
        return tls
    }

    /// Closes the connections and ends the thread. Requests still running end with an error.
    package func shutdown() async {
        let (client, ending) = state.withLock { state in
            state.isShutDown = true
            return (state.client, state.ending)
        }
        for task in ending { await task.value }
        // Both fail only if they were shut down before, and then nothing is left to do.
        try? await client.shutdown()
        try? await group.shutdownGracefully()
    }

    package func send(_ request: TransportRequest) async throws(TransportError) -> TransportResponse {
        let result = await withTaskGroup(of: Result<TransportResponse, TransportError>?.self) { group in
            group.addTask { await self.exchange(request) }
            group.addTask {
                // The client's own deadline ends with the head of the answer. This one covers the body too.
                do { try await Task.sleep(for: request.timeout) } catch { return nil }
                return .failure(self.timedOut(request))
            }
            var result: Result<TransportResponse, TransportError>?
            while result == nil, let next = await group.next() { result = next }
            group.cancelAll()
            return result ?? .failure(TransportError(.cancelled, "the request to \(peer) was cancelled"))
        }
        return try result.get()
    }

    private func exchange(_ request: TransportRequest) async -> Result<TransportResponse, TransportError> {
        do {
            let response = try await state.withLock(\.client).execute(
                message(of: request), deadline: .now() + TimeAmount(request.timeout))
            return try await .success(read(response, request))
        } catch let error as TransportError {
            return .failure(error)
        } catch {
            if Task.isCancelled { return .failure(TransportError(.cancelled, "the request to \(peer) was cancelled")) }
            return .failure(TransportError(cause: error, peer: peer))
        }
    }

    func message(of request: TransportRequest) -> HTTPClientRequest {
        var message = HTTPClientRequest(url: "\(collector)\(request.path)")
        message.method = HTTPMethod(rawValue: request.method.rawValue)
        for header in request.headers { message.headers.add(name: header.name, value: header.value) }
        if let body = request.body { message.body = .bytes(ByteBuffer(bytes: body)) }
        return message
    }

    func read(_ response: HTTPClientResponse, _ request: TransportRequest) async throws -> TransportResponse {
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
        var body = Data()
        for try await chunk in response.body {
            guard body.count + chunk.readableBytes <= request.maximumResponseBytes else {
                throw tooLarge("more than \(body.count) bytes")
            }
            body.append(contentsOf: chunk.readableBytesView)
        }
        // A cancelled sequence may end as if the body had ended.
        try Task.checkCancellation()
        var answer = head(of: response)
        answer.body = body
        return answer
    }

    /// Status and headers.
    func head(of response: HTTPClientResponse) -> TransportResponse {
        var headers: [String: String] = [:]
        for (name, value) in response.headers where headers[name.lowercased()] == nil {
            headers[name.lowercased()] = value
        }
        return TransportResponse(status: Int(response.status.code), headers: headers)
    }

    private func timedOut(_ request: TransportRequest) -> TransportError {
        TransportError(.timedOut, "\(peer) did not answer \(request.path) whole within \(request.timeout)")
    }
}

extension HTTPTransport {
    /// When the wait for the network began; `nil` while nobody waits.
    private final class Waiting: Sendable {
        let since = Mutex<ContinuousClock.Instant?>(nil)

        func begin() { since.withLock { $0 = .now } }
        func end() { since.withLock { $0 = nil } }
        var duration: Duration { since.withLock { $0.map { $0.duration(to: .now) } } ?? .zero }
    }

    /// The receiver's error.
    private struct ReceiverFailure: Error {
        var cause: any Error
    }

    /// Like `send`, but hands a wanted body over piece by piece, and the body may have any length.
    ///
    /// The head must arrive within `request.timeout`. After that only silence of the network counts. The time that the
    /// receiver takes, such as a person who reads, does not count.
    /// - Parameters:
    ///   - silence: the longest silence inside the body.
    ///   - isWanted: receives status and headers. An unwanted answer is returned whole, as by `send`.
    ///   - receive: called with each piece, one at a time. Its error ends the request and is rethrown.
    /// - Returns: the answer, without the body if it was handed over completely.
    /// - Throws: `TransportError`, or what `receive` threw.
    package func stream(
        _ request: TransportRequest, silence: Duration, isWanted: @escaping @Sendable (TransportResponse) -> Bool,
        receive: @escaping (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> TransportResponse {
        // One child task uses it, and nobody else until that task has ended.
        nonisolated(unsafe) let receive = receive
        let waiting = Waiting()
        return try await withThrowingTaskGroup(of: TransportResponse.self) { group in
            group.addTask { try await self.exchange(request, waiting, isWanted, receive) }
            group.addTask {
                while true {
                    let left = silence - waiting.duration
                    guard left > .zero else {
                        throw TransportError(
                            .timedOut,
                            "\(self.peer) sent nothing for \(silence) in the middle of its answer to \(request.path)")
                    }
                    try await Task.sleep(for: left)
                }
            }
            defer { group.cancelAll() }
            do {
                guard let answer = try await group.next() else { throw CancellationError() }
                return answer
            } catch let error as TransportError {
                throw error
            } catch let error as ReceiverFailure {
                throw error.cause
            } catch {
                throw TransportError(cause: error, peer: peer)
            }
        }
    }

    private func exchange(
        _ request: TransportRequest, _ waiting: Waiting, _ isWanted: (TransportResponse) -> Bool,
        _ receive: (UnsafeRawBufferPointer) throws -> Void
    ) async throws -> TransportResponse {
        let response = try await state.withLock(\.client).execute(
            message(of: request), deadline: .now() + TimeAmount(request.timeout))
        let head = head(of: response)
        guard isWanted(head) else { return try await read(response, request) }
        waiting.begin()
        for try await piece in response.body {
            waiting.end()
            do { try piece.withUnsafeReadableBytes(receive) } catch { throw ReceiverFailure(cause: error) }
            waiting.begin()
        }
        // A cancelled sequence may end as if the body had ended.
        try Task.checkCancellation()
        return head
    }
}
