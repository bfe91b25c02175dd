import FoundationEssentials
import Glibc
import HTTPConnection
import HTTPTestKit
import NIOCore
import NIOPosix
import Testing
import WireModel

@testable import HTTPTransport

@Suite(.timeLimit(.minutes(10))) struct HTTPTransportTests {
    /// Sends one request to a server with these scripts.
    private func exchange(
        _ scripts: [[ScriptedServer.Step]], timeout: Duration = .seconds(20), limit: Int = 1000, scheme: String = "http"
    ) async throws -> Result<TransportResponse, TransportError> {
        var result: Result<TransportResponse, TransportError>?
        try await ScriptedServer.serving(scripts) { server in
            result = try await Self.send("\(scheme)://127.0.0.1:\(server.port)", timeout: timeout, limit: limit)
        }
        return try #require(result)
    }

    private static func send(
        _ url: String, timeout: Duration = .seconds(20), limit: Int = 1000
    ) async throws -> Result<TransportResponse, TransportError> {
        try await transport(url) { transport in
            await send(
                TransportRequest(method: .get, path: "/x", timeout: timeout, maximumResponseBytes: limit),
                over: transport)
        }
    }

    private static func send(_ request: TransportRequest, over transport: HTTPTransport) async -> Result<
        TransportResponse, TransportError
    > {
        do throws(TransportError) { return .success(try await transport.send(request)) } catch {
            return .failure(error)
        }
    }

    private static func transport<Value>(
        _ url: String, proxy: String? = nil, _ body: (HTTPTransport) async throws -> Value
    ) async throws -> Value {
        var configuration = ConnectionSettings(
            collector: try EndpointURL(collector: url), proxy: try proxy.map { try EndpointURL(proxy: $0) })
        configuration.allowsPlaintext = true
        let transport = try HTTPTransport(configuration)
        do {
            let value = try await body(transport)
            await transport.shutdown()
            return value
        } catch {
            await transport.shutdown()
            throw error
        }
    }

    private func code(_ result: Result<TransportResponse, TransportError>) -> TransportError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    @Test func `An answer comes whole, with lower-case header names and the first of repeated headers`() async throws {
        let answer = "HTTP/1.1 503 No\r\nRetry-After: 7\r\nX-A: 1\r\nx-a: 2\r\nContent-Length: 5\r\n\r\nhello"
        let response = try await exchange([[.send(answer)]]).get()
        #expect(response.status == 503)
        #expect(response.headers["retry-after"] == "7")
        #expect(response.headers["x-a"] == "1")
        #expect(response.body == Data("hello".utf8))
    }

    @Test func `Method, path below the base, headers and body arrive as given`() async throws {
        try await ScriptedServer.serving([[.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")]]) { server in
            _ = try await Self.transport("http://127.0.0.1:\(server.port)/base/") { transport in
                try await transport.send(
                    TransportRequest(
                        method: .post, path: "/api/v1/batches?x=1", headers: [("Authorization", "Bearer abc")],
                        body: Data("data<end>".utf8)
                    ))
            }
            let request = try #require(server.requests.first)
            #expect(request.hasPrefix("POST /base/api/v1/batches?x=1 HTTP/1.1\r\n"))
            #expect(request.lowercased().contains("authorization: bearer abc\r\n"))
            #expect(request.lowercased().contains("content-length: 9\r\n"))
            #expect(request.hasSuffix("\r\n\r\ndata<end>"))
        }
    }

    @Test(arguments: [
        // A length that promises more than comes.
        [ScriptedServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"), .close],
        [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello"), .reset],
        [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n"), .close],
        [.send("HTTP/1.1 20"), .close],
        [.close],
        [.reset],
    ]) func `An answer cut short is an error, never half an answer`(script: [ScriptedServer.Step]) async throws {
        #expect(code(try await exchange([script])) == .connectionClosed)
    }

    @Test func `Bytes beyond the promised length are not part of the answer`() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello, and more"
        let response = try await exchange([[.send(answer), .close]]).get()
        #expect(response.body == Data("hello".utf8))
    }

    @Test(arguments: [
        [], [ScriptedServer.Step.send("HTTP/1.1 200")],
        [.send("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhello")],
        [.send("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n")],
    ]) func `The timeout covers the whole exchange, the body too`(script: [ScriptedServer.Step]) async throws {
        #expect(code(try await exchange([script], timeout: .milliseconds(150))) == .timedOut)
    }

    @Test(arguments: [
        "HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 9223372036854775807\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3e9\r\n\(String(repeating: "x", count: 1001))\r\n",
        "HTTP/1.1 200 OK\r\n\r\n\(String(repeating: "x", count: 1001))",
    ]) func `An answer over the limit is refused without waiting for its end`(answer: String) async throws {
        #expect(code(try await exchange([[.send(answer)]])) == .responseTooLarge)
    }

    @Test func `An answer of exactly the limit is taken`() async throws {
        let answer = "HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n\(String(repeating: "x", count: 1000))"
        let response = try await exchange([[.send(answer)]]).get()
        #expect(response.body.count == 1000)
    }

    @Test func `A redirect is an answer and is not followed`() async throws {
        try await ScriptedServer.serving([[.send("HTTP/1.1 302 Found\r\nLocation: /y\r\nContent-Length: 0\r\n\r\n")]]) {
            server in
            let response = try await Self.send("http://127.0.0.1:\(server.port)").get()
            #expect(response.status == 302)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `Requests one after the other share a connection`() async throws {
        let answer = ScriptedServer.Step.send("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
        try await ScriptedServer.serving([[answer], [answer], [answer]]) { server in
            try await Self.transport("http://127.0.0.1:\(server.port)") { transport in
                for _ in 1...3 {
                    let response = try await transport.send(TransportRequest(method: .get, path: "/x"))
                    #expect(response.status == 200)
                }
            }
            #expect(server.connections == 1)
            #expect(server.requests.count == 3)
        }
    }

    @Test func `A connection the server closed between two requests costs no answer`() async throws {
        let answer = ScriptedServer.Step.send("HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
        try await ScriptedServer.serving([[answer, .close], [answer, .close]]) { server in
            try await Self.transport("http://127.0.0.1:\(server.port)") { transport in
                for _ in 1...2 {
                    let response = try await transport.send(TransportRequest(method: .get, path: "/x"))
                    #expect(response.status == 200)
                }
            }
            #expect(server.connections == 2)
        }
    }

    @Test func `A port nobody listens on is refused`() async throws {
        // Bound and not listened on: nobody else can bind it meanwhile and let the request wait.
        let held = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(held) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var length = socklen_t(MemoryLayout<sockaddr_in>.size)
        let bound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { generic in
                bind(held, generic, length) == 0 ? getsockname(held, generic, &length) : -1
            }
        }
        try #require(bound == 0)
        let port = UInt16(bigEndian: address.sin_port)
        let result = try await Self.send("http://127.0.0.1:\(port)")
        #expect(code(result) == .connectionRefused, "\(result)")
    }

    @Test func `A name that cannot be resolved is reported as such`() async throws {
        // A label of over 63 characters cannot be asked for, so no name server is.
        #expect(code(try await Self.send("http://\(String(repeating: "a", count: 70)).invalid:1")) == .nameResolution)
    }

    @Test func `Plain text where TLS is expected is a TLS error`() async throws {
        let answer = "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"
        #expect(code(try await exchange([[.send(answer)]], scheme: "https")) == .tls)
    }

    @Test func `What does not speak HTTP is reported as such`() async throws {
        #expect(code(try await exchange([[.send("SSH-2.0-OpenSSH_9.2\r\n"), .close]])) == .other)
    }

    @Test func `Cancelling ends the request`() async throws {
        try await ScriptedServer.serving([[]]) { server in
            try await Self.transport("http://127.0.0.1:\(server.port)") { transport in
                let task = Task { await Self.send(TransportRequest(method: .get, path: "/x"), over: transport) }
                task.cancel()
                #expect(code(await task.value) == .cancelled)
            }
        }
    }

    @Test func `A proxy is asked to connect to the collector, and then carries the request`() async throws {
        let answers = ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]
        try await ScriptedServer.serving(answers.map { [.send($0)] }) { server in
            try await Self.transport("http://collector.test:8420", proxy: "http://127.0.0.1:\(server.port)") {
                transport in
                let response = try await transport.send(TransportRequest(method: .get, path: "/x"))
                #expect(response.status == 200)
            }
            #expect(server.requests.first?.hasPrefix("CONNECT collector.test:8420 HTTP/1.1\r\n") == true)
            #expect(server.requests.last?.hasPrefix("GET /x HTTP/1.1\r\n") == true)
        }
    }

    @Test func `A proxy of the environment is reported the name and password that stand there`() async throws {
        let answers = ["HTTP/1.1 200 OK\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"]
        try await ScriptedServer.serving(answers.map { [.send($0)] }) { server in
            var settings = ConnectionSettings(collector: try EndpointURL(collector: "http://collector.test:8420"))
            settings.allowsPlaintext = true
            try settings.applyProxy(
                from: ProxyEnvironment(["http_proxy": "http://user:p%40ss@127.0.0.1:\(server.port)"]))
            let transport = try HTTPTransport(settings)
            let response = try await transport.send(TransportRequest(method: .get, path: "/x"))
            await transport.shutdown()
            #expect(response.status == 200)
            let connect = server.requests.first ?? ""
            #expect(connect.hasPrefix("CONNECT collector.test:8420 HTTP/1.1\r\n"))
            // user:p@ss in base64.
            #expect(connect.lowercased().contains("proxy-authorization: basic dxnlcjpwqhnz\r\n"))
            #expect(server.requests.last?.lowercased().contains("proxy-authorization") == false)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n",
        "HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n",
    ]) func `A proxy that does not connect to the collector is reported apart`(answer: String) async throws {
        try await ScriptedServer.serving([[.send(answer)]]) { server in
            let result = try await Self.transport(
                "http://collector.test:8420", proxy: "http://127.0.0.1:\(server.port)"
            ) { await Self.send(TransportRequest(method: .get, path: "/x"), over: $0) }
            #expect(code(result) == .proxy)
        }
    }

    @Test func `A proxy that is not there is reported apart from a collector that is not there`() async throws {
        let nobody = "http://127.0.0.1:1"
        let request = TransportRequest(method: .get, path: "/x")
        #expect(
            code(try await Self.transport("http://127.0.0.1:2", proxy: nobody) { await Self.send(request, over: $0) })
                == .proxy)
        #expect(code(try await Self.transport(nobody) { await Self.send(request, over: $0) }) == .connectionRefused)
    }

    @Test func `A CA file that is not there or holds no certificate is a typed error naming it`() throws {
        var configuration = ConnectionSettings(collector: try EndpointURL(collector: "https://localhost"))
        for file in ["/nonexistent/ca.pem", "/dev/null"] {
            configuration.certificateAuthorityFile = file
            let error = #expect(throws: ConnectionSettingsError.self) { try HTTPTransport(configuration) }
            #expect(error?.code == .certificateAuthorities)
            #expect(error?.message.contains(file) == true)
        }
    }
}
