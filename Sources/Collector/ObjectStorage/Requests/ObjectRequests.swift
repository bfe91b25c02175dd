import AsyncHTTPClient
import Crypto
import FoundationEssentials
import HTTPConnection
import NIOCore
import Synchronization
import TelemetryBasics
import WireModel

/// Signs and sends requests to a bucket, and sends them again while that may help.
final class ObjectRequests: Sendable {
    /// One request, however often it is sent.
    struct Call: Sendable {
        var method: TransportRequest.Method
        /// `nil` for the bucket itself.
        var key: String?
        /// The subject for messages.
        var subject: String
        var query: [(name: String, value: String)] = []
        var headers: [(name: String, value: String)] = []
        var body: Data?
        /// A longer answer is an error.
        var maximumResponseBytes = 65_536
        /// Whether 416 is an answer and no error.
        var acceptsUnsatisfiedRange = false

        init(_ method: TransportRequest.Method, key: String?, subject: String) {
            (self.method, self.key, self.subject) = (method, key, subject)
        }
    }

    private struct State {
        var credentials: ObjectStorageCredentials
        var isShutDown = false
    }

    private let configuration: ObjectStorageConfiguration
    private let address: ObjectAddress
    private let connection: HTTPConnection
    private let signer: RequestSigner
    private let plan: RetryPlan
    private let environment: [String: String]
    private let now: @Sendable () -> Int64
    private let state: Mutex<State>

    init(
        _ configuration: ObjectStorageConfiguration, _ address: ObjectAddress, on group: any EventLoopGroup,
        environment: [String: String], now: @escaping @Sendable () -> Int64
    ) throws(ObjectStorageError) {
        self.configuration = configuration
        self.address = address
        self.environment = environment
        self.now = now
        signer = RequestSigner(region: configuration.region)
        plan = RetryPlan(firstPause: configuration.firstPause, totalTimeout: configuration.totalTimeout)
        state = Mutex(State(credentials: try configuration.credentials.load(environment: environment)))
        guard configuration.allowsPlaintext || address.server.scheme == .https || address.server.isLoopback else {
            throw ObjectStorageError(
                .configuration,
                """
                the object storage \(configuration.endpoint) is on another machine, and plain http:// lets everybody \
                in between read and change logs. Use https://, or allow plaintext where the network itself is protected.
                """
            )
        }
        var settings = ConnectionSettings(
            collector: address.server, certificateAuthorityFile: configuration.certificateAuthorityFile)
        settings.trustsSystem = false
        // Of a proxy on the way, too.
        settings.allowsPlaintext = configuration.allowsPlaintext
        settings.connectTimeout = configuration.connectTimeout
        do throws(ConnectionSettingsError) {
            try settings.applyProxy(from: ProxyEnvironment(environment))
            var client = try settings.clientConfiguration()
            client.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = max(configuration.maximumConnections, 1)
            connection = HTTPConnection(settings, client, on: group)
        } catch { throw ObjectStorageError(.configuration, "\(error.message).", cause: error) }
    }

    func shutDown() async {
        let isFirst = state.withLock { state in
            defer { state.isShutDown = true }
            return !state.isShutDown
        }
        if isFirst { await connection.shutdown() }
    }

