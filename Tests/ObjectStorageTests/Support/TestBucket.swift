import Foundation
import LogArchiveTestKit
import NIOPosix
import TelemetryBasics
import WireModel

@testable import ObjectStorage

/// A bucket of one test at a real server, and its client, which is shut down in the end.
struct TestBucket: Sendable {
    let server: MotoServer
    let name: String
    let storage: ObjectStorage

    /// - Parameters:
    ///   - server: `nil` for the one of all tests.
    ///   - now: the client's clock.
    static func with(
        server: MotoServer? = nil, prefix: String = "logs",
        now: @escaping @Sendable () -> Int64 = SystemClock.wallMicroseconds,
        adjust: (inout ObjectStorageConfiguration) -> Void = { _ in }, _ body: (TestBucket) async throws -> Void
    ) async throws {
        let server = if let server { server } else { try await MotoServer.shared() }
        let name = "bucket-\(UUID().uuidString.lowercased())"
        var configuration = try configuration(of: server, name, prefix: prefix)
        adjust(&configuration)
        let storage = try ObjectStorage(
            configuration, on: MultiThreadedEventLoopGroup.singleton, environment: [:], now: now)
        do {
            let creator = try ObjectStorage(try self.configuration(of: server, name))
            do { try await creator.createBucket() } catch {
                await creator.shutDown()
                throw error
            }
            await creator.shutDown()
            try await body(TestBucket(server: server, name: name, storage: storage))
        } catch {
            await storage.shutDown()
            throw error
        }
        await storage.shutDown()
    }

    static func configuration(
        of server: MotoServer, _ bucket: String, prefix: String = ""
    ) throws -> ObjectStorageConfiguration {
        var configuration = try ObjectStorageConfiguration(
            endpoint: server.endpoint, region: "us-east-1", bucket: bucket, prefix: prefix,
            credentials: .given(
                try ObjectStorageCredentials(
                    accessKeyID: server.accessKeyID, secretAccessKey: server.secretAccessKey)))
        configuration.firstPause = .milliseconds(10)
        return configuration
    }

    /// All keys below the client's prefix.
    func keys(page limit: Int = 1000) async throws -> [String] {
        var (keys, token): ([String], String?) = ([], nil)
        repeat {
            let page = try await storage.list(after: token, limit: limit)
            keys += page.entries.map(\.key)
            token = page.next
        } while token != nil
        return keys
    }
}

extension ObjectStorage {
    /// The whole object.
    func bytes(_ key: String) async throws -> Data? { try await get(key)?.bytes }

    func createBucket() async throws {
        _ = try await requests.send(.init(.put, key: nil, subject: "creating a bucket"))
    }
}

/// The code of the error that a call throws; `nil` if it throws none of this kind.
func code(_ body: () async throws -> Void) async -> ObjectStorageError.Code? {
    do { try await body() } catch { return (error as? ObjectStorageError)?.code }
    return nil
}
