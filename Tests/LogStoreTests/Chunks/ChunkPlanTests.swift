import DeviceTestKit
import FoundationEssentials
import Glibc
import Gzip
import LogStore
import TelemetryBasics
import Testing
import WireModel

@Suite struct ChunkPlanTests {
    private let store: TemporaryStore
    private let sealed = SegmentName(ordinal: 1, kind: .application)
    private let active = SegmentName(ordinal: 2, kind: .application)
    private let text: [UInt8]
    private let activeText: [UInt8]

    init() throws {
        store = try TemporaryStore()
        var log = SampleLog(seed: 4)
        text = log.segment(1, bytes: 200_000)
        activeText = log.segment(2, bytes: 100_000)
        try store.seal(sealed, text)
        try store.write(activeText, active.file(.text))
    }

    private func plan(_ filter: LogFilter = LogFilter(), maximumBytes: Int = LogLimits.chunkBytes) throws -> ChunkPlan {
        var problems: [ChunkPlan.Problem] = []
        return try ChunkPlan(
            try StoreSnapshot(store.directory, kinds: [.application]), filter: filter, maximumBytes: maximumBytes,
            problems: &problems)
    }

    private func bytes(_ plan: ChunkPlan, _ form: ChunkReader.Form) throws -> [Data] {
        let reader = try ChunkReader(plan, in: store.directory)
        return try plan.chunks.map { chunk in
            var sink = MemoryChunkSink()
            _ = try reader.write(chunk, as: form, to: &sink)
            return sink.data
        }
    }

    /// What an upload that goes on after a restart needs: the same bytes, though the active segment grew and was sealed
    /// meanwhile.
    @Test(arguments: [LogFilter(), LogFilter(level: .warning)], [ChunkReader.Form.plain, .gzip])
    func `A plan gives the same bytes after its segments were sealed`(_ filter: LogFilter, _ form: ChunkReader.Form)
        throws
    {
        let plan = try plan(filter, maximumBytes: 150_000)
        let before = try bytes(plan, form)
        var log = SampleLog(seed: 5)
        let next = log.line().text(LogNumber(segment: 2, position: 9_999))
        try store.seal(active, activeText + next)
        #expect(try bytes(plan, form) == before)
    }

    /// What a device sends for a chunk of its manifest.
    @Test(arguments: [LogFilter(), LogFilter(level: .warning)], [150_000, LogLimits.chunkBytes])
    func `A chunk is sent if its text has the digest of the manifest`(_ filter: LogFilter, _ maximum: Int) throws {
        let plan = try plan(filter, maximumBytes: maximum)
        let (texts, bodies) = (try bytes(plan, .plain), try bytes(plan, .gzip))
        let reader = try ChunkReader(plan, in: store.directory)
        for (position, chunk) in plan.chunks.enumerated() {
            #expect(try reader.gzip(chunk, ifTextHas: Digest.of(texts[position])) == bodies[position])
            #expect(try reader.gzip(chunk, ifTextHas: Digest.of(bodies[position])) == nil)
        }
    }

    @Test(arguments: [LogFilter(), LogFilter(level: .warning)])
    func `A chunk that is sent is read once`(_ filter: LogFilter) throws {
        let plan = try plan(filter)
        let chunk = try #require(plan.chunks.first)
        #expect(plan.chunks.count == 1 && chunk.rawDigest == nil, "the chunk spans both segments")
        let digest = Digest.of(try bytes(plan, .plain)[0])
        let reader = try ChunkReader(plan, in: store.directory)
        let before = try bytesRead()
        _ = try #require(try reader.gzip(chunk, ifTextHas: digest))
        let read = try bytesRead() - before
        let stored = try store.read(sealed.file(.sealed)).count + store.read(sealed.file(.index)).count
        // The measurement itself reads a little.
        #expect(read < stored + activeText.count + 20_000, "\(read) of \(stored) and \(activeText.count) bytes")
    }

