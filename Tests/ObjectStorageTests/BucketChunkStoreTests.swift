import Foundation
import LogArchive
import LogArchiveTestKit
import RecordStore
import Synchronization
import TestKit
import Testing
import WireModel

@testable import ObjectStorage

@Suite struct BucketChunkStoreTests {
    private static let path = ChunkPath(
        organization: "default", application: "app", device: DeviceID(high: 1, low: 2), upload: .random(), number: 1,
        attempt: 7)

    @Test func `The bucket does what every chunk store must`() async throws {
        try await TestBucket.with { bucket in
            let storage = bucket.storage
            try await BlockingCall.run { try ChunkStoreConformance { BucketChunkStore(storage) }.run() }
        }
    }

    @Test func `What is not a chunk is a stranger`() async throws {
        try await TestBucket.with { bucket in
            let storage = bucket.storage
            let upload = UploadID.random()
            let strangers = [
                "note", "a/b/c/note", "a/b/c/d/\(upload)-0001.log.gz", "a/b/\(upload)-0001.log.gz",
                "a/b/c/\(upload)-0001.log.gz.\(upload).partial", "a/b/c/\(upload)-0001.12.log.gz",
            ]
            for stranger in strangers { try await storage.put(stranger, Data()) }
            try await storage.put("a/b/c/\(upload)-0001.log.gz", Data())
            let entries = try await BlockingCall.run {
                var entries: [ChunkStoreEntry] = []
                try BucketChunkStore(storage).list { entries.append($0) }
                return entries
            }
            #expect(entries.count == strangers.count + 1)
            for stranger in strangers { #expect(entries.contains(.stranger(path: stranger)), "\(stranger)") }
        }
    }

    @Test func `Small reads of one chunk make few requests`() throws {
        let object = Data((0..<1_000_000).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        let cache = BlockCache(maximumBytes: 4 << 20)
        var requests = 0
        for start in stride(from: 0, to: object.count, by: 9_973) {
            let range = start..<min(start + 9_973, object.count)
            let found = try cache.read("a", range) { (blocks) throws(StoreError) in
                requests += 1
                return object.subdata(in: blocks.clamped(to: 0..<object.count))
            }
            #expect(found == object.subdata(in: range))
        }
        #expect(requests == 4)
        #expect(cache.bytes == object.count)
        cache.remove("a")
        #expect(cache.bytes == 0)
    }

    @Test func `The cache keeps within its bound and what was used last`() throws {
        let block = BlockCache.blockBytes
        let cache = BlockCache(maximumBytes: 3 * block)
        var loads: [String] = []
        func read(_ path: String) throws {
            _ = try cache.read(path, 0..<10) { (blocks) throws(StoreError) in
                loads.append(path)
                return Data(repeating: 1, count: blocks.count)
            }
        }
        for path in ["a", "b", "c", "a", "d", "a", "b"] { try read(path) }
        #expect(loads == ["a", "b", "c", "d", "b"])
        #expect(cache.bytes == 3 * block)
        // A range over several blocks that does not fit is read all the same.
        let long = try cache.read("e", 5..<5 * block) { (blocks) throws(StoreError) in
            Data(repeating: 2, count: blocks.count)
        }
        #expect(long?.count == 5 * block - 5 && cache.bytes <= 3 * block)
        #expect(try cache.read("f", 0..<1) { (_) throws(StoreError) in nil } == nil)
        #expect(throws: StoreError.self) { try cache.read("g", 0..<9) { (_) throws(StoreError) in Data(count: 8) } }
    }

    // MARK: Away

    @Test func `While the storage is away, one call tries and the others fail at once`() throws {
        let time = Mutex<Int64>(0)
        let gate = AvailabilityGate(pause: .seconds(5)) { time.withLock { $0 } }
        func isOpen() -> Bool { (try? gate.enter()) != nil }
        let (first, second) = (try gate.enter(), try gate.enter())
        gate.leave(first, isAway: true)
        let refusal = #expect(throws: StoreError.self) { try gate.enter() }
        #expect(refusal?.code == .unavailable)
        gate.leave(second, isAway: true)
        time.withLock { $0 = 4_999_999_999 }
        #expect(!isOpen())
        time.withLock { $0 = 5_000_000_000 }
        let probe = try gate.enter()
        #expect(!isOpen(), "one tries")
        gate.leave(probe, isAway: true)
        #expect(!isOpen())
        time.withLock { $0 = 10_000_000_000 }
        gate.leave(try gate.enter(), isAway: false)
        #expect(isOpen() && isOpen())
    }

    @Test func `A storage that is away is unavailable and fails fast from then on`() async throws {
        let server = try await MotoServer.start()
        try await TestBucket.with(server: server, adjust: { $0.totalTimeout = .seconds(1) }) { bucket in
            let storage = bucket.storage
            server.end()
            await BlockingCall.run {
                let store = BucketChunkStore(storage, pause: .seconds(3600))
                func code(_ body: () throws -> Void) -> StoreError.Code? {
                    do { try body() } catch { return (error as? StoreError)?.code }
                    return nil
                }
                #expect(code { try store.put(Data("x".utf8), at: Self.path) } == .unavailable)
                let begun = ContinuousClock.now
                for _ in 0..<100 {
                    #expect(code { try store.put(Data("x".utf8), at: Self.path) } == .unavailable)
                    #expect(code { _ = try store.read(Self.path.text, 0..<1) } == .unavailable)
                    #expect(code { try store.list { _ in } } == .unavailable)
                    #expect(!store.delete(Self.path.text))
                }
                #expect(ContinuousClock.now - begun < .seconds(10))
            }
        }
    }

    @Test(
        arguments: [
            (.unavailable, .unavailable), (.refused, .unavailable), (.configuration, .unavailable),
            (.notFound, .unavailable),
            (.corrupt, .corrupt), (.shutDown, .shuttingDown),
        ] as [(ObjectStorageError.Code, StoreError.Code)])
    func `No error of the storage is the client's fault`(_ code: ObjectStorageError.Code, _ expected: StoreError.Code) {
        #expect(StoreError(ObjectStorageError(code, "text")).code == expected)
    }
}
