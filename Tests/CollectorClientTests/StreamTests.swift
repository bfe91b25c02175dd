import Foundation
import HTTPConnection
import HTTPTestKit
import Testing
import WireModel

@testable import CollectorClient

/// Bodies that are handed over as they come.
@Suite(.timeLimit(.minutes(10))) struct StreamTests {
    /// What comes of asking for `/x` piece by piece.
    private func stream(
        _ script: [ScriptedServer.Step], silence: Duration = .seconds(60), isWanted: Bool = true, fails: Bool = false
    ) async throws -> (answer: TransportResponse?, received: String, error: (any Error)?) {
        struct Enough: Error {}
        var received = ""
        var answer: TransportResponse?
        var failure: (any Error)?
        try await ScriptedServer.serving([script]) { server in
            do {
                let settings = ConnectionSettings(
                    collector: try EndpointURL(collector: "http://127.0.0.1:\(server.port)"))
                answer = try await CollectorClient.with(settings, token: "t") { client in
                    try await client.connection.stream(
                        TransportRequest(method: .get, path: "/x", maximumResponseBytes: 10), silence: silence,
                        isWanted: { _ in isWanted }
                    ) { piece in
                        received += String(decoding: piece, as: UTF8.self)
                        if fails { throw Enough() }
                    }
                }
            } catch { failure = error }
        }
        return (answer, received, failure)
    }

    private static let head = "HTTP/1.1 200 OK\r\nX-A: 1\r\nTransfer-Encoding: chunked\r\n\r\n"

    @Test func `A wanted body is handed over beyond the limit of a whole answer`() async throws {
        let result = try await stream([.send(Self.head + "a\r\n0123456789\r\n"), .send("5\r\nabcde\r\n0\r\n\r\n")])
        #expect(result.received == "0123456789abcde")
        #expect(
            result.answer?.status == 200 && result.answer?.headers["x-a"] == "1" && result.answer?.body.isEmpty == true)
    }

    @Test func `A body that is not wanted comes whole and bounded`() async throws {
        let result = try await stream([.send("HTTP/1.1 503 No\r\nContent-Length: 3\r\n\r\nabc")], isWanted: false)
        #expect(result.answer?.body == Data("abc".utf8) && result.received.isEmpty)
        let long = try await stream([.send(Self.head + "b\r\n0123456789a\r\n0\r\n\r\n")], isWanted: false)
        #expect((long.error as? TransportError)?.code == .responseTooLarge)
    }

    @Test func `A body that breaks off is an error after what came of it`() async throws {
        let result = try await stream([.send(Self.head + "a\r\n0123456789\r\n"), .close])
        #expect(result.received == "0123456789")
        #expect((result.error as? TransportError)?.code == .connectionClosed)
    }

    @Test func `A server that falls silent inside a body is given up`() async throws {
        let result = try await stream([.send(Self.head + "a\r\n0123456789\r\n")], silence: .milliseconds(50))
        #expect((result.error as? TransportError)?.code == .timedOut)
    }

    @Test func `What the receiver throws ends the request and comes back`() async throws {
        let result = try await stream([.send(Self.head + "a\r\n0123456789\r\n")], fails: true)
        #expect(result.error != nil && !(result.error is TransportError))
    }
}
