import Foundation
import HTTPTestKit
import NIOPosix
import TestKit
import Testing
import WireModel

@testable import ObjectStorage

/// Answers of a storage that lies, breaks off, is overloaded or answers too late.
@Suite struct ScriptedStorageTests {
    private static let now: Int64 = 1_795_219_200_000_000

    private static func answer(_ status: String, _ headers: [String] = [], _ body: String = "") -> ScriptedServer.Step {
        let lines = ["HTTP/1.1 \(status)"] + headers + ["Content-Length: \(body.utf8.count)", "", body]
        return .send(lines.joined(separator: "\r\n"))
    }

    private static let slowDown = answer("503 Slow Down", [], "<Error><Code>SlowDown</Code></Error>")

    private static func serving(
        _ scripts: [[ScriptedServer.Step]], certificate: ServerCertificates.Server? = nil,
        adjust: (inout ObjectStorageConfiguration) -> Void = { _ in },
        _ body: (ObjectStorage, ScriptedServer) async throws -> Void
    ) async throws {
        try await ScriptedServer.serving(scripts, certificate: certificate) { server in
            var configuration = try ObjectStorageConfiguration(
                endpoint: "\(certificate == nil ? "http" : "https")://localhost:\(server.port)", region: "us-east-1",
                bucket: "logs",
                credentials: .given(
                    try ObjectStorageCredentials(
                        accessKeyID: "AKIA", secretAccessKey: "the-secret", sessionToken: "the-token")))
            configuration.firstPause = .milliseconds(1)
            adjust(&configuration)
            let storage = try ObjectStorage(
                configuration, on: MultiThreadedEventLoopGroup.singleton, environment: [:], now: { now })
            do { try await body(storage, server) } catch {
                await storage.shutDown()
                throw error
            }
            await storage.shutDown()
        }
    }

    @Test func `A request says what it must`() async throws {
        let etag = "ETag: \"8d777f385d3dfec8815d20f7496026dc\""
        try await Self.serving([[Self.answer("200 OK", [etag])]]) { storage, server in
            try await storage.put("a b", Data("data".utf8))
            let request = try #require(server.requests.first)
            #expect(request.hasPrefix("PUT /logs/a%20b HTTP/1.1\r\n") && request.hasSuffix("\r\n\r\ndata"))
            let head = request.lowercased()
            for header in [
                "host: localhost:\(server.port)", "content-length: 4",
                "content-md5: jxd/of09/sibxsd3swam3a==",
                "x-amz-content-sha256: 3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7",
                "x-amz-meta-sha256: 3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7",
                "x-amz-date: 20261121t000000z", "x-amz-security-token: the-token",
            ] {
                #expect(head.contains("\r\n\(header)\r\n"), "\(header)")
            }
            #expect(!request.contains("the-secret"))
        }
    }

    @Test func `A bucket is reached through the proxy of the environment`() async throws {
        try await ScriptedServer.serving([[.send("HTTP/1.1 200 OK\r\n\r\n")], [Self.answer("200 OK")]]) { server in
            var configuration = try ObjectStorageConfiguration(
                endpoint: "http://storage.test:9000", region: "us-east-1", bucket: "logs", credentials: .environment)
            configuration.allowsPlaintext = true
            let storage = try ObjectStorage(
                configuration, on: MultiThreadedEventLoopGroup.singleton,
                environment: [
                    "AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "the-secret",
                    "HTTP_PROXY": "http://127.0.0.1:\(server.port)",
                ], now: { Self.now })
            do { try await storage.put("key", Data("data".utf8)) } catch {
                await storage.shutDown()
                throw error
            }
            await storage.shutDown()
            #expect(server.requests.first?.hasPrefix("CONNECT storage.test:9000 HTTP/1.1\r\n") == true)
            #expect(server.requests.last?.hasPrefix("PUT /logs/key HTTP/1.1\r\n") == true)
        }
    }

    @Test func `An overloaded storage is asked again`() async throws {
        let broken = Self.answer("500 Internal Server Error")
        try await Self.serving([[Self.slowDown], [broken], [Self.answer("200 OK")]]) { storage, server in
            try await storage.put("key", Data("data".utf8))
            #expect(server.requests.count == 3)
            #expect(Set(server.requests.map { $0.suffix(4) }) == ["data"])
        }
    }

    @Test func `A storage that stays overloaded is given up in time`() async throws {
        try await Self.serving(
            Array(repeating: [Self.slowDown], count: 1000),
            adjust: {
                $0.firstPause = .milliseconds(20)
                $0.totalTimeout = .seconds(2)
            }
        ) { storage, server in
            let begun = ContinuousClock.now
            let error = await #expect(throws: ObjectStorageError.self) { try await storage.delete("key") }
            #expect(error?.code == .unavailable && error?.message.contains("503 SlowDown") == true)
            #expect(server.requests.count > 2 && ContinuousClock.now - begun < .seconds(20))
        }
    }

    @Test func `What is refused is not asked again`() async throws {
        let denied = Self.answer("403 Forbidden", [], "<Error><Code>AccessDenied</Code></Error>")
        try await Self.serving([[denied], [Self.answer("200 OK")]]) { storage, server in
            #expect(await code { try await storage.put("key", Data()) } == .refused)
            #expect(server.requests.count == 1)
        }
    }

