import Foundation
import HTTPConnection
import Synchronization
import TestKit
import Testing
import Transmitter
import WireModel

@testable import HTTPTransport

/// What is said where the device's certificate or key cannot be used, and what is shown then: nothing.
@Suite struct ClientIdentityTests {
    private let directory = FileManager.default.temporaryDirectory.appending(path: "identity-\(UUID())")

    init() throws { try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true) }

    private func file(_ text: String) throws -> String {
        let file = directory.appending(path: "client.key")
        try Data(text.utf8).write(to: file)
        return file.path
    }

    private func refusal(_ chain: String, _ keyFile: String?) throws -> String {
        let error = #expect(throws: TransportError.self) { _ = try ClientIdentity(chain: chain, keyFile: keyFile) }
        #expect(error?.code == .clientCertificate)
        return try #require(error).message
    }

    @Test func `A certificate with its key is taken, with the life that it has`() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let chain = ServerCertificates.one.certificate + "\n" + ServerCertificates.authority
        let identity = try ClientIdentity(chain: chain, keyFile: try file(ServerCertificates.one.key))
        #expect(
            identity.life.begins == 1_795_257_599_000_000
                && identity.life.ends - identity.life.begins > 99 * 365 * 86_400 * 1_000_000)
    }

    @Test func `A key that an editor of another system saved, with parameters before it, is taken`() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let parameters = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n"
        for before in ["", parameters] {
            let text = "\u{FEFF}" + (before + ServerCertificates.one.key).replacing("\n", with: "\r\n")
            _ = try ClientIdentity(chain: ServerCertificates.one.certificate, keyFile: try file(text))
        }
    }

    @Test func `What cannot be used is named`() throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        let (chain, key) = (ServerCertificates.one.certificate, try file(ServerCertificates.one.key))
        #expect(try refusal(chain, nil).contains("clientKey"))
        #expect(try refusal(chain, "/nowhere/client.key").contains("/nowhere/client.key"))
        #expect(try refusal("", key).contains("damaged"))
        #expect(try refusal(String(chain.prefix(200)), key).contains("damaged"))
        #expect(try refusal(chain, try file("no key")).contains("client.key"))
        #expect(try refusal(chain, try file(ServerCertificates.two.key)).contains("not the one"))
    }

    @Test func `Over plain http, and once nothing is to be shown, none is`() async throws {
        defer { try? FileManager.default.removeItem(at: directory) }
        for scheme in ["http", "https"] {
            var configuration = ConnectionSettings(
                collector: try EndpointURL(collector: "\(scheme)://127.0.0.1:1"))
            configuration.clientKeyFile = try file(ServerCertificates.one.key)
            let transport = try HTTPTransport(configuration)
            #expect(try transport.show(certificate: nil) == nil)
            let life = try transport.show(certificate: ServerCertificates.one.certificate)
            #expect((life != nil) == (scheme == "https"))
            if scheme == "https" {
                #expect(throws: TransportError.self) { try transport.show(certificate: "nonsense") }
                #expect(transport.state.withLock { $0.identity == nil })
            }
            await transport.shutdown()
        }
    }
}
