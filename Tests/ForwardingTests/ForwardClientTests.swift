import Foundation
import HTTPConnection
import HTTPTestKit
import OTLP
import TestKit
import Testing
import WireModel

@testable import Forwarding

/// Over real connections. `ForwardAnswerTests` has what each answer means.
@Suite(.timeLimit(.minutes(1))) struct ForwardClientTests {
    private static let accepted = ScriptedServer.Step.send("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")

    private static func send(
        _ server: ScriptedServer, _ scheme: String, _ adjust: (inout ForwardEndpoint) -> Void = { _ in }
    ) async throws -> ForwardAnswer {
        let url = try EndpointURL(server: "\(scheme)://127.0.0.1:\(server.port)/otlp", name: "url")
        var endpoint = ForwardEndpoint(url: url)
        adjust(&endpoint)
        let client = try HTTPForwardClient(endpoint, url, allowsPlaintext: false, proxies: ProxyEnvironment())
        let answer = await client.send(Data("body".utf8), of: .metrics)
        await client.shutDown()
        return answer
    }

    private static func isAccepted(_ answer: ForwardAnswer) -> Bool {
        if case .accepted = answer { true } else { false }
    }

    @Test func `The file of authorities alone decides whom it trusts`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/ca.pem"
        try await ScriptedServer.serving([[Self.accepted]], certificate: ServerCertificates.one) { server in
            // Neither the system's authorities nor another one signed it.
            for authority in [nil, ServerCertificates.two.certificate] {
                try authority?.write(toFile: file, atomically: true, encoding: .utf8)
                let answer = try await Self.send(server, "https") { $0.authorityFile = authority.map { _ in file } }
                guard case .later(let reason, retryAfter: nil) = answer else {
                    Issue.record("\(answer)")
                    return
                }
                #expect(reason.localizedCaseInsensitiveContains("certificate"), "\(reason)")
            }
            #expect(server.requests.isEmpty)
            try ServerCertificates.authority.write(toFile: file, atomically: true, encoding: .utf8)
            #expect(Self.isAccepted(try await Self.send(server, "https") { $0.authorityFile = file }))
        }
    }

    @Test func `A request has what the protocol asks for and the headers of the file, read each time`() async throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/headers"
        try await ScriptedServer.serving([[Self.accepted], [Self.accepted]]) { server in
            for token in ["one", "two"] {
                try "Authorization: Bearer \(token)\n".write(toFile: file, atomically: true, encoding: .utf8)
                #expect(Self.isAccepted(try await Self.send(server, "http") { $0.headerFile = file }))
                let request = try #require(server.requests.last).lowercased()
                #expect(request.hasPrefix("post /otlp/v1/metrics http/1.1\r\n"))
                for header in [
                    "authorization: bearer \(token)", "content-type: application/x-protobuf", "content-encoding: gzip",
                ] { #expect(request.contains("\r\n\(header)\r\n")) }
            }
            try "no header".write(toFile: file, atomically: true, encoding: .utf8)
            let answer = try await Self.send(server, "http") { $0.headerFile = file }
            guard case .misconfigured = answer else {
                Issue.record("\(answer)")
                return
            }
        }
    }
}
