import ClickHouse
import HTTPConnection
import HTTPTestKit
import Testing

/// Answers that no good server gives, and those of engines that are not at hand.
@Suite(.timeLimit(.minutes(2))) struct ScriptedAnswerTests {
    private static let head = "HTTP/1.1 200 OK\r\nX-ClickHouse-Server-Display-Name: a\r\n"

    private func query(_ answers: [String]) async throws -> Result<ClickHouseRows, ClickHouseError> {
        var result: Result<ClickHouseRows, ClickHouseError>?
        try await ScriptedServer.serving(answers.map { [.send($0), .close] }) { server in
            result = try await ClientFixtures.withClient(
                ClientFixtures.configuration(["http://127.0.0.1:\(server.port)"])
            ) { client in
                // The scripted server treats this as the end of the request.
                do throws(ClickHouseError) { return .success(try await client.query("SELECT 1 -- <end>")) } catch {
                    return .failure(error)
                }
            }
        }
        return try #require(result)
    }

    private func code(_ result: Result<ClickHouseRows, ClickHouseError>) -> ClickHouseError.Code? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    @Test func `A whole answer is rows`() async throws {
        let rows = try await query([Self.head + "Content-Length: 2\r\n\r\nab"]).get()
        #expect(rows.remainingBytes == 2)
    }

    @Test func `A replica is reached through the proxy of the environment, and this machine directly`() async throws {
        let row = Self.head + "Content-Length: 2\r\n\r\nab"
        let answers = ["HTTP/1.1 200 OK\r\n\r\n", row, row]
        try await ScriptedServer.serving(answers.map { [.send($0)] }) { server in
            var configuration = ClientFixtures.configuration([
                "http://clickhouse.test:8123", "http://127.0.0.1:\(server.port)",
            ])
            configuration.allowsPlaintext = true
            configuration.proxies = ProxyEnvironment(["http_proxy": "http://127.0.0.1:\(server.port)"])
            try await ClientFixtures.withClient(configuration) { client in
                for replica in client.replicas {
                    let rows = try await client.query("SELECT 1 -- <end>", on: replica)
                    #expect(rows.remainingBytes == 2)
                }
            }
            let requests = server.requests
            #expect(requests.count == 3)
            #expect(requests.first?.hasPrefix("CONNECT clickhouse.test:8123 HTTP/1.1\r\n") == true)
            #expect(requests.dropFirst().allSatisfy { $0.hasPrefix("POST /?") })
        }
    }

    @Test func `An exception that a header names is an error, also with status 200`() async throws {
        let answer =
            Self.head + "X-ClickHouse-Exception-Code: 395\r\nContent-Length: 30\r\n\r\n"
            + "Code: 395. DB::Exception: text"
        let result = try await query([answer])
        #expect(code(result) == .refused)
        if case .failure(let error) = result { #expect(error.serverCode == 395) }
    }

    @Test func `An answer without a length is an error, because a cut would not show`() async throws {
        #expect(code(try await query([Self.head + "\r\nab"])) == .protocolViolation)
    }

    @Test func `An answer of another kind of server is an error`() async throws {
        #expect(code(try await query(["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"])) == .protocolViolation)
        #expect(
            code(try await query(["HTTP/1.1 502 Bad Gateway\r\nContent-Length: 2\r\n\r\nno"])) == .unavailable)
    }

    @Test func `An answer that ends before its length is an error`() async throws {
        let cut = Self.head + "Content-Length: 20\r\n\r\nab"
        #expect(code(try await query([cut, cut])) == .unavailable)
        let chunk = Self.head + "Transfer-Encoding: chunked\r\n\r\n2\r\nab\r\n"
        #expect(code(try await query([chunk, chunk])) == .unavailable)
    }
}