    @Test func `A skewed clock is named`() async throws {
        let skewed = Self.answer(
            "403 Forbidden", ["Date: Sat, 21 Nov 2026 01:00:00 GMT"], "<Error><Code>RequestTimeTooSkewed</Code></Error>"
        )
        try await Self.serving([[skewed]]) { storage, _ in
            let error = await #expect(throws: ObjectStorageError.self) { try await storage.put("key", Data()) }
            #expect(error?.code == .refused && error?.message.contains("clock") == true)
            #expect(error?.message.contains("2026-11-21T00:00:00") == true)
            #expect(error?.message.contains("21 Nov 2026 01:00:00") == true)
        }
    }

    @Test func `A lying storage is found`() async throws {
        let other = "ETag: \"9336ebf25087d91c818ee6e9ec29f8c1\""
        let digest = "x-amz-meta-sha256: 3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"
        try await Self.serving([
            [Self.answer("200 OK", [other])],
            [Self.answer("200 OK", [other, "x-amz-server-side-encryption: aws:kms"])],
            [Self.answer("200 OK", [digest], "data")], [Self.answer("200 OK", [digest], "date")],
            [Self.answer("206 Partial Content", ["Content-Range: bytes 0-3/10"], "data")],
            [Self.answer("206 Partial Content", ["Content-Range: bytes 4-7/10"], "data")],
            [Self.answer("206 Partial Content", ["Content-Range: bytes 0-3/10"], "dat")],
            [Self.answer("200 OK", [], "data")],
            [Self.answer("416 Range Not Satisfiable", ["Content-Range: bytes */10"])],
        ]) { storage, _ in
            #expect(await code { try await storage.put("key", Data("data".utf8)) } == .corrupt)
            try await storage.put("key", Data("data".utf8))
            #expect(try await storage.bytes("key") == Data("data".utf8))
            #expect(await code { _ = try await storage.get("key") } == .corrupt)
            let part = try await storage.get("key", 0..<4)
            #expect(part?.size == 10)
            for _ in 0..<4 { #expect(await code { _ = try await storage.get("key", 0..<4) } == .corrupt) }
        }
    }

    @Test func `An answer that breaks off is asked for again`() async throws {
        let cut: [ScriptedServer.Step] = [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234"), .close]
        let whole = Self.answer("200 OK", [], "0123456789")
        let scripts: [[ScriptedServer.Step]] = [cut, [.reset], [.close], [whole]]
        try await Self.serving(scripts) { storage, server in
            let bytes = try await storage.bytes("key")
            #expect(bytes == Data("0123456789".utf8))
            #expect(server.requests.count == 4)
        }
    }

    @Test func `An answer that never comes is unavailable`() async throws {
        let half: [ScriptedServer.Step] = [.send("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n01234")]
        try await Self.serving(
            [[], half, [], half, [], half],
            adjust: {
                $0.requestTimeout = .milliseconds(300)
                $0.totalTimeout = .seconds(2)
            }
        ) { storage, server in
            let begun = ContinuousClock.now
            let error = await #expect(throws: ObjectStorageError.self) { _ = try await storage.get("key") }
            #expect(error?.code == .unavailable && ContinuousClock.now - begun < .seconds(20))
            #expect(server.requests.count > 1)
        }
    }

    @Test func `An answer of somebody else is no list`() async throws {
        let page = "<html><body>Log in to the network</body></html>"
        let bomb = "<!DOCTYPE a [<!ENTITY b \"bbbbbbbb\">]><ListBucketResult>&b;</ListBucketResult>"
        let endless =
            "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>t</NextContinuationToken>"
        try await Self.serving([
            [Self.answer("200 OK", [], page)], [Self.answer("200 OK", [], bomb)],
            [Self.answer("200 OK", [], "\(endless)</ListBucketResult>")],
            [.send("HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n")],
        ]) { storage, _ in
            #expect(await code { _ = try await storage.list() } == .corrupt)
            #expect(await code { _ = try await storage.list() } == .corrupt)
            #expect(await code { _ = try await storage.list(after: "t") } == .corrupt)
            #expect(await code { _ = try await storage.list() } == .corrupt)
        }
    }

    @Test func `Only a server of a trusted authority is talked to`() async throws {
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("authority-\(UUID()).pem")
        try Data(ServerCertificates.authority.utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let scripts = [[Self.answer("200 OK", [], "data")]]
        try await Self.serving(
            scripts, certificate: ServerCertificates.one, adjust: { $0.certificateAuthorityFile = file.path }
        ) { storage, _ in
            let bytes = try await storage.bytes("key")
            #expect(bytes == Data("data".utf8))
        }
        try await Self.serving(
            scripts, certificate: ServerCertificates.one, adjust: { $0.totalTimeout = .seconds(1) }
        ) { storage, server in
            let error = await #expect(throws: ObjectStorageError.self) { _ = try await storage.get("key") }
            #expect(error?.code == .unavailable && error?.message.contains("file of authorities") == true)
            #expect(server.requests.isEmpty)
        }
    }

    @Test func `No error has a secret`() async throws {
        let echo = "<Error><Code>the-secret the-token</Code><Message>the-secret the-token</Message></Error>"
        let denied = Self.answer("403 Forbidden", ["x-amz-bucket-region: the-secret the-token"], echo)
        let scripts: [[ScriptedServer.Step]] = [[denied], [.send("the-secret the-token\r\n\r\n")]]
        try await Self.serving(scripts, adjust: { $0.totalTimeout = .seconds(1) }) { storage, _ in
            for _ in 0..<2 {
                let error = await #expect(throws: ObjectStorageError.self) { try await storage.put("key", Data()) }
                var text = "\(String(describing: error)) \(String(reflecting: error))"
                dump(error, to: &text)
                #expect(!text.contains("the-secret") && !text.contains("the-token"), "\(text)")
            }
        }
    }
}
