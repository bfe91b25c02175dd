import Crypto
import Foundation
import Gzip
import LogArchiveTestKit
import Logging
import TelemetryBasics
import Testing
import WireModel

@testable import LogArchive
@testable import ObjectStorage
@testable import RecordStore
@testable import Registry

/// Log archives over one bucket and one registry, as several collectors have them.
@Suite struct BucketArchiveTests {
    private let directory: CollectorDirectory
    private let device = LogSender()
    private let clock = StandingClock()

    init() throws { directory = try CollectorDirectory() }

    private func archive(
        _ chunks: any ChunkStore, _ adjust: (inout LogArchive.Configuration) -> Void = { _ in }
    ) throws -> LogArchive {
        var configuration = LogArchive.Configuration()
        adjust(&configuration)
        let metadata = try MetadataService.open(
            directory: directory.path, clock: clock, logger: CollectorDirectory.logger, exclusive: false
        ).0
        return try LogArchive.open(
            metadata: metadata, chunks: chunks, configuration: configuration, logger: CollectorDirectory.logger)
    }

    /// The archives of two collectors.
    private func twoArchives(over bucket: TestBucket) throws -> (LogArchive, LogArchive) {
        (try archive(BucketChunkStore(bucket.storage)), try archive(BucketChunkStore(bucket.storage)))
    }

    private func close(_ archives: LogArchive...) async {
        for archive in archives {
            archive.shutDown()
            await archive.metadata.close()
        }
    }

    private func begin(_ chunks: [LogSender.Chunk], at archive: LogArchive) async throws -> UploadID {
        let upload = UploadID.random()
        _ = try await archive.metadata.beginUpload(try device.manifest(upload, chunks), from: device.row)
        return upload
    }

    private func store(_ chunk: LogSender.Chunk, _ number: Int, of upload: UploadID, at archive: LogArchive)
        async throws
    {
        _ = try await archive.store(chunk.gzip, chunk: number, of: upload, from: device.row.id)
    }

    @Test func `What was answered is read by every collector`() async throws {
        try await TestBucket.with { bucket in
            let (one, other) = try twoArchives(over: bucket)
            let chunks = try (1...3).map { try LogSender.Chunk(segment: $0, lines: 500) }
            let upload = try await begin(chunks, at: one)
            for (position, chunk) in chunks.enumerated() {
                try await store(chunk, position + 1, of: upload, at: position == 1 ? other : one)
            }
            // A repeat changes nothing.
            try await store(chunks[0], 1, of: upload, at: other)
            let text = chunks.reduce(Data()) { $0 + $1.text }
            #expect(try await one.wholeText() == text)
            #expect(try await other.wholeText() == text)
            #expect(try await bucket.keys().count == 3)
            let standing = try await other.metadata.standing(of: upload, from: device.row.id)
            #expect(standing.storedChunks == 3 && standing.missing.isEmpty)
            await close(one, other)
        }
    }

