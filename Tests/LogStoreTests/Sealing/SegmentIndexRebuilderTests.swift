import DeviceTestKit
import Gzip
import LogStore
import Testing

@Suite struct SegmentIndexRebuilderTests {
    private let name = SegmentName(ordinal: 5, kind: .crash)
    private let store: TemporaryStore
    private let index: SegmentIndex

    init() throws {
        store = try TemporaryStore()
        var log = SampleLog(seed: 3)
        index = try #require(try store.seal(name, log.segment(5, bytes: 200_000)).index)
    }

    @Test func `An index made anew equals the one that was lost`() throws {
        #expect(try SegmentIndex(rebuilding: name, in: store.directory, epoch: store.epoch) == index)
        try store.directory.remove(name.file(.index))
        try index.store(name, in: store.directory)
        #expect(try SegmentIndex(name, in: store.directory) == index)
    }

    @Test func `Truncated lines are damaged unless a block ends there`() throws {
        let stored = try store.read(name.file(.sealed))
        let ends = Set(index.blocks.map { $0.storedOffset + $0.stretch.storedBytes })
        for length in stride(from: 0, to: stored.count, by: 61) where !ends.contains(length) {
            try store.write(Array(stored.prefix(length)), name.file(.sealed))
            expectDamaged()
        }
        try store.write(Array(stored.prefix(index.blocks[1].storedOffset)), name.file(.sealed))
        let first = try SegmentIndex(rebuilding: name, in: store.directory, epoch: store.epoch)
        #expect(first.blocks == [index.blocks[0]])
    }

    /// The head of a member holds bits that nothing depends on (time, system): flipped there, the lines are still the
    /// same.
    @Test func `Flipped bits are damaged or change no line`() throws {
        let stored = try store.read(name.file(.sealed))
        var wrong = 0
        for position in stride(from: 0, to: stored.count, by: 97) {
            var flipped = stored
            flipped[position] ^= 1 << (position % 8)
            try store.write(flipped, name.file(.sealed))
            do {
                let rebuilt = try SegmentIndex(rebuilding: name, in: store.directory, epoch: store.epoch)
                #expect(rebuilt.rawDigest == index.rawDigest)
            } catch {
                #expect(error.code == .damaged)
                wrong += 1
            }
        }
        #expect(wrong > 100)
    }

    private func expectDamaged() {
        #expect { try SegmentIndex(rebuilding: name, in: store.directory, epoch: store.epoch) } throws: {
            ($0 as? LogStoreError)?.code == .damaged
        }
    }
}
