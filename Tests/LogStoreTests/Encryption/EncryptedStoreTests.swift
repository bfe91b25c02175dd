import Encryption
import Foundation
import Gzip
import Logging
import Synchronization
import TestKit
import Testing
import WireModel

@testable import LogStore

/// A whole store with keys: what is on the disk, what is read, and what waits for a key.
@Suite(.timeLimit(.minutes(5))) struct EncryptedStoreTests {
    private let store: EncryptedStore
    private static let secret = "the planted secret"

    init() throws { store = try EncryptedStore() }

    private func messages(_ text: String) -> [String] {
        text.split(separator: "\n").filter { $0.contains(" planted ") }.map {
            String($0.suffix(from: $0.range(of: "line ")!.lowerBound))
        }
    }

    private func log(_ lines: Range<Int>, into log: LogStore) {
        for line in lines { log.log(line % 5 == 0 ? .error : .information, "\(Self.secret), line \(line)") }
    }

    private func expected(_ lines: Range<Int>) -> [String] { lines.map { "line \($0)" } }

    @Test func `Lines are read back from frames and from sealed segments, and none is on the disk in plain`()
        async throws
    {
        let log = try LogStore(store.configuration(store.ring()))
        self.log(0..<200, into: log)
        log.flush()
        #expect(messages(try EncryptedStore.text(store.directory())) == expected(0..<200))
        #expect(try store.files(with: Self.secret) == [])
        await log.close()

        #expect(try store.withoutKeys.segments().values.allSatisfy { $0 == [.sealed, .index] })
        #expect(messages(try EncryptedStore.text(store.directory())) == expected(0..<200))
        let unpacked = try GzipCodec.decompress([UInt8](try EncryptedStore.gzip(store.directory())))
        #expect(messages(String(decoding: unpacked, as: UTF8.self)) == expected(0..<200))
        #expect(try store.files(with: Self.secret) == [])
        let verifier = try StoreVerifier(store.directory())
        #expect(verifier.findings.filter(\.isDamage) == [])
        #expect(verifier.locked == nil)
    }

    /// A digest of the text would confirm a guess of a short log. A program from before encryption refuses the state.
    @Test func `The index of an encrypted segment has no digest, and an older program leaves the store alone`()
        async throws
    {
        let log = try LogStore(store.configuration(store.ring()))
        self.log(0..<3, into: log)
        await log.close()
        let name = try #require(try store.withoutKeys.segments().keys.first)
        let index = String(decoding: try store.bytes(name.file(.index)), as: UTF8.self)
        #expect(index.hasPrefix("ws1log-index 2\n"))
        #expect(!index.contains("sha256"))
        #expect(String(decoding: try store.bytes("state"), as: UTF8.self).hasPrefix("ws1log-state 2\n"))
    }

    @Test func `Without the key lines are locked, and never damaged`() async throws {
        let log = try LogStore(store.configuration(store.ring()))
        self.log(0..<50, into: log)
        log.flush()
        #expect { try EncryptedStore.text(store.withoutKeys) } throws: { ($0 as? LogStoreError)?.code == .locked }
        await log.close()
        let other = try EncryptedStore()
        _ = try other.ring().sealingKey(for: .logs)
        for keys in [nil, LogKeys(other.ring())] {
            let directory = StoreDirectory(path: store.path, keys: keys)
            #expect { try EncryptedStore.text(directory) } throws: { ($0 as? LogStoreError)?.code == .locked }
            let verifier = try StoreVerifier(directory)
            #expect(verifier.isWhole)
            #expect(verifier.locked?.code == .locked)
            // Times and counts are no secret: the store's limits need them.
            #expect(try StoreSnapshot(directory, kinds: [.application]).segments.first?.index.whole.lines == 50)
        }
    }

    // MARK: - A key that is not at hand

    /// A device key that the program gives when it is told to.
    private final class LateKey: Sendable {
        let isGiven = Atomic(false)
        func ring(_ directory: String) -> KeyRing {
            KeyRing(
                directory: directory,
                provider: HostKeyProvider { [self] in
                    isGiven.load(ordering: .acquiring) ? Data(repeating: 7, count: 32) : nil
                }, now: { 1_000_000 }, logger: Logger(label: "test"))
        }
    }

    @Test func `Lines wait for the key in memory, and a call at level error does not`() async throws {
        let keys = try TemporaryDirectory()
        let late = LateKey()
        let log = try LogStore(store.configuration(late.ring(keys.path)))
        self.log(0..<100, into: log)
        log.flush()
        #expect(log.status.waiting.total == 100)
        #expect(log.status.failure?.code == .locked)
        #expect(try store.withoutKeys.segments().isEmpty)
        let delivery = log.deliver([LogEntry(.warning, "of another program")])
        #expect(delivery.lost == 1 && delivery.isTransient)

        late.isGiven.store(true, ordering: .releasing)
        log.keysAvailable()
        log.flush()
        #expect(log.status.waiting.total == 0)
        #expect(log.status.failure == nil)
        let reading = StoreDirectory(path: store.path, keys: LogKeys(late.ring(keys.path)))
        #expect(messages(try EncryptedStore.text(reading)) == expected(0..<100))
        await log.close()
    }

    @Test func `What does not fit into memory while the key is missing is counted`() async throws {
        let keys = try TemporaryDirectory()
        let log = try LogStore(store.configuration(LateKey().ring(keys.path)))
        let long = String(repeating: "x", count: 60_000)
        for _ in 0..<400 { log.information(long) }
        log.flush()
        let status = log.status
        #expect(status.waiting.total > 0)
        #expect(status.waitingBytes <= 9 << 20)
        let overload = status.dropped[.overload]?.total ?? 0
        #expect(status.waiting.total + overload == 400)
        await log.close()
        // Nobody came with the key: those that waited are lost, and counted too.
        let dropped = try store.withoutKeys.readState()?.dropped ?? [:]
        #expect(dropped.values.reduce(0) { $0 + $1.total } == 400)
    }

    // MARK: - Visitors, crashes, keys

    @Test func `A visitor goes on in an encrypted text with a run of its own`() throws {
        for round in 0..<3 {
            let visitor = try LogVisitor(store.configuration(store.ring()))
            let delivery = visitor.deliver([LogEntry(.information, "\(Self.secret), line \(round)")])
            #expect(delivery.written == 1)
        }
        // One without keys does not go on there.
        let plain = try LogVisitor(store.configuration(nil))
        #expect(plain.deliver([LogEntry(.information, "in plain")]).written == 1)
        let segments = try store.withoutKeys.segments()
        #expect(segments.count == 2)
        #expect(messages(try EncryptedStore.text(store.directory())) == expected(0..<3))
    }

    @Test func `A crash log is encrypted, and has the last lines of the session`() throws {
        let directory = store.directory()
        let name = SegmentName(ordinal: 4, kind: .application)
        var text: [UInt8] = []
        for position in 1...3 {
            text += Array(
                "2026-11-21T23:51:28.12345\(position)Z I \(4_000_000 + position) app \(Self.secret), line \(position)\n"
                    .utf8)
        }
        _ = try store.writeFrames([text], of: name)
        let record = SessionRecord(application: "kiosk", version: "1", process: 42, bootID: "b", started: 5)
        try store.write(
            Array((record.text + SessionRecord.segmentLine(4)).utf8), SessionMarker.name(9))
        #expect(try CrashReporter(directory: directory, bootID: "b", scrubber: nil).reportAll() == 1)
        let crash = try EncryptedStore.text(store.directory(), kinds: [.crash])
        #expect(messages(crash) == expected(1..<4))
        #expect(try store.files(with: Self.secret) == [])
        #expect(try store.files(with: "kiosk") == [])
    }

    @Test func `A crash log waits for the key`() throws {
        let keys = try TemporaryDirectory()
        let late = LateKey()
        let record = SessionRecord(application: "kiosk", version: "1", process: 42, bootID: "b", started: 5)
        try store.write(Array(record.text.utf8), SessionMarker.name(9))
        let directory = StoreDirectory(path: store.path, keys: LogKeys(late.ring(keys.path)))
        let reporter = CrashReporter(directory: directory, bootID: "b", scrubber: nil)
        #expect { try reporter.reportAll() } throws: { ($0 as? LogStoreError)?.code == .locked }
        #expect(directory.has(SegmentName(ordinal: 9, kind: .crash), .text) == false)
        late.isGiven.store(true, ordering: .releasing)
        #expect(try reporter.reportAll() == 1)
    }

    @Test func `A key goes when no segment names it any more`() async throws {
        let now = Atomic<Int64>(1_000_000)
        let clock: @Sendable () -> Int64 = { now.load(ordering: .relaxed) }
        let log = try LogStore(store.configuration(store.ring(now: clock)))
        self.log(0..<5, into: log)
        await log.close()
        now.store(1_000_000 + 100 * 86_400, ordering: .relaxed)
        let ring = store.ring(now: clock)
        let former = try #require(ring.status.keys.first { $0.purpose == "logs" }).id
        let next = try LogStore(store.configuration(ring))
        self.log(5..<10, into: next)
        await next.close()
        let keys = LogKeys(store.ring(now: clock))
        let directory = StoreDirectory(path: store.path, keys: keys)
        #expect(try directory.keyIDs().count == 2)
        keys.retire(allBut: try directory.keyIDs())
        #expect(store.ring().status.keys.count { $0.purpose == "logs" } == 2)

        let oldest = try #require(try directory.segments().keys.min())
        for part in [SegmentName.Part.sealed, .index] { try directory.remove(oldest.file(part)) }
        keys.retire(allBut: try directory.keyIDs())
        #expect(store.ring().status.keys.filter { $0.purpose == "logs" }.map(\.id).contains(former) == false)
        #expect(messages(try EncryptedStore.text(store.directory())) == expected(5..<10))
    }
}
