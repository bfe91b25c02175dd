import FoundationEssentials
import HTTPTestKit
import NIOSSL
import TestKit
import Testing
import WireModel

@testable import HTTPConnection
@testable import HTTPTransport

/// What a person reads when there is no TLS connection: the cause and the remedy, never a library's source file.
@Suite(.timeLimit(.minutes(5))) struct TLSMessageTests {
    private func message(at host: String, certificate: ServerCertificates.Server?) async throws -> String {
        var text = ""
        try await ScriptedServer.serving([[.send("HTTP/1.1 400 Bad Request\r\n\r\n")]], certificate: certificate) {
            server in
            let transport = try HTTPTransport(
                ConnectionSettings(collector: EndpointURL(collector: "https://\(host):\(server.port)")))
            do throws(TransportError) { _ = try await transport.send(TransportRequest(method: .get, path: "/x")) } catch
            {
                #expect(error.code == .tls)
                text = error.message
            }
            await transport.shutdown()
        }
        return text
    }

    @Test func `A certificate of an authority that is not trusted says so, and how to trust it`() async throws {
        let message = try await message(at: "localhost", certificate: ServerCertificates.one)
        #expect(message.contains("not trusted") && message.contains("--ca"), "\(message)")
        #expect(!message.contains("OPENSSL") && !message.contains(".cc"), "\(message)")
    }

    @Test func `An authority that is given is trusted beside those of the system, as a file and as a certificate`()
        async throws
    {
        let file = FileManager.default.temporaryDirectory.appending(path: "authority-\(UUID()).pem")
        try Data(ServerCertificates.authority.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let authority = try #require(Data(base64Encoded: Self.base64(ServerCertificates.authority)))
        for isFile in [true, false] {
            try await ScriptedServer.serving(
                [[.send("HTTP/1.1 204 No Content\r\n\r\n")]], certificate: ServerCertificates.one
            ) { server in
                var settings = ConnectionSettings(
                    collector: try EndpointURL(collector: "https://localhost:\(server.port)"))
                if isFile {
                    settings.certificateAuthorityFile = file.path
                } else {
                    settings.certificateAuthorities = [authority]
                }
                let transport = try HTTPTransport(settings)
                let status = try? await transport.send(TransportRequest(method: .get, path: "/x")).status
                await transport.shutdown()
                #expect(status == 204)
                // Without any authority of its own the system cannot be asked.
                let tls = try settings.tls()
                #expect((tls.additionalTrustRoots.count == 1) == ConnectionSettings.hasSystemAuthorities)
                settings.trustsSystem = false
                let alone = try settings.tls()
                #expect(alone.additionalTrustRoots.isEmpty && alone.trustRoots != nil)
            }
        }
    }

    @Test func `Authorities changed at run time hold for the next request, beside those of the start`() async throws {
        let authority = try #require(Data(base64Encoded: Self.base64(ServerCertificates.authority)))
        let answer = ScriptedServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
        try await ScriptedServer.serving(
            Array(repeating: [answer], count: 8), certificate: ServerCertificates.one
        ) { server in
            var settings = ConnectionSettings(collector: try EndpointURL(collector: "https://localhost:\(server.port)"))
            func statuses(_ sets: [[Data]]) async throws -> [Int?] {
                let transport = try HTTPTransport(settings)
                var statuses: [Int?] = []
                for set in sets {
                    transport.trust(set)
                    statuses.append(try? await transport.send(TransportRequest(method: .get, path: "/x")).status)
                }
                await transport.shutdown()
                return statuses
            }
            #expect(try await statuses([[], [authority], [authority, Data([1])], []]) == [nil, 200, 200, nil])
            settings.certificateAuthorities = [authority]
            #expect(try await statuses([[Data([1])], []]) == [200, 200])
            settings.trustsSystem = false
            let other = try #require(Data(base64Encoded: Self.base64(ServerCertificates.two.certificate)))
            #expect(try await statuses([[other], []]) == [200, 200])
        }
    }

    private static func base64(_ pem: String) -> String {
        pem.split(separator: "\n").filter { !$0.hasPrefix("-----") }.joined()
    }

    @Test func `A server without TLS is said to be one`() async throws {
        let message = try await message(at: "localhost", certificate: nil)
        #expect(!message.contains(".cc") && !message.contains("handshakeFailed"), "\(message)")
    }

    @Test func `What is not known keeps the library's name for it and nothing else`() {
        let cause =
            """
            handshakeFailed(sslError([Error: 1 error:1:SSL routines:OPENSSL_internal:SOMETHING_NEW at \
            /build/ssl/x.cc:1]))
            """
        let words = TransportError.words(ofTLS: cause, peer: "h:1")
        #expect(words.contains("SOMETHING_NEW") && !words.contains("/build/"))
    }
}

/// Messages go to logs, beacons and `status`, so they hold nothing of a request but its path.
@Suite(.timeLimit(.minutes(5))) struct SecretMessageTests {
    private struct FailureThatQuotes: Error, CustomStringConvertible {
        let description = "in Bearer secret-token"
    }

    @Test func `A token that no header can hold is not quoted`() async throws {
        let transport = try HTTPTransport(ConnectionSettings(collector: EndpointURL(collector: "http://127.0.0.1:1")))
        let request = TransportRequest(
            method: .post, path: "/x", headers: [("Authorization", "Bearer secret-\0token")], timeout: .seconds(60))
        let error = await #expect(throws: TransportError.self) { _ = try await transport.send(request) }
        #expect(error?.message.contains("Invalid header field values") == true)
        #expect(error?.message.contains("secret") == false && error?.message.contains("token") == false)
        await transport.shutdown()
    }

    @Test func `A failure that nobody knows is named by its type, not by its text`() {
        let error = TransportError(cause: FailureThatQuotes(), peer: "h:1", isProxied: false)
        #expect(error.message == "the request to h:1 failed with FailureThatQuotes")
    }
}
