import CollectorAPI
import Foundation
import HTTPTypes
import HummingbirdTesting
import NIOCore
import Registry
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import Collector

/// Clients that do not behave, over real sockets.
@Suite("Connections that misbehave")
struct LiveConnectionTests {
    private static func head(_ bearer: String?, _ fields: String) -> String {
        "POST \(WireNames.batchesPath) HTTP/1.1\r\nHost: collector\r\nContent-Type: \(WireNames.protobuf)\r\n"
            + (bearer.map { "Authorization: Bearer \($0)\r\n" } ?? "") + fields + "\r\n"
    }

    /// Says `bytes` on a connection of its own and gives what came back until the collector closed it.
    private static func exchange(_ harness: Harness, _ say: @escaping @Sendable (RawConnection) -> Void) async throws
        -> (
            text: String, ended: Bool
        )
    {
        try await harness.live { client in
            try await BlockingCall.run {
                let connection = try RawConnection(port: client.port)
                say(connection)
                return connection.receiveToEnd()
            }
        }
    }

    private static func expectRefusal(_ answer: (text: String, ended: Bool), _ status: Int, _ code: String) {
        #expect(answer.text.hasPrefix("HTTP/1.1 \(status) "), "\(answer.text.prefix(200))")
        #expect(answer.text.lowercased().contains("connection: close"))
        #expect(answer.text.contains("\"code\":\"\(code)\""))
        for name in [WireNames.versionHeader, WireNames.collectorHeader, WireNames.incarnationHeader] {
            #expect(answer.text.lowercased().contains(name.lowercased() + ":"))
        }
        #expect(answer.ended, "the connection was left open")
    }

