import Crypto
import Foundation
import LogArchiveTestKit
import Synchronization
import TelemetryBasics
import Testing
import WireModel

@testable import ObjectStorage

/// Against a real server, which checks every signature.
@Suite struct ObjectStorageTests {
    @Test func `What is stored is read whole and in parts`() async throws {
        try await TestBucket.with { bucket in
            let storage = bucket.storage
            try await storage.check()
            let bytes = Data((0..<100_000).map { UInt8(truncatingIfNeeded: $0 &* 31) })
            try await storage.put("a/object", bytes)
            #expect(try await storage.get("a/object") == ObjectContent(bytes: bytes, size: 100_000))
            #expect(
                try await storage.get("a/object", 10..<20) == ObjectContent(bytes: bytes[10..<20], size: 100_000))
            #expect(
                try await storage.get("a/object", 99_990..<100_010)
                    == ObjectContent(bytes: bytes.suffix(10), size: 100_000))
            let beyond = try await storage.get("a/object", 100_000..<100_010)
            #expect(beyond == ObjectContent(bytes: Data(), size: 100_000))
            #expect(
                try await storage.head("a/object")
                    == ObjectSummary(size: 100_000, digest: Data(SHA256.hash(data: bytes)).hexadecimal))
            try await storage.put("a/object", Data("other".utf8))
            #expect(try await storage.bytes("a/object") == Data("other".utf8))
            try await storage.put("a/empty", Data())
            #expect(try await storage.get("a/empty") == ObjectContent(bytes: Data(), size: 0))
        }
    }

    @Test func `What is deleted is gone`() async throws {
        try await TestBucket.with { bucket in
            let storage = bucket.storage
            try await storage.put("object", Data("x".utf8))
            try await storage.delete("object")
            #expect(try await storage.get("object") == nil)
            #expect(try await storage.get("object", 0..<1) == nil)
            #expect(try await storage.head("object") == nil)
            try await storage.delete("object")
            #expect(try await bucket.keys().isEmpty)
        }
    }

    @Test(arguments: ["", "logs", "one two/ü+%"])
    func `Odd keys are keys like others`(_ prefix: String) async throws {
        let keys = [
            "a b", "a+b", "a%2Fb", "%", "ü/ö", "日本", "a&b=c?d#e", "~!@$^*()_-'\"", "<x>", "x:y", "a.b/..c", "emoji 🙂",
            String(repeating: "k", count: 1000),
        ]
        try await TestBucket.with(prefix: prefix) { bucket in
            for key in keys { try await bucket.storage.put(key, Data(key.utf8)) }
            for key in keys { #expect(try await bucket.storage.bytes(key) == Data(key.utf8), "\(key)") }
            #expect(Set(try await bucket.keys()) == Set(keys))
            for key in keys { try await bucket.storage.delete(key) }
            #expect(try await bucket.keys().isEmpty)
        }
    }

    @Test func `Keys that may change on the way are refused`() async throws {
        try await TestBucket.with { bucket in
            for key in ["", "/a", "a/", "a//b", "a/../b", ".", "a\0", String(repeating: "k", count: 1025)] {
                #expect(await code { try await bucket.storage.put(key, Data()) } == .configuration, "\(key)")
            }
        }
    }

    @Test func `A list of many pages has every key once`() async throws {
        try await TestBucket.with { bucket in
            let keys = (0..<25).map { "dir \($0 % 3)/key-\(100 + $0)" }.sorted()
            for key in keys { try await bucket.storage.put(key, Data(key.utf8)) }
            #expect(try await bucket.keys(page: 4) == keys)
            #expect(try await bucket.keys(page: 25) == keys)
            let page = try await bucket.storage.list("dir 1/", limit: 1000)
            #expect(page.entries.map(\.key) == keys.filter { $0.hasPrefix("dir 1/") } && page.next == nil)
            #expect(page.entries.allSatisfy { $0.size == $0.key.utf8.count })
            #expect(page.entries.allSatisfy { $0.age > .seconds(-2) && $0.age < .seconds(120) })
        }
    }

    @Test func `Prefixes stay separate`() async throws {
        let server = try await MotoServer.shared()
        try await TestBucket.with(prefix: "one") { bucket in
            let other = try ObjectStorage(try TestBucket.configuration(of: server, bucket.name, prefix: "one-more"))
            try await bucket.storage.put("key", Data("1".utf8))
            try await other.put("key", Data("2".utf8))
            #expect(try await bucket.storage.bytes("key") == Data("1".utf8))
            #expect(try await bucket.keys() == ["key"])
            await other.shutDown()
        }
    }

    // MARK: Refusals

    @Test func `Wrong credentials are refused and not shown`() async throws {
        let server = try await MotoServer.shared()
        try await TestBucket.with { bucket in
            for (id, secret) in [(server.accessKeyID, "wrong-secret"), ("AKIAUNKNOWN", "wrong-secret")] {
                var configuration = bucket.storage.configuration
                configuration.credentials = .given(
                    try ObjectStorageCredentials(accessKeyID: id, secretAccessKey: secret))
                let storage = try ObjectStorage(configuration)
                var reported: [String] = []
                for body in [
                    { try await storage.check() }, { try await storage.put("a", Data()) },
                    { _ = try await storage.get("a") }, { _ = try await storage.head("a") },
                    { try await storage.delete("a") },
                ] as [() async throws -> Void] {
                    do {
                        try await body()
                        Issue.record("it was accepted")
                    } catch let error as ObjectStorageError {
                        #expect(error.code == .refused)
                        reported.append("\(error) \(String(reflecting: error))")
                    }
                }
                #expect(!reported.joined().contains("wrong-secret") && !reported.joined().contains("Signature="))
                await storage.shutDown()
            }
        }
    }

    @Test func `Credentials are read again when they are refused`() async throws {
        let server = try await MotoServer.shared()
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("credentials-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        func write(_ secret: String) throws {
            let text = "[default]\naws_access_key_id = \(server.accessKeyID)\naws_secret_access_key = \(secret)\n"
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
        }
        try write("old")
        try await TestBucket.with(adjust: { $0.credentials = .file(path: path) }) { bucket in
            #expect(await code { try await bucket.storage.check() } == .refused)
            try write(server.secretAccessKey)
            try await bucket.storage.put("key", Data("x".utf8))
            #expect(try await bucket.keys() == ["key"])
        }
    }

    @Test func `A missing bucket is named`() async throws {
        let server = try await MotoServer.shared()
        let storage = try ObjectStorage(try TestBucket.configuration(of: server, "no-such-bucket"))
        let error = await #expect(throws: ObjectStorageError.self) { try await storage.check() }
        #expect(error?.code == .notFound && error?.message.contains("no-such-bucket") == true)
        #expect(await code { try await storage.put("key", Data()) } == .notFound)
        #expect(await code { _ = try await storage.get("key") } == .notFound)
        await storage.shutDown()
    }

    @Test func `Calls after the end say so`() async throws {
        try await TestBucket.with { bucket in
            await bucket.storage.shutDown()
            #expect(await code { try await bucket.storage.check() } == .shutDown)
        }
    }

    // MARK: A server that ends or freezes

    @Test func `A server that is gone is unavailable within the limit`() async throws {
        let server = try await MotoServer.start()
        try await TestBucket.with(server: server, adjust: { $0.totalTimeout = .seconds(5) }) { bucket in
            try await bucket.storage.put("key", Data("x".utf8))
            server.end()
            let begun = ContinuousClock.now
            let error = await #expect(throws: ObjectStorageError.self) { try await bucket.storage.put("key", Data()) }
            #expect(error?.code == .unavailable && error?.message.contains("Given up after") == true)
            #expect(ContinuousClock.now - begun < .seconds(20))
            let next = try await MotoServer.start(after: server)
            try await bucket.storage.createBucket()
            try await bucket.storage.put("key", Data("y".utf8))
            #expect(try await bucket.storage.bytes("key") == Data("y".utf8))
            next.end()
        }
    }

    @Test func `A frozen server is unavailable within the limit`() async throws {
        let server = try await MotoServer.start()
        try await TestBucket.with(
            server: server,
            adjust: {
                $0.requestTimeout = .seconds(2)
                $0.totalTimeout = .seconds(4)
            }
        ) { bucket in
            server.freeze()
            let begun = ContinuousClock.now
            #expect(await code { try await bucket.storage.put("key", Data("x".utf8)) } == .unavailable)
            #expect(ContinuousClock.now - begun < .seconds(20))
            server.thaw()
            try await bucket.storage.put("key", Data("x".utf8))
            #expect(try await bucket.keys() == ["key"])
        }
        server.end()
    }

    @Test func `A server that is killed while it receives has nothing half`() async throws {
        let server = try await MotoServer.start()
        try await TestBucket.with(server: server, adjust: { $0.totalTimeout = .seconds(30) }) { bucket in
            let bytes = Data((0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
            // Frozen, it accepts the beginning and no more.
            server.freeze()
            async let put: Void = bucket.storage.put("key", bytes)
            server.end()
            let next = try await MotoServer.start(after: server)
            let creator = try ObjectStorage(try TestBucket.configuration(of: next, bucket.name))
            try await creator.createBucket()
            // Until the bucket was there again it may have been refused; then it is missing as a whole.
            do {
                try await put
                #expect(try await creator.bytes("logs/key") == bytes)
            } catch { #expect(try await creator.get("logs/key") == nil) }
            await creator.shutDown()
            next.end()
        }
    }
}
