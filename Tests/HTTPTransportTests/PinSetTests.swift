import Foundation
import HTTPConnection
import HTTPTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import HTTPTransport

/// Pins against TLS servers on loopback.
@Suite(.timeLimit(.minutes(10))) struct PinSetTests {
    private static let answer = ScriptedServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")

    private func pin(_ server: ServerCertificates.Server) throws -> Data {
        let digits = Array(server.pin.utf8)
        let bytes = stride(from: 0, to: digits.count, by: 2).compactMap {
            UInt8(String(decoding: digits[$0..<$0 + 2], as: UTF8.self), radix: 16)
        }
        try #require(bytes.count == 32)
        return Data(bytes)
    }

    private func serving(
        _ certificate: ServerCertificates.Server, answers: Int = 1,
        _ body: (ScriptedServer, HTTPTransport) async throws -> Void
    ) async throws {
        let file = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID()).pem")
        try Data(ServerCertificates.authority.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        try await ScriptedServer.serving(Array(repeating: [Self.answer], count: answers), certificate: certificate) {
            server in
            let transport = try HTTPTransport(
                ConnectionSettings(
                    collector: EndpointURL(collector: "https://localhost:\(server.port)"),
                    certificateAuthorityFile: file.path))
            do {
                try await body(server, transport)
            } catch {
                await transport.shutdown()
                throw error
            }
            await transport.shutdown()
        }
    }

    private func ask(_ transport: HTTPTransport) async -> (status: Int?, error: TransportError?) {
        do throws(TransportError) {
            return (try await transport.send(TransportRequest(method: .get, path: "/x")).status, nil)
        } catch { return (nil, error) }
    }

    @Test func `Without pins any server of a trusted authority is spoken to`() async throws {
        for certificate in [ServerCertificates.one, ServerCertificates.two] {
            try await serving(certificate) { _, transport in #expect(await ask(transport).status == 200) }
        }
    }

    @Test func `A server whose key is pinned, alone or among others, is spoken to`() async throws {
        for pins in [
            [try pin(ServerCertificates.one)], [try pin(ServerCertificates.two), try pin(ServerCertificates.one)],
        ] {
            try await serving(ServerCertificates.one) { _, transport in
                transport.pin(to: pins)
                #expect(await ask(transport).status == 200)
            }
        }
    }

    @Test func `A trusted server with another key is sent nothing, and the error names its key`() async throws {
        try await serving(ServerCertificates.two) { server, transport in
            transport.pin(to: [try pin(ServerCertificates.one)])
            let error = try #require(await ask(transport).error)
            #expect(error.code == .pinMismatch, "\(error)")
            #expect(error.message.contains(ServerCertificates.two.pin))
            #expect(server.requests.isEmpty, "not a byte of the request went out")
        }
    }

    @Test func `Pins changed at run time hold for the next request, on a new connection`() async throws {
        try await serving(ServerCertificates.one, answers: 3) { server, transport in
            #expect(await ask(transport).status == 200)
            transport.pin(to: [try pin(ServerCertificates.two)])
            let error = try #require(await ask(transport).error, "the old connection is still used")
            #expect(error.code == .pinMismatch, "\(error)")
            transport.pin(to: [try pin(ServerCertificates.one)])
            #expect(await ask(transport).status == 200)
            transport.pin(to: [])
            #expect(await ask(transport).status == 200)
            #expect(server.requests.count == 3)
        }
    }

    @Test func `Plain http has nothing to pin`() async throws {
        try await ScriptedServer.serving([[Self.answer]]) { server in
            let transport = try HTTPTransport(
                ConnectionSettings(collector: EndpointURL(collector: "http://127.0.0.1:\(server.port)")))
            transport.pin(to: [try pin(ServerCertificates.one)])
            #expect(await ask(transport).status == 200)
            await transport.shutdown()
        }
    }
}