    @Test func `A body announced too large is refused before it is read`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let answer = try await Self.exchange(harness) { connection in
            connection.send(Self.head(device.credential, "Content-Length: 999999999\r\n"))
        }
        Self.expectRefusal(answer, 413, "body-too-large")
        #expect(answer.text.contains("\"limit\":\(WireLimits.bodyBytes)"))
    }

    @Test func `A chunked body over the cap is refused while it is read`() async throws {
        let harness = Harness { $0.bodyBytes = 256 * 1024 }
        let device = try await harness.enrolledDevice()
        let answer = try await Self.exchange(harness) { connection in
            connection.send(Self.head(device.credential, "Transfer-Encoding: chunked\r\n"))
            let chunk = Data("10000\r\n".utf8) + Data(repeating: 0x41, count: 0x10000) + Data("\r\n".utf8)
            for _ in 0..<8 where !connection.send(chunk) { return }
        }
        Self.expectRefusal(answer, 413, "body-too-large")
    }

    @Test func `Without a credential, nothing of the body is waited for`() async throws {
        let harness = Harness()
        let answer = try await Self.exchange(harness) { connection in
            connection.send(Self.head("nobody", "Content-Length: 1000000\r\n"))
        }
        Self.expectRefusal(answer, 401, "credential-unknown")
    }

    @Test func `An endless body behind a refusal is cut off`() async throws {
        let harness = Harness { $0.connections.lingerBytes = 64 * 1024 }
        let finished = try await harness.live { client in
            try await BlockingCall.run {
                let connection = try RawConnection(port: client.port)
                connection.send(Self.head(nil, "Content-Length: 10000000000\r\n"))
                let piece = Data(repeating: 0, count: 1 << 20)
                var pieces = 0
                while pieces < 200, connection.send(piece) { pieces += 1 }
                return pieces
            }
        }
        #expect(finished < 200)
    }

    @Test func `A body that trickles is refused with 408`() async throws {
        let harness = Harness { $0.connections.bodySeconds = 1 }
        let device = try await harness.enrolledDevice()
        let answer = try await Self.exchange(harness) { connection in
            connection.send(Self.head(device.credential, "Content-Length: 1000\r\n"))
            connection.send("a")
        }
        Self.expectRefusal(answer, 408, "body-too-slow")
        #expect(answer.text.components(separatedBy: "HTTP/1.1 ").count == 2, "one answer")
    }

    @Test func `A client that sends nothing is cut off`() async throws {
        let harness = Harness { $0.connections.firstHeadSeconds = 1 }
        let answer = try await Self.exchange(harness) { connection in
            connection.send("POST /api/v1/batches HTTP/1.1\r\nHost: c\r\nX-Slow: ")
        }
        #expect(answer.ended)
        #expect(answer.text.isEmpty)
    }

    @Test(arguments: [
        "\u{1}\u{2}\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "POST /api/v1/batches HTTP/1.1\r\nContent-Length: x\r\n\r\n",
    ])
    func `What is not HTTP is answered with a problem`(bytes: String) async throws {
        let answer = try await Self.exchange(Harness()) { connection in connection.send(bytes) }
        Self.expectRefusal(answer, 400, "malformed-http")
    }

    @Test(arguments: [
        "GET /healthz HTTP/1.1\r\n\r\n", "GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        "GET /healthz HTTP/1.1\r\nHost: a\r\nhost: a\r\n\r\n", "GET /healthz HTTP/1.0\r\nHost: a\r\nHost: b\r\n\r\n",
    ])
    func `A request without exactly one host is refused`(bytes: String) async throws {
        let answer = try await Self.exchange(Harness()) { connection in connection.send(bytes) }
        Self.expectRefusal(answer, 400, "malformed-http")
        #expect(answer.text.components(separatedBy: "HTTP/1.1 ").count == 2, "one answer")
    }

    @Test(arguments: ["zz\r\n", "FFFFFFFFFFFFFFFFFF\r\n"])
    func `A chunk that is none is the sender's fault`(chunk: String) async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let answer = try await Self.exchange(harness) { connection in
            connection.send(Self.head(device.credential, "Transfer-Encoding: chunked\r\n"))
            connection.send(chunk)
        }
        Self.expectRefusal(answer, 400, "malformed-http")
    }

    @Test func `Bodies of one device that trickle do not keep another device out`() async throws {
        let harness = Harness { $0.budget = IngestBudget(maximumBodies: 4, maximumBodiesPerDevice: 2) }
        let (slow, other) = (try await harness.enrolledDevice(), try await harness.enrolledDevice())
        try await harness.live { client in
            let connections = try (0..<5).map { _ in try RawConnection(port: client.port) }
            try await withThrowingTaskGroup(of: Bool.self) { group in
                for connection in connections {
                    group.addTask {
                        await BlockingCall.run {
                            connection.send(
                                Self.head(slow.credential, "Content-Length: 10000\r\n")
                                    + String(repeating: "a", count: 5000))
                            return connection.receiveToEnd().text.hasPrefix("HTTP/1.1 429 ")
                        }
                    }
                }
                // Three are refused at once; the other two have all the time they want.
                for _ in 0..<3 { #expect(try await group.next() == true) }
                var events = ChainBuilder(stream: .event)
                let answer = try await client.post(
                    WireNames.batchesPath, bearer: other.credential, [events.events(["a"])].request)
                #expect(answer.status == .ok)
                for connection in connections { connection.hangUp() }
                for try await wasRefused in group { #expect(!wasRefused) }
            }
        }
    }

    /// Connections that announce bodies and send two bytes occupy nobody's place; nor do the places that devices fill
    /// reduce those of people.
    @Test func `What is announced and not sent keeps nobody out`() async throws {
        let harness = Harness {
            $0.budget = IngestBudget(maximumBodies: 1, maximumBodiesPerDevice: 1, maximumOtherBodies: 1)
        }
        let (slow, other) = (try await harness.enrolledDevice(), try await harness.enrolledDevice())
        try await harness.live { client in
            let connections = try (0..<5).map { _ in try RawConnection(port: client.port) }
            for (place, connection) in connections.enumerated() {
                let length = place == 0 ? 10_000 : 100
                _ = await BlockingCall.run {
                    connection.send(
                        Self.head(slow.credential, "Content-Length: \(length)\r\n")
                            + String(repeating: "a", count: place == 0 ? 5000 : 2))
                }
                guard place == 0 else { continue }
                // The one place of devices is occupied; then it is full for another.
                while harness.server.settings.budget.load.bodies == 0 { await Task.yield() }
            }
            var events = ChainBuilder(stream: .event)
            let part = [events.events(["a"])].request
            #expect(
                try await client.post(WireNames.batchesPath, bearer: other.credential, part).status == .tooManyRequests)
            var request = WireEnrollRequest()
            request.deviceName = "new"
            #expect(
                try await client.post(WireNames.enrollPath, bearer: "enroll-default", request.encoded).status == .ok)
            let put = try await client.send(
                .put, "/api/v1/profiles/default", bearer: "administrator-default",
                headers: [.contentType: "application/json"],
                body: Data("{}".utf8))
            #expect(put.status == .ok)
            connections[0].hangUp()
            while harness.server.settings.budget.load.bodies > 0 { await Task.yield() }
            #expect(try await client.post(WireNames.batchesPath, bearer: other.credential, part).status == .ok)
            for connection in connections { connection.hangUp() }
        }
    }

    @Test func `HEAD is answered as GET without a body, and the connection goes on`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let path = "/api/v1/devices/\(device.id)"
        let fields = " HTTP/1.1\r\nHost: c\r\nAuthorization: Bearer viewer-default\r\n"
        let answer = try await Self.exchange(harness) { connection in
            connection.send("GET \(path)\(fields)\r\nHEAD \(path)\(fields)\r\n")
            // Without a length as with GET: it is compressed while it is sent.
            connection.send("HEAD \(path)\(fields)Accept-Encoding: gzip\r\n\r\n")
            connection.send("HEAD /nowhere\(fields)\r\nHEAD \(WireNames.batchesPath)\(fields)\r\n")
            connection.send("GET /livez HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n")
        }
        let answers = answer.text.components(separatedBy: "HTTP/1.1 ").dropFirst().map {
            $0.components(separatedBy: "\r\n\r\n")
        }
        try #require(answers.count == 6)
        #expect(answers.map { $0[0].prefix(3) } == ["200", "200", "200", "404", "405", "200"])
        #expect(answers.map { $0[1].isEmpty } == [false, true, true, true, true, false])
        func length(_ head: String) -> Substring? {
            head.lowercased().split(separator: "\r\n").first { $0.hasPrefix("content-length: ") }?.dropFirst(16)
        }
        #expect(
            length(answers[0][0]) == "\(answers[0][1].utf8.count)" && length(answers[1][0]) == length(answers[0][0]))
        #expect(answers[4][0].lowercased().contains("allow: post"))
        #expect(answer.ended)
    }

    @Test func `Who waits for 100 is told to go on`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let answer = try await Self.exchange(harness) { connection in
            connection.send(
                Self.head(device.credential, "Content-Length: 2\r\nExpect: 100-continue\r\nConnection: close\r\n"))
            guard connection.receive(until: "\r\n\r\n").hasPrefix("HTTP/1.1 100 Continue\r\n") else {
                return connection.hangUp()
            }
            connection.send("\u{1}\u{1}")
        }
        #expect(answer.text.hasPrefix("HTTP/1.1 400 "))
    }

    @Test func `A transfer coding that nobody undoes is refused`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let answer = try await Self.exchange(harness) { connection in
            connection.send(
                Self.head(device.credential, "Transfer-Encoding: gzip, chunked\r\n") + "2\r\n\u{1}\u{1}\r\n")
        }
        Self.expectRefusal(answer, 501, "unsupported-transfer-encoding")
    }

    @Test func `A header without end is refused`() async throws {
        let answer = try await Self.exchange(Harness()) { connection in
            connection.send("GET /livez HTTP/1.1\r\nHost: c\r\nX-Long: " + String(repeating: "a", count: 100_000))
        }
        #expect(answer.text.hasPrefix("HTTP/1.1 400 ") || answer.text.hasPrefix("HTTP/1.1 431 "))
        #expect(answer.text.lowercased().contains(WireNames.versionHeader.lowercased()))
        #expect(answer.ended)
    }

    @Test func `After a refusal that read the body, the connection goes on`() async throws {
        let harness = Harness()
        let device = try await harness.enrolledDevice()
        let answer = try await Self.exchange(harness) { connection in
            connection.send(Self.head(device.credential, "Content-Length: 2\r\n") + "\u{1}\u{1}")
            connection.send("GET /livez HTTP/1.1\r\nHost: c\r\nConnection: close\r\n\r\n")
        }
        #expect(answer.text.hasPrefix("HTTP/1.1 400 "))
        #expect(answer.text.contains("\"status\":\"alive\""))
    }

    @Test func `Many devices at once are each stored once`() async throws {
        let harness = Harness()
        try await harness.live { client in
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<16 {
                    let device = try await harness.enrolledDevice()
                    group.addTask {
                        try await LiveClient.with(port: client.port) { client in
                            var events = ChainBuilder(stream: .event)
                            for _ in 0..<10 {
                                let request = [events.events(["a", "b"])].request
                                for _ in 0..<2 {
                                    let response = try await client.post(
                                        WireNames.batchesPath, bearer: device.credential, request)
                                    #expect(response.status == .ok)
                                }
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
        }
        #expect(harness.store.storedCount == 16 * 10 * 2)
    }

    @Test(arguments: [
        ("HTTP/1.0", "", true), ("HTTP/1.0", "Connection: keep-alive\r\n", false),
        ("HTTP/1.1", "Connection: close\r\n", true),
        ("HTTP/1.1", "", false),
    ])
    func `A connection ends as the version says`(version: String, header: String, ends: Bool) async throws {
        let harness = Harness()
        let answer = try await Self.exchange(harness) { connection in
            connection.send("GET /livez \(version)\r\nHost: collector\r\n\(header)\r\n")
            guard !ends else { return }
            // That it is open still shows by what it answers next; nothing has to be waited for.
            #expect(connection.receive(until: "alive").contains(" 200 "))
            connection.send("GET /livez HTTP/1.1\r\nHost: collector\r\nConnection: close\r\n\r\n")
        }
        #expect(answer.text.contains(" 200 ") && answer.text.contains("alive") && answer.ended)
    }

    @Test(arguments: ["", "Connection: keep-alive\r\n"])
    func `An answer to HTTP 1.0 is not chunked and ends with the connection`(header: String) async throws {
        let harness = Harness()
        let token = try await harness.metadata.createPersonToken(name: "viewer", role: .viewer, organization: "default")
            .token
        let path = "/api/v1/events"
        func body(_ text: String) -> String { text.components(separatedBy: "\r\n\r\n").dropFirst().joined() }
        let old = try await Self.exchange(harness) { connection in
            connection.send("GET \(path) HTTP/1.0\r\nAuthorization: Bearer \(token)\r\n\(header)\r\n")
        }
        #expect(old.ended && old.text.contains(" 200 "), "\(old.text)")
        #expect(!old.text.lowercased().contains("transfer-encoding"))
        #expect(try JSONSerialization.jsonObject(with: Data(body(old.text).utf8)) is [String: Any])
        // The same answer is chunked for a client that knows chunks.
        let new = try await Self.exchange(harness) { connection in
            connection.send(
                "GET \(path) HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer \(token)\r\nConnection: close\r\n\r\n")
        }
        #expect(new.text.lowercased().contains("transfer-encoding: chunked"))
    }
}