    /// The bytes that this thread has read.
    private func bytesRead() throws -> Int {
        let bytes = try #require(try Files<FileError>.read("/proc/thread-self/io", maximumBytes: 4096))
        let line = try #require(
            String(decoding: bytes, as: UTF8.self).split(separator: "\n").first { $0.hasPrefix("rchar: ") })
        return try #require(Int(line.dropFirst(7)))
    }

    @Test func `Lines written after the plan are not part of it`() throws {
        let plan = try plan()
        try store.write(activeText + Array("2026-11-21T23:51:28.123456Z I 2009999 - later\n".utf8), active.file(.text))
        #expect(try bytes(plan, .plain).reduce(Data(), +) == Data(text + activeText))
    }

    @Test func `A removed segment is reported as gone`() throws {
        let plan = try plan(maximumBytes: 220_000)
        #expect(plan.chunks.count == 2)
        for file in [sealed.file(.index), sealed.file(.sealed)] { try store.directory.remove(file) }
        let reader = try ChunkReader(plan, in: store.directory)
        var sink = MemoryChunkSink()
        #expect { try reader.write(plan.chunks[0], as: .gzip, to: &sink) } throws: {
            ($0 as? LogStoreError)?.code == .notFound
        }
        _ = try reader.write(plan.chunks[1], as: .gzip, to: &sink)
    }

    @Test func `Lines that changed on disk are damaged`() throws {
        let plan = try plan(maximumBytes: 220_000)
        var stored = try store.read(sealed.file(.sealed))
        stored[stored.count / 2] ^= 0x10
        try store.write(stored, sealed.file(.sealed))
        let reader = try ChunkReader(plan, in: store.directory)
        var sink = MemoryChunkSink()
        #expect { try reader.write(plan.chunks[0], as: .plain, to: &sink) } throws: {
            ($0 as? LogStoreError)?.code == .damaged
        }
    }

    @Test func `A damaged block is not sent`() throws {
        let plan = try plan()
        let digest = Digest.of(try bytes(plan, .plain)[0])
        var stored = try store.read(sealed.file(.sealed))
        stored[stored.count / 2] ^= 0x10
        try store.write(stored, sealed.file(.sealed))
        let reader = try ChunkReader(plan, in: store.directory)
        #expect { try reader.gzip(plan.chunks[0], ifTextHas: digest) } throws: {
            ($0 as? LogStoreError)?.code == .damaged
        }
    }

    /// A lost index costs nothing: the lines show it.
    @Test(arguments: [true, false])
    func `A lost or damaged index is made anew in memory`(_ isLost: Bool) throws {
        if isLost {
            try store.directory.remove(sealed.file(.index))
        } else {
            try store.write(Array("ws1log-index 1\n".utf8), sealed.file(.index))
        }
        #expect(try bytes(try plan(), .plain).reduce(Data(), +) == Data(text + activeText))
    }

    @Test func `The types of logs are not mixed in a chunk`() throws {
        var log = SampleLog(seed: 6)
        try store.seal(SegmentName(ordinal: 3, kind: .crash), log.segment(3, bytes: 1_000))
        try store.seal(SegmentName(ordinal: 4, kind: .ring), log.segment(4, bytes: 1_000))
        var problems: [ChunkPlan.Problem] = []
        let snapshot = try StoreSnapshot(store.directory, kinds: Set(SegmentName.Kind.allCases))
        #expect(
            try ChunkPlan(snapshot, problems: &problems).chunks.map(\.type) == [.application, .crash, .application])
    }

    @Test func `Chunks are read in order and named`() async throws {
        let chunks = LogChunks(
            try plan(maximumBytes: 220_000), in: store.directory,
            name: ChunkName(application: "Kiosk App", device: "../dev/7"), form: .gzip
        )
        var names: [String] = []
        var data = Data()
        for try await chunk in chunks {
            names.append(chunk.suggestedFileName)
            data += try GzipCodec.decompress(chunk.data)
            #expect(chunk.digest == Digest.of(chunk.data))
        }
        #expect(data == Data(text + activeText))
        #expect(names.count == chunks.count && names == names.sorted())
        #expect(names.first == "Kiosk_App-_._dev_7-application-20261121T000000Z-1of2.log.gz")
    }

    /// A file is copied inside the kernel; what arrives is the same.
    @Test func `Chunks written to files are the same`() throws {
        let plan = try plan(maximumBytes: 220_000)
        let expected = try bytes(plan, .gzip)
        let reader = try ChunkReader(plan, in: store.directory)
        for (position, chunk) in plan.chunks.enumerated() {
            let file = try OpenFile<LogStoreError>(replacing: store.directory.path("chunk\(position)"))
            var sink = FileChunkSink(descriptor: file.descriptor, path: file.path)
            #expect(try reader.write(chunk, as: .gzip, to: &sink).digest == Digest.of(expected[position]))
            #expect(Data(try store.read("chunk\(position)")) == expected[position])
        }
    }

    @Test(arguments: [
        (1, 9, "a-b-crash-19700101T000000Z-1of9.log"), (7, 12, "a-b-crash-19700101T000000Z-07of12.log"),
    ])
    func `Numbers are padded so that names sort`(_ number: Int, _ count: Int, _ name: String) {
        #expect(
            ChunkName(application: "a", device: "b").file(
                number, of: count, type: .crash, earliest: 0, isCompressed: false) == name)
    }

    @Test(arguments: [
        "", ".hidden", "-rf", "a/b", "a\u{0}b", "Gerät", String(repeating: "x", count: 300), "con:", "a b",
    ])
    func `Chunk names are safe`(_ given: String) {
        let name = ChunkName(application: given, device: given).file(
            1, of: 1, type: .crash, earliest: 0, isCompressed: true)
        #expect(name.utf8.count <= 255)
        #expect(!name.hasPrefix(".") && !name.hasPrefix("-"))
        #expect(name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "._-".contains($0)) })
    }
}
