import Foundation
import HTTPTypes
import HummingbirdTesting
import LogArchive
import RecordStore
import Synchronization
import Testing
import WireModel

/// The store of chunks is away: logs wait, and nothing else does.
@Suite struct AwayChunkStoreTests {
    /// A shared store that can be away.
    private struct SwitchedChunkStore: ChunkStore {
        let base: DirectoryChunkStore
        let isAway: Switch

        final class Switch: Sendable {
            private let value = Mutex(false)
            var isOn: Bool { value.withLock { $0 } }
            func set(_ isOn: Bool) { value.withLock { $0 = isOn } }
        }

        private func check() throws(StoreError) {
            if isAway.isOn { throw StoreError(.unavailable, "10.1.2.3:9000 does not answer.") }
        }

        var isShared: Bool { true }
        var freeBytes: UInt64? { nil }
        func put(_ bytes: Data, at path: ChunkPath) throws(StoreError) {
            try check()
            try base.put(bytes, at: path)
        }
        func read(_ path: String, _ range: Range<Int>) throws(StoreError) -> Data? {
            try check()
            return try base.read(path, range)
        }
        func digest(_ path: String) throws(StoreError) -> FileDigest? {
            try check()
            return try base.digest(path)
        }
        func delete(_ path: String) -> Bool { !isAway.isOn && base.delete(path) }
        func list(_ body: (ChunkStoreEntry) throws(StoreError) -> Void) throws(StoreError) {
            try check()
            try base.list(body)
        }
    }

    @Test func `Logs are refused for now, and everything else goes on`() async throws {
        let isAway = SwitchedChunkStore.Switch()
        let directory = TestMetadata { SwitchedChunkStore(base: $0, isAway: isAway) }
        let harness = Harness(clock: { Harness.now }, in: directory) { _ in }
        let device = try await harness.enrolledDevice()
        var book = LogBook()
        for segment in 1...2 { try book.add(segment: UInt64(segment), positions: 1...10, from: Harness.now) }
        let upload = UploadID.random()
        let (chunks, manifest) = (book.chunks, book.manifest(upload))
        try await harness.route { client in
            let path = "\(WireNames.uploadsPath)/\(upload)"
            func send(_ number: Int) async throws -> HTTPResponse.Status {
                let response = try await client.send(
                    .put, "\(path)/chunks/\(number)", bearer: device.credential,
                    headers: [.contentType: WireNames.gzip], body: chunks[number - 1].gzip)
                if response.status != .ok {
                    let problem = try response.problem
                    #expect(problem.code == "store-unavailable" && problem.retryable)
                    #expect(response.headers[.retryAfter] != nil && problem.detail?.contains("10.1.2.3") == false)
                }
                return response.status
            }
            let begun = try await client.send(
                .put, path, bearer: device.credential, headers: [.contentType: WireNames.protobuf],
                body: manifest.encoded)
            #expect(begun.status == .ok)
            #expect(try await send(1) == .ok)
            isAway.set(true)
            #expect(try await send(2) == .serviceUnavailable)
            let read = ["/api/v1/logs/content", "/api/v1/logs/lines"]
            for path in read {
                let response = try await client.send(.get, path, bearer: "viewer-default")
                #expect(response.status == .serviceUnavailable, "\(path)")
            }
            for path in ["/readyz", "/api/v1/logs", "/api/v1/devices"] {
                #expect(try await client.send(.get, path, bearer: "viewer-default").status == .ok, "\(path)")
            }
            var events = ChainBuilder(stream: .event)
            let batch = [events.events(["a"])].request
            #expect(try await client.post(WireNames.batchesPath, bearer: device.credential, batch).status == .ok)
            isAway.set(false)
            #expect(try await send(2) == .ok)
            for path in read {
                #expect(try await client.send(.get, path, bearer: "viewer-default").status == .ok, "\(path)")
            }
        }
    }
}
