import DeviceTestKit
import Gzip
import LogStore
import Testing
import WireModel

@Suite struct SegmentSealerTests {
    private let name = SegmentName(ordinal: 5, kind: .application)
    private let store: TemporaryStore
    private let text: [UInt8]

    init() throws {
        store = try TemporaryStore()
        var log = SampleLog(seed: 2)
        text = log.segment(5, bytes: 300_000)
    }

    @Test func `Sealed lines are the lines written`() throws {
        let index = try #require(try store.seal(name, text).index)
        #expect(try store.files == [name.file(.index), name.file(.sealed)])
        let stored = try store.read(name.file(.sealed))
        #expect(try GzipCodec.decompress(stored) == text)
        #expect(index.whole.rawBytes == text.count)
        #expect(index.whole.storedBytes == stored.count)
        #expect(index.rawDigest == Digest.of(text))
        #expect(index.storedDigest == Digest.of(stored))
        #expect(index.whole.lines == text.count { $0 == UInt8(ascii: "\n") })
        #expect(index.epoch == store.epoch)
    }

    /// Each block is a gzip file of its own with whole lines, and what the index says of it is so.
    @Test func `Every block stands alone`() throws {
        let index = try #require(try store.seal(name, text).index)
        let stored = try store.read(name.file(.sealed))
        #expect(index.blocks.count == 5)
        for block in index.blocks {
            let member = Array(stored[block.storedOffset..<(block.storedOffset + block.stretch.storedBytes)])
            let lines = try GzipCodec.decompress(member)
            #expect(lines.count <= LogLimits.blockBytes)
            #expect(lines == Array(text[block.rawOffset..<(block.rawOffset + lines.count)]))
            let read = lines.split(separator: UInt8(ascii: "\n")).map { line in line.withUnsafeBytes { LogLine($0)! } }
            #expect(read.first?.number == block.stretch.first)
            #expect(read.count == block.stretch.lines)
            #expect(read.map(\.time).min() == block.stretch.times.lowerBound)
            #expect(read.map(\.time).max() == block.stretch.times.upperBound)
            for level in LogLevel.allCases {
                #expect(UInt64(read.count { $0.level == level }) == block.stretch.levelCounts[level.rawValue - 1])
            }
        }
    }

    @Test func `A torn line is left out and reported`() throws {
        let outcome = try store.seal(name, text + Array("2026-11-21T00".utf8))
        #expect(outcome.tornBytes == 13)
        #expect(try GzipCodec.decompress(store.read(name.file(.sealed))) == text)
    }

    @Test(arguments: ["", "no end"])
    func `Nothing is left of a segment without a line`(_ text: String) throws {
        let outcome = try store.seal(name, Array(text.utf8))
        #expect(outcome.index == nil)
        #expect(outcome.tornBytes == text.utf8.count)
        #expect(try store.files == [])
    }

    /// A crash may come between any two steps; what each leaves is sealed by the next attempt, to the same files.
    @Test(arguments: CrashPoint.allCases)
    func `What a crash leaves is mended by the next attempt`(_ point: CrashPoint) throws {
        try store.seal(name, text)
        let sealed = try store.read(name.file(.sealed))
        let index = try store.read(name.file(.index))
        for file in try store.files { try store.directory.remove(file) }

        try store.write(text, name.file(.text))
        switch point {
        case .insideLines: try store.write(Array(sealed.prefix(1_000)), name.file(.sealed) + ".partial")
        case .beforeIndex: try store.write(sealed, name.file(.sealed) + ".partial")
        case .insideIndex:
            try store.write(sealed, name.file(.sealed) + ".partial")
            try store.write(Array(index.prefix(100)), name.file(.index) + ".partial")
        case .beforeRenaming:
            try store.write(sealed, name.file(.sealed) + ".partial")
            try store.write(index, name.file(.index) + ".partial")
        case .betweenRenames:
            try store.write(sealed, name.file(.sealed))
            try store.write(index, name.file(.index) + ".partial")
        case .beforeTextIsRemoved:
            try store.write(sealed, name.file(.sealed))
            try store.write(index, name.file(.index))
        case .afterTextIsRemoved:
            try store.directory.remove(name.file(.text))
            try store.write(sealed, name.file(.sealed))
            try store.write(index, name.file(.index))
        }
        let outcome = try SegmentSealer().seal(name, in: store.directory, epoch: store.epoch)
        #expect(outcome.index?.whole.rawBytes == text.count)
        #expect(outcome.tornBytes == 0)
        #expect(try store.files.filter { !$0.hasSuffix(".partial") } == [name.file(.index), name.file(.sealed)])
        #expect(try store.read(name.file(.sealed)) == sealed)
        #expect(try store.read(name.file(.index)) == index)
    }

    enum CrashPoint: CaseIterable {
        case insideLines, beforeIndex, insideIndex, beforeRenaming, betweenRenames, beforeTextIsRemoved,
            afterTextIsRemoved
    }

    @Test func `Text beside a damaged index is sealed again`() throws {
        try store.seal(name, text)
        let index = try store.read(name.file(.index))
        try store.write(Array(index.dropLast()), name.file(.index))
        try store.write(text, name.file(.text))
        #expect(
            try SegmentSealer().seal(name, in: store.directory, epoch: store.epoch).index?.whole.rawBytes == text.count)
        #expect(try store.read(name.file(.index)) == index)
    }

    @Test func `A segment that is not there is not found`() throws {
        #expect { try SegmentSealer().seal(name, in: store.directory, epoch: store.epoch) } throws: {
            ($0 as? LogStoreError)?.code == .notFound
        }
    }

    /// Lines at the border of a block, and a segment that is exactly full.
    @Test func `Lines and segments of the greatest size are sealed`() throws {
        var full: [UInt8] = []
        var position: UInt64 = 1
        while full.count < LogLimits.chunkBytes {
            let number = LogNumber(segment: 5, position: position)
            let size = min(LogLimits.lineBytes, LogLimits.chunkBytes - full.count)
            full += SampleLog.Line.filling(size, time: SampleLog.start, level: .information, number: number).text(
                number)
            position += 1
        }
        #expect(full.count == LogLimits.chunkBytes)
        let index = try #require(try store.seal(name, full).index)
        #expect(index.blocks.allSatisfy { $0.stretch.rawBytes <= LogLimits.blockBytes })
        let limits = InflateLimits(maximumRatio: 2_000)
        #expect(try GzipCodec.decompress(store.read(name.file(.sealed)), limits: limits) == full)
    }

    @Test func `Lines that are not of the form are kept`() throws {
        let odd = Array("what is this?\n".utf8) + text.prefix { $0 != UInt8(ascii: "\n") } + Array("\n".utf8)
        let index = try #require(try store.seal(name, odd).index)
        #expect(index.whole.lines == 2)
        #expect(index.whole.levelCounts.reduce(0, +) == 1)
        #expect(try SegmentIndex(name, in: store.directory) == index)
        #expect(try store.seal(SegmentName(ordinal: 6, kind: .ring), Array("odd\n".utf8)).index?.whole.times == 0...0)
    }
}
