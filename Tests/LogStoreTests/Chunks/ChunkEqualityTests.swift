import DeviceTestKit
import FoundationEssentials
import Gzip
import LogStore
import Testing
import WireModel

/// Whatever the store and the filter: the chunks, one after the other, are the lines a naive reader gets.
@Suite struct ChunkEqualityTests {
    @Test(arguments: 1...24 as ClosedRange<UInt64>)
    func `Chunks are the lines of a naive reader`(_ seed: UInt64) throws {
        var random = try RandomStore(seed: seed)
        for _ in 0..<3 {
            let (filter, kinds) = (random.filter(), random.kinds())
            // Small chunks, so that every border is met; a line fits.
            let maximum = [70_000, 131_072, LogLimits.chunkBytes].randomElement(using: &random.generator)!
            try check(random.store, filter, kinds, maximumBytes: maximum)
        }
        try check(random.store, LogFilter(), Set(SegmentName.Kind.allCases), maximumBytes: LogLimits.chunkBytes)
    }

    /// Two exactly full segments and a small one: three chunks, each a segment as it is.
    @Test func `Full segments are chunks as they are`() throws {
        let store = try TemporaryStore()
        var log = SampleLog(seed: 1)
        for ordinal in 1...3 as ClosedRange<UInt64> {
            var text = log.segment(ordinal, bytes: 400_000)
            var position = UInt64(text.count { $0 == UInt8(ascii: "\n") }) + 1
            while ordinal < 3, text.count < LogLimits.chunkBytes {
                let number = LogNumber(segment: ordinal, position: position)
                let size = LogLimits.chunkBytes - text.count
                // No rest may be too short for a line.
                text += SampleLog.Line.filling(
                    size > 70_000 ? LogLimits.lineBytes : size > 65_536 ? size / 2 : size,
                    time: log.time, level: .information, number: number
                ).text(number)
                position += 1
            }
            try store.seal(SegmentName(ordinal: ordinal, kind: .application), text)
        }
        let plan = try check(store, LogFilter(), [.application], maximumBytes: LogLimits.chunkBytes)
        #expect(plan.chunks.map(\.rawBytes).prefix(2) == [LogLimits.chunkBytes, LogLimits.chunkBytes])
        #expect(plan.chunks.count == 3)
        #expect(plan.chunks.allSatisfy { $0.storedDigest != nil })
    }

    @Test func `An empty log has no chunks`() async throws {
        let store = try TemporaryStore()
        #expect(try check(store, LogFilter(), [.application], maximumBytes: LogLimits.chunkBytes).chunks.isEmpty)
        try store.write([], SegmentName(ordinal: 1, kind: .application).file(.text))
        #expect(try check(store, LogFilter(), [.application], maximumBytes: LogLimits.chunkBytes).chunks.isEmpty)
    }

    @discardableResult
    private func check(
        _ store: TemporaryStore, _ filter: LogFilter, _ kinds: Set<SegmentName.Kind>, maximumBytes: Int
    ) throws -> ChunkPlan {
        let expected = try NaiveLog.lines(store, kinds: kinds, filter: filter)
        let snapshot = try StoreSnapshot(store.directory, kinds: kinds)
        #expect(snapshot.problems.isEmpty && snapshot.gone.isEmpty)
        var problems: [ChunkPlan.Problem] = []
        let plan = try ChunkPlan(snapshot, filter: filter, maximumBytes: maximumBytes, problems: &problems)
        #expect(problems.isEmpty)

        // As it comes back from where it was kept.
        let kept = try JSONDecoder().decode(ChunkPlan.self, from: JSONEncoder().encode(plan))
        #expect(kept == plan)

        let reader = try ChunkReader(kept, in: store.directory)
        var all: [UInt8] = []
        var lines = 0
        for chunk in kept.chunks {
            var plain = MemoryChunkSink()
            let reported = try reader.write(chunk, as: .plain, to: &plain)
            #expect(plain.data.count <= maximumBytes && plain.data.last == UInt8(ascii: "\n"))
            #expect(plain.data.count == chunk.rawBytes && reported.bytes == chunk.rawBytes)
            #expect(reported.digest == Digest.of(plain.data))
            #expect(try reader.rawDigest(of: chunk) == reported.digest)
            #expect(plain.data.count { $0 == UInt8(ascii: "\n") } == chunk.lines)
            lines += chunk.lines

            var stored = MemoryChunkSink()
            let reportedStored = try reader.write(chunk, as: .gzip, to: &stored)
            #expect(reportedStored.digest == Digest.of(stored.data) && reportedStored.bytes == stored.data.count)
            let limits = InflateLimits(maximumRatio: 2_000)
            #expect(try GzipCodec.decompress(stored.data, limits: limits) == plain.data)
            all += plain.data
        }
        #expect(all == expected.flatMap { $0 })
        #expect(lines == expected.count)
        return plan
    }
}