    /// - Returns: an answer of success, or 416 where the call accepts it; `nil` if the object does not exist.
    func send(_ call: Call) async throws(ObjectStorageError) -> TransportResponse? {
        let begun = ContinuousClock.now
        var attempts = 0
        var renewed = false
        var earlier: ObjectStorageError?
        while true {
            let (credentials, isShutDown) = state.withLock { ($0.credentials, $0.isShutDown) }
            guard !isShutDown else {
                throw ObjectStorageError(.shutDown, "\(call.subject): the client of the object storage was shut down.")
            }
            attempts += 1
            let left = configuration.totalTimeout - (ContinuousClock.now - begun)
            let isCutShort = left < configuration.requestTimeout
            let request = request(call, credentials, timeout: min(configuration.requestTimeout, left))
            let failure: ObjectStorageError
            switch await sent(request) {
            case .success(let response):
                if (200..<300).contains(response.status) || response.status == 416 && call.acceptsUnsatisfiedRange {
                    return response
                }
                let answer = ServiceFailure(response)
                if call.key != nil, answer.isMissingObject { return nil }
                if answer.isOfCredentials, !renewed, renew(after: credentials) {
                    renewed = true
                    continue
                }
                failure = answer.error(call.subject, configuration: configuration, now: Timestamp.text(now()))
            case .failure(let error): failure = ObjectStorageError(error, call.subject)
            }
            guard failure.code == .unavailable else { throw failure }
            let pause = plan.pause(
                after: attempts, elapsed: ContinuousClock.now - begun, roll: .random(in: 0...1))
            guard let pause else {
                // That an attempt was cut short says less than why the one before it failed.
                let reason = isCutShort ? earlier ?? failure : failure
                throw reason.after(attempts, ContinuousClock.now - begun)
            }
            earlier = failure
            do { try await Task.sleep(for: pause) } catch {
                throw ObjectStorageError(.shutDown, "\(call.subject): the call was cancelled.", cause: failure)
            }
        }
    }

    private func sent(_ request: TransportRequest) async -> Result<TransportResponse, TransportError> {
        do throws(TransportError) { return .success(try await connection.send(request)) } catch {
            return .failure(error)
        }
    }

    /// Reads the credentials again, where their file can have been replaced.
    /// - Returns: whether they are others now.
    private func renew(after refused: ObjectStorageCredentials) -> Bool {
        guard case .file = configuration.credentials,
            let fresh = try? configuration.credentials.load(environment: environment)
        else { return false }
        return state.withLock { state in
            state.credentials = fresh
            return fresh != refused
        }
    }

    private func request(
        _ call: Call, _ credentials: ObjectStorageCredentials, timeout: Duration
    ) -> TransportRequest {
        let path = address.path(call.key)
        let digest = Data(SHA256.hash(data: call.body ?? Data())).hexadecimal
        var message = RequestSigner.Message(
            method: call.method.rawValue, path: address.server.prefix + path, query: call.query,
            headers: [("host", address.host), ("x-amz-content-sha256", digest)] + call.headers, payloadDigest: digest)
        signer.sign(&message, with: credentials, at: now())
        let query = RequestSigner.query(call.query)
        return TransportRequest(
            method: call.method, path: query.isEmpty ? path : "\(path)?\(query)", headers: message.headers,
            body: call.body, timeout: timeout, maximumResponseBytes: call.maximumResponseBytes)
    }
}

extension ObjectStorageError {
    fileprivate init(_ error: TransportError, _ subject: String) {
        switch error.code {
        case .cancelled: self.init(.shutDown, "\(subject): \(error.message).", cause: error)
        case .responseTooLarge:
            self.init(
                .corrupt, "\(subject): \(error.message). Is something between that answers in the storage's place?",
                cause: error)
        case .tls:
            self.init(
                .unavailable,
                """
                \(subject): no TLS connection to the object storage. Its certificate must name this host, be valid \
                now, and be issued by one of the trusted authorities; check the file of authorities and this machine's \
                clock.
                """,
                cause: error)
        case .nameResolution, .connectionRefused, .connectionClosed, .timedOut, .proxy, .pinMismatch,
            .clientCertificate, .other:
            self.init(.unavailable, "\(subject): the object storage does not answer: \(error.message).", cause: error)
        }
    }

    /// The error of a call that was given up.
    fileprivate func after(_ attempts: Int, _ elapsed: Duration) -> ObjectStorageError {
        let seconds = Double(elapsed.components.seconds) + Double(elapsed.components.attoseconds) / 1e18
        let tenths = (seconds * 10).rounded() / 10
        return ObjectStorageError(code, "\(message) Given up after \(attempts) attempts in \(tenths) s.", cause: cause)
    }
}
