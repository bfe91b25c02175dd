import AsyncHTTPClient
import Collector
import Foundation
import HTTPTypes
import HummingbirdTesting
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Testing
import WireModel

/// A collector that issues certificates to devices, over TLS, and what devices say to it.
struct CertificateScene: Sendable {
    enum Mode: Sendable { case off, optional, required }

    /// What a device has after it enrolled or renewed.
    struct Held: Sendable {
        var device: DeviceID
        var credential: String
        /// PEM; empty: none was given.
        var certificate: String
        var key: String

        var shown: (pem: String, key: String)? { certificate.isEmpty ? nil : (certificate, key) }
    }

    struct Answer: Sendable {
        var status: Int
        var body: Data
        var code: String? { (try? JSONDecoder().decode(Problem.self, from: body))?.code }
    }

    let harness: MetadataHarness
    let authority: DeviceAuthority
    let files: ServerFiles
    let port: Int

    /// - Parameters:
    ///   - now: of the collector's clock; the handshake's is the machine's.
    ///   - clientCA: whether every client has to show a certificate, of the authority of the tests.
    static func play(
        _ mode: Mode = .required, days: Int = 90, now: Int64 = presentTime, clientCA: Bool = false,
        logger: Logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() },
        _ body: @escaping @Sendable (CertificateScene) async throws -> Void
    ) async throws {
        let files = try ServerFiles()
        let ca = try files.deviceCA()
        let authority = try DeviceAuthority(certificate: ca.certificate, key: ca.key, days: days)
        let certificates: DeviceCertificates =
            switch mode {
            case .off: .off
            case .optional: .optional(authority)
            case .required: .required(authority)
            }
        var tls = try files.server(requiringClients: clientCA)
        if mode != .off { tls.deviceCA = ca.certificate }
        let configuration = try tls.configuration()
        let harness = try MetadataHarness(now: now, certificates: certificates, logger: logger)
        try await harness.route { _ in
            try await harness.server.application(tls: configuration).test(.live) { framework in
                try await body(
                    CertificateScene(
                        harness: harness, authority: authority, files: files, port: try #require(framework.port)))
            }
        }
    }

    static var presentTime: Int64 { Int64(Date().timeIntervalSince1970) * 1_000_000 }

    /// Runs with one client, which shows the certificate on each of its connections.
    func connect<Value: Sendable>(
        showing certificate: (pem: String, key: String)? = nil, _ body: (Client) async throws -> Value
    ) async throws -> Value {
        var configuration = HTTPClient.Configuration(
            tlsConfiguration: try TestCertificates.trust(TestCertificates.authority, as: certificate))
        configuration.connectionPool.retryConnectionEstablishment = false
        let http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let result: Result<Value, any Error>
        do { result = .success(try await body(Client(http: http, port: port))) } catch { result = .failure(error) }
        try await http.shutdown()
        return try result.get()
    }

    struct Client: Sendable {
        let http: HTTPClient
        let port: Int

        func send(_ method: HTTPMethod, _ path: String, bearer: String? = nil, _ message: Data? = nil) async throws
            -> Answer
        {
            var request = HTTPClientRequest(url: "https://127.0.0.1:\(port)\(path)")
            request.method = method
            if let bearer { request.headers.add(name: "authorization", value: "Bearer \(bearer)") }
            if let message {
                request.headers.add(name: "content-type", value: WireNames.protobuf)
                request.body = .bytes(ByteBuffer(bytes: message))
            }
            let answer = try await http.execute(request, timeout: .seconds(60))
            return Answer(
                status: Int(answer.status.code),
                body: Data(try await answer.body.collect(upTo: 1 << 20).readableBytesView))
        }
    }

    // MARK: What devices say

    func ask(_ held: Held, showing certificate: (pem: String, key: String)? = nil) async throws -> Answer {
        try await connect(showing: certificate) {
            try await $0.send(.GET, WireNames.commandsPath, bearer: held.credential)
        }
    }

    /// Enrolls with a request for a certificate.
    func enroll(
        _ pem: String = TestSigningRequests.first, key: String = TestSigningRequests.firstKey, again: Held? = nil
    ) async throws
        -> Held
    {
        var request = WireEnrollRequest()
        request.deviceName = "kiosk"
        request.certificateSigningRequest = TestSigningRequests.der(pem)
        if let again {
            request.deviceID = again.device.data
            request.previousCredential = again.credential
        }
        let body = request.encoded
        let answer = try await connect {
            try await $0.send(.POST, WireNames.enrollPath, bearer: harness.enrollmentToken, body)
        }
        #expect(answer.status == 200, "\(answer.code ?? "")")
        let granted = try WireEnrollAnswer.decode(answer.body)
        return Held(
            device: try #require(DeviceID(granted.deviceID)), credential: granted.credential,
            certificate: String(decoding: granted.certificate, as: UTF8.self), key: key)
    }

    /// Asks for a new credential and certificate.
    func renew(_ held: Held, _ pem: String = TestSigningRequests.second, key: String = TestSigningRequests.secondKey)
        async throws -> Held
    {
        var request = WireRotateRequest()
        request.certificateSigningRequest = TestSigningRequests.der(pem)
        let body = request.encoded
        let answer = try await connect(showing: held.shown) {
            try await $0.send(.POST, WireNames.rotatePath, bearer: held.credential, body)
        }
        #expect(answer.status == 200, "\(answer.code ?? "")")
        let granted = try WireRotateAnswer.decode(answer.body)
        return Held(
            device: held.device, credential: granted.credential,
            certificate: String(decoding: granted.certificate, as: UTF8.self), key: key
        )
    }
}
