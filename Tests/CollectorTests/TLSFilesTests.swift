import AsyncHTTPClient
import Collector
import Foundation
import HTTPTypes
import HummingbirdTesting
import Logging
import NIOCore
import NIOSSL
import Testing

@Suite("TLS")
struct TLSFilesTests {
    /// Whether each client got an answer.
    private static func served(by files: TLSFiles, _ clients: [TLSConfiguration]) async throws -> [Bool] {
        try await Harness().server.application(tls: try files.configuration()).test(.live) { server in
            try await served(at: try #require(server.port), clients)
        }
    }

    private static func served(at port: Int, _ clients: [TLSConfiguration]) async throws -> [Bool] {
        var found: [Bool] = []
        for client in clients {
            var configuration = HTTPClient.Configuration(tlsConfiguration: client)
            configuration.connectionPool.retryConnectionEstablishment = false
            let http = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            let answer = try? await http.execute(
                HTTPClientRequest(url: "https://127.0.0.1:\(port)/livez"), timeout: .seconds(20))
            found.append(answer != nil)
            try await http.shutdown()
        }
        return found
    }

    @Test func `The certificate given is served from TLS 1.2 on`() async throws {
        let files = try ServerFiles()
        var old = try TestCertificates.trust(TestCertificates.authority)
        old.minimumTLSVersion = .tlsv1
        old.maximumTLSVersion = .tlsv11
        var version12 = try TestCertificates.trust(TestCertificates.authority)
        version12.maximumTLSVersion = .tlsv12
        let clients = [
            try TestCertificates.trust(TestCertificates.authority), version12, old,
            try TestCertificates.trust(TestCertificates.stranger),
        ]
        #expect(
            try await Self.served(by: try files.server(requiringClients: false), clients) == [true, true, false, false])
    }

    /// TLS 1.3 has no other suites; of 1.2 a client that offers only one without forward secrecy, or one with a
    /// separate MAC, is not served.
    @Test func `Only suites with forward secrecy and authenticated encryption are served`() async throws {
        let files = try ServerFiles()
        func client(_ suites: String) throws -> TLSConfiguration {
            var client = try TestCertificates.trust(TestCertificates.authority)
            client.maximumTLSVersion = .tlsv12
            client.cipherSuites = suites
            return client
        }
        let clients = try [
            "ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-CHACHA20-POLY1305", "ECDHE-ECDSA-AES128-SHA",
            "ECDHE-ECDSA-AES256-SHA",
        ].map(client)
        let pair = try files.server(requiringClients: false)
        #expect(try await Self.served(by: pair, clients) == [true, true, false, false])
        // Whatever key a certificate has.
        let suites = try pair.configuration().cipherSuiteValues
        let withoutSecrecy: [NIOTLSCipher] = [
            .TLS_RSA_WITH_AES_128_CBC_SHA, .TLS_RSA_WITH_AES_256_CBC_SHA, .TLS_RSA_WITH_AES_128_GCM_SHA256,
            .TLS_RSA_WITH_AES_256_GCM_SHA384,
        ]
        #expect(suites.contains(.TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256))
        #expect(!suites.contains { withoutSecrecy.contains($0) })
    }

    @Test func `With client authorities, only their clients are served`() async throws {
        let files = try ServerFiles()
        let clients = [
            try TestCertificates.trust(
                TestCertificates.authority, as: (TestCertificates.client, TestCertificates.clientKey)),
            try TestCertificates.trust(TestCertificates.authority),
            try TestCertificates.trust(
                TestCertificates.authority, as: (TestCertificates.stranger, TestCertificates.strangerKey)),
        ]
        #expect(try await Self.served(by: try files.server(requiringClients: true), clients) == [true, false, false])
    }

    /// Connections that are made after it get the new pair; a pair that does not fit changes nothing.
    @Test func `A certificate that is replaced is served without a restart`() async throws {
        let files = try ServerFiles()
        let pair = try files.server(requiringClients: false)
        let tls = try ServerTLS(pair, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        var other = try TestCertificates.trust(TestCertificates.stranger)
        // The other certificate is nobody's host.
        other.certificateVerification = .noHostnameVerification
        let clients = [try TestCertificates.trust(TestCertificates.authority), other]
        try await Harness { $0.servesTLS = true }.server.application(tls: tls.configuration).test(.live) { server in
            let port = try #require(server.port)
            #expect(try await Self.served(at: port, clients) == [true, false])
            _ = try files.write("server.key", TestCertificates.strangerKey)
            tls.reload()
            #expect(try await Self.served(at: port, clients) == [true, false])
            _ = try files.write("server.pem", TestCertificates.stranger)
            tls.reload()
            #expect(try await Self.served(at: port, clients) == [false, true])
            #expect(try #require(tls.expiry) > 4_000_000_000)
        }
    }

    @Test func `Browsers are told to stay with TLS where it is served`() async throws {
        for servesTLS in [true, false] {
            try await Harness { $0.servesTLS = servesTLS }.route { client in
                for path in ["/livez", "/nowhere"] {
                    let field = try await client.send(.get, path).headers[.strictTransportSecurity]
                    #expect(field == (servesTLS ? "max-age=31536000" : nil), "\(path)")
                }
            }
        }
    }

    /// As `openssl ecparam -genkey` writes a key, as other tools write both into one file, and as other systems'
    /// editors write text.
    @Test func `Files with more in them than what is asked for are served`() throws {
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        let (certificate, key) = (TestCertificates.server + "\n", TestCertificates.serverKey + "\n")
        let both = "made for a proxy\n\(certificate)\(parameters)\(key)"
        func elsewhere(_ text: String) -> String { "\u{FEFF}" + text.replacing("\n", with: "\r\n") }
        for pair in [
            (certificate, parameters + key), (both, both), (elsewhere(certificate), elsewhere(key)),
            (elsewhere(both), elsewhere(both)),
        ] {
            let files = try ServerFiles()
            var written = TLSFiles(
                certificate: try files.write("server.pem", pair.0), key: try files.write("server.key", pair.1))
            written.clientCA = try files.write("authority.pem", elsewhere(TestCertificates.authority))
            let tls = try ServerTLS(written, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            #expect(tls.pin == (try KeyPin.of(file: written.key, flag: "--tls-key")))
            #expect(tls.watched != nil && tls.configuration.trustRoots != nil)
        }
    }

    @Test func `A key of another certificate is refused before serving`() throws {
        let files = try ServerFiles()
        var mixed = try files.server(requiringClients: false)
        mixed.key = try files.write("client.key", TestCertificates.clientKey)
        let stranger = #expect(throws: CollectorError.self) { _ = try mixed.configuration() }
        #expect(stranger?.message.contains("is not the key of --tls-certificate") == true)
        mixed.key = try files.write(
            "encrypted.key", "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIE\n-----END ENCRYPTED PRIVATE KEY-----\n")
        let locked = #expect(throws: CollectorError.self) { _ = try mixed.configuration() }
        #expect(locked?.message.contains("is encrypted") == true)
        mixed.key = try files.write("no.key", "hello")
        let none = #expect(throws: CollectorError.self) { _ = try mixed.configuration() }
        #expect(none?.message.contains("contains no readable private key") == true)
    }
}