    @Test func `Two collectors with one chunk keep it once and whole`() async throws {
        try await TestBucket.with { bucket in
            let (one, other) = try twoArchives(over: bucket)
            let chunks = try (1...8).map { try LogSender.Chunk(segment: $0, lines: 200) }
            let upload = try await begin(chunks, at: one)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for (position, chunk) in chunks.enumerated() {
                    for archive in [one, other] {
                        group.addTask { try await store(chunk, position + 1, of: upload, at: archive) }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await one.wholeText() == chunks.reduce(Data()) { $0 + $1.text })
            #expect(try await bucket.keys().count == 8, "each loser has removed its own")
            let usage = try await one.metadata.logUsage(organization: nil)
            #expect(usage.map(\.chunks) == [8])
            await close(one, other)
        }
    }

    /// Both have put their objects, and record them at the same moment.
    @Test func `A chunk that two collectors record at once is counted once`() async throws {
        try await TestBucket.with { bucket in
            let (one, other) = try twoArchives(over: bucket)
            let chunks = try (1...100).map { try LogSender.Chunk(segment: $0, lines: 1) }
            let upload = try await begin(chunks, at: one)
            for (position, chunk) in chunks.enumerated() {
                let kept = try await withThrowingTaskGroup(of: Bool.self) { group in
                    for archive in [one, other] {
                        group.addTask { try await record(chunk, position + 1, of: upload, at: archive) }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                #expect(kept.count(where: { $0 }) == 1)
            }
            let usage = try await one.metadata.logUsage(organization: nil)
            #expect(usage.map(\.chunks) == [100])
            await close(one, other)
        }
    }

    /// - Returns: whether the object of this archive is the one that is kept.
    private func record(
        _ chunk: LogSender.Chunk, _ number: Int, of upload: UploadID, at archive: LogArchive
    ) async throws -> Bool {
        guard case .accept(let expected) = try await archive.metadata.admit(number, of: upload, from: device.row.id)
        else { return false }
        let scan = try ChunkScan(chunk.gzip, rawBytes: expected.rawBytes, rawDigest: expected.rawDigest)
        return try await archive.metadata.recordStored(
            number, of: upload, from: device.row.id, scan: scan,
            path: expected.path(attempt: .random(in: .min ... .max)), storedBytes: chunk.gzip.count, before: nil
        ).isKept
    }

    /// The second collector stores and registers before the first one's object arrives. Both have the same text in
    /// other gzip members, so the index of one does not describe the bytes of the other.
    @Test func `The loser of a race removes only its own object`() async throws {
        try await TestBucket.with { bucket in
            let chunk = try LogSender.Chunk(segment: 1, lines: 5000)
            let other = try LogSender.Chunk(segment: 1, lines: 5000, linesPerMember: 7)
            #expect(chunk.text == other.text && chunk.gzip != other.gzip)
            let store = BucketChunkStore(bucket.storage)
            let loser = try archive(
                InterruptedChunkStore(base: store) { [self] in
                    let winner = try archive(store)
                    for upload in try await winner.metadata.uploads(of: device.row.id, command: nil, limit: 1) {
                        _ = try await winner.store(chunk.gzip, chunk: 1, of: upload.upload, from: device.row.id)
                    }
                    await close(winner)
                })
            let upload = try await begin([chunk], at: loser)
            let standing = try await loser.store(other.gzip, chunk: 1, of: upload, from: device.row.id)
            #expect(standing.storedChunks == 1)
            #expect(try await bucket.keys().count == 1)
            #expect(try await loser.wholeText() == chunk.text)
            await close(loser)
        }
    }

    // MARK: Leftovers

    @Test func `Only old objects that nobody registered are removed`() async throws {
        try await TestBucket.with { bucket in
            let archive = try archive(BucketChunkStore(bucket.storage))
            let chunks = try (1...2).map { try LogSender.Chunk(segment: $0, lines: 100) }
            let upload = try await begin(chunks, at: archive)
            try await store(chunks[0], 1, of: upload, at: archive)
            let kept = try #require(try await bucket.keys().first)
            let path = { (upload: UploadID, number: Int, attempt: UInt64?) in
                ChunkPath(
                    organization: "default", application: device.row.application, device: device.row.id, upload: upload,
                    number: number, attempt: attempt
                ).text
            }
            // Another attempt at the chunk that is stored; attempts at one that is still to come, and a chunk as a
            // directory names it; a chunk of another registry; something else.
            let leftovers = [path(upload, 1, 1), path(upload, 2, 2), path(upload, 2, 3)]
            let others = [path(upload, 2, nil), path(.random(), 1, 4), "note"]
            for key in leftovers + others { try await bucket.storage.put(key, chunks[1].gzip) }
            #expect(
                try await archive.cleanUp(logger: CollectorDirectory.logger).removed == 0,
                "another collector may be about to register them")
            #expect(Set(try await bucket.keys()) == Set([kept] + leftovers + others))
            let found = try await archive.cleanUp(leastAge: .seconds(-60), logger: CollectorDirectory.logger)
            #expect(
                found.removed == 3 && found.failed == 0 && found.unknown == [others[1]] && found.strangers == ["note"])
            #expect(Set(try await bucket.keys()) == Set([kept] + others))
            try await store(chunks[1], 2, of: upload, at: archive)
            #expect(try await archive.wholeText() == chunks[0].text + chunks[1].text)
            await close(archive)
        }
    }

    /// The registry is asked again after the list.
    @Test func `A chunk that is registered during the clean-up stays`() async throws {
        try await TestBucket.with { bucket in
            let chunk = try LogSender.Chunk(segment: 1, lines: 100)
            let store = BucketChunkStore(bucket.storage)
            let archive = try archive(store)
            let upload = try await begin([chunk], at: archive)
            let device = device
            let cleaner = try self.archive(
                InterruptedChunkStore(base: store) {
                    _ = try await archive.store(chunk.gzip, chunk: 1, of: upload, from: device.row.id)
                })
            #expect(try await cleaner.cleanUp(leastAge: .seconds(-60), logger: CollectorDirectory.logger).removed == 0)
            #expect(try await archive.wholeText() == chunk.text)
            await close(archive, cleaner)
        }
    }

    @Test func `What cannot be deleted now is removed later`() async throws {
        let server = try await MotoServer.shared()
        try await TestBucket.with { bucket in
            let archive = try archive(BucketChunkStore(bucket.storage))
            let chunk = try LogSender.Chunk(segment: 1, lines: 100)
            let upload = try await begin([chunk], at: archive)
            try await store(chunk, 1, of: upload, at: archive)
            var wrong = try TestBucket.configuration(of: server, bucket.name, prefix: "logs")
            wrong.credentials = .given(try ObjectStorageCredentials(accessKeyID: "AKIA", secretAccessKey: "wrong"))
            let refused = try ObjectStorage(wrong)
            let powerless = try self.archive(BucketChunkStore(refused))
            let plan = try await powerless.metadata.deletion(LogQuery())
            #expect(try await powerless.delete(LogQuery(), confirmation: plan.confirmation, by: .commandLine) == plan)
            #expect(try await bucket.keys().count == 1)
            #expect(try await archive.wholeText().isEmpty)
            #expect(try await archive.cleanUp(leastAge: .seconds(-60), logger: CollectorDirectory.logger).removed == 1)
            #expect(try await bucket.keys().isEmpty)
            await close(archive, powerless)
            await refused.shutDown()
        }
    }

    // MARK: As with a directory

    @Test func `What is deleted is gone and not accepted again`() async throws {
        try await TestBucket.with { bucket in
            let archive = try archive(BucketChunkStore(bucket.storage))
            let chunks = try (1...2).map { try LogSender.Chunk(segment: $0, lines: 100) }
            let upload = try await begin(chunks, at: archive)
            for (position, chunk) in chunks.enumerated() {
                try await store(chunk, position + 1, of: upload, at: archive)
            }
            let newest = try #require(try await archive.metadata.chunks(LogQuery(), below: nil, limit: 1).rows.first)
            let query = LogQuery(chunks: [newest.id])
            let plan = try await archive.metadata.deletion(query)
            #expect(try await archive.delete(query, confirmation: plan.confirmation, by: .commandLine)?.chunks == 1)
            #expect(try await archive.wholeText() == chunks[0].text)
            #expect(try await bucket.keys().count == 1)
            try await store(chunks[1], 2, of: upload, at: archive)
            #expect(try await bucket.keys().count == 1)
            await close(archive)
        }
    }

    @Test func `A quota refuses and leaves no object`() async throws {
        try await TestBucket.with { bucket in
            let chunks = try (1...2).map { try LogSender.Chunk(segment: $0, lines: 100) }
            let archive = try archive(BucketChunkStore(bucket.storage)) {
                $0.quotas.applicationBytes = chunks[0].text.count
            }
            let upload = try await begin(chunks, at: archive)
            try await store(chunks[0], 1, of: upload, at: archive)
            let refusal = await #expect(throws: UploadError.self) {
                try await store(chunks[1], 2, of: upload, at: archive)
            }
            guard case .quotaExceeded = refusal else {
                Issue.record("\(String(describing: refusal))")
                return
            }
            #expect(try await bucket.keys().count == 1)
            await close(archive)
        }
    }

    @Test func `A damaged chunk leaves no object`() async throws {
        try await TestBucket.with { bucket in
            let archive = try archive(BucketChunkStore(bucket.storage))
            let chunk = try LogSender.Chunk(segment: 1, lines: 100)
            let upload = try await begin([chunk], at: archive)
            await #expect(throws: UploadError.self) {
                _ = try await archive.store(chunk.gzip.dropLast(), chunk: 1, of: upload, from: device.row.id)
            }
            #expect(try await bucket.keys().isEmpty)
            try await store(chunk, 1, of: upload, at: archive)
            #expect(try await archive.wholeText() == chunk.text)
            await close(archive)
        }
    }

    @Test func `An object that was altered breaks the answer off`() async throws {
        try await TestBucket.with { bucket in
            let archive = try archive(BucketChunkStore(bucket.storage))
            let chunk = try LogSender.Chunk(segment: 1, lines: 100)
            let upload = try await begin([chunk], at: archive)
            try await store(chunk, 1, of: upload, at: archive)
            let key = try #require(try await bucket.keys().first)
            var bytes = chunk.gzip
            bytes[bytes.count / 2] ^= 0x10
            try await bucket.storage.put(key, bytes)
            let error = await #expect(throws: StoreError.self) { _ = try await archive.wholeText() }
            #expect(error?.code == .corrupt)
            await close(archive)
        }
    }

    @Test func `A bucket that is away stops logs and nothing else`() async throws {
        let server = try await MotoServer.start()
        try await TestBucket.with(server: server, adjust: { $0.totalTimeout = .seconds(5) }) { bucket in
            let chunks = BucketChunkStore(bucket.storage, pause: .zero)
            let chunk = try LogSender.Chunk(segment: 1, lines: 100)
            server.end()
            // The archive opens, and everything but bytes works.
            let archive = try archive(chunks)
            let upload = try await begin([chunk], at: archive)
            let error = await #expect(throws: UploadError.self) { try await store(chunk, 1, of: upload, at: archive) }
            guard case .store(let failure) = error else {
                Issue.record("\(String(describing: error))")
                return
            }
            #expect(failure.code == .unavailable && !failure.publicMessage.contains("127.0.0.1"))
            #expect(await archive.metadata.readiness() == .ready)
            #expect(try await archive.metadata.standing(of: upload, from: device.row.id).missing == [1])
            let next = try await MotoServer.start(after: server)
            try await bucket.storage.createBucket()
            try await store(chunk, 1, of: upload, at: archive)
            #expect(try await archive.wholeText() == chunk.text)
            next.end()
            await close(archive)
        }
    }
}

/// Does something before the first call that stores or lists.
private struct InterruptedChunkStore: ChunkStore {
    let base: BucketChunkStore
    let interruption: @Sendable () async throws -> Void
    private let once = Once()

    init(base: BucketChunkStore, _ interruption: @escaping @Sendable () async throws -> Void) {
        (self.base, self.interruption) = (base, interruption)
    }

    private func interrupt() {
        guard once.isFirst() else { return }
        let done = DispatchSemaphore(value: 0)
        let interruption = interruption
        Task {
            do { try await interruption() } catch { Issue.record(error) }
            done.signal()
        }
        done.wait()
    }

    var isShared: Bool { true }
    var freeBytes: UInt64? { nil }
    func put(_ bytes: Data, at path: ChunkPath) throws(StoreError) {
        interrupt()
        try base.put(bytes, at: path)
    }
    func read(_ path: String, _ range: Range<Int>) throws(StoreError) -> Data? { try base.read(path, range) }
    func digest(_ path: String) throws(StoreError) -> FileDigest? { try base.digest(path) }
    func delete(_ path: String) -> Bool { base.delete(path) }
    func list(_ body: (ChunkStoreEntry) throws(StoreError) -> Void) throws(StoreError) {
        interrupt()
        try base.list(body)
    }
}
