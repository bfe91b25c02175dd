import DeviceTestKit
import Foundation
import TelemetryBasics
import Testing
import WireModel

@testable import LogStore

/// A sealed segment that is encrypted: damaged, cut, rebuilt, converted and killed in between.
@Suite(.timeLimit(.minutes(10))) struct EncryptedSegmentTests {
    private let store: EncryptedStore
    private let directory: StoreDirectory
    private let name = SegmentName(ordinal: 5, kind: .application)

    init() throws {
        store = try EncryptedStore()
        directory = store.directory()
    }

    private func seal(_ bytes: Int, in directory: StoreDirectory) throws -> (text: [UInt8], index: SegmentIndex) {
        var log = SampleLog(seed: 2)
        let text = log.segment(5, bytes: bytes)
        try store.write(text, name.file(.text))
        return (text, try #require(try SegmentSealer().seal(name, in: directory, epoch: .unknown).index))
    }

    private func blocks(_ index: SegmentIndex) throws -> [[UInt8]?] {
        let reader = try SegmentReader.open(name, in: directory, inflater: try BlockInflater())
        return index.blocks.map { block in
            do { return Array(try reader.text(of: block)) } catch {
                #expect((error as? LogStoreError)?.code == .damaged)
                return nil
            }
        }
    }

    @Test func `A flipped bit costs its block at most, and is named`() throws {
        let (text, index) = try seal(150_000, in: directory)
        let bytes = try store.bytes(name.file(.sealed))
        #expect(index.blocks.count == 3)
        let whole = index.blocks.map { Array(text[$0.rawOffset..<($0.rawOffset + $0.stretch.rawBytes)]) }
        #expect(try blocks(index) == whole)
        let starts = index.blocks.enumerated().map { 41 + $0.element.storedOffset + 20 * $0.offset }
        // All bits of heads, lengths, tags and digests, and some of the rest.
        let ends = starts.dropFirst() + [bytes.count - 84]
        let special = Set(
            Array(0..<41) + starts.flatMap { $0..<($0 + 6) } + ends.flatMap { ($0 - 18)..<$0 }
                + ((bytes.count - 84)..<bytes.count))
        for offset in bytes.indices where special.contains(offset) || offset % 997 == 0 {
            var flipped = bytes
            flipped[offset] ^= 1 << (offset % 8)
            try store.write(flipped, name.file(.sealed))
            let hit = starts.lastIndex { $0 <= offset }
            let expected: [[UInt8]?] = whole.enumerated().map { number, block in
                number == hit && offset < bytes.count - 84 ? nil : block
            }
            #expect(try blocks(index) == expected, "byte \(offset)")
            let verifier = try StoreVerifier(directory)
            #expect(verifier.findings.contains { $0.file == name.file(.sealed) && $0.isDamage }, "byte \(offset)")
        }
    }

    @Test func `A segment that is cut anywhere is damaged`() throws {
        _ = try seal(600, in: directory)
        let bytes = try store.bytes(name.file(.sealed))
        for length in 0..<bytes.count {
            try store.write(Array(bytes.prefix(length)), name.file(.sealed))
            #expect { try SegmentReader.open(name, in: directory, inflater: try BlockInflater()) } throws: {
                ($0 as? LogStoreError)?.code == .damaged
            }
        }
    }

    @Test func `A lost index is made anew from the encrypted lines`() throws {
        let (_, index) = try seal(150_000, in: directory)
        try directory.remove(name.file(.index))
        let rebuilt = try SegmentIndex(rebuilding: name, in: directory, epoch: .unknown)
        #expect(rebuilt == index)
        #expect(rebuilt.rawDigest.count == 32)
        #expect { try SegmentIndex(rebuilding: name, in: store.withoutKeys, epoch: .unknown) } throws: {
            ($0 as? LogStoreError)?.code == .locked
        }
    }

    @Test func `Blocks of another segment do not open in its place`() throws {
        let (_, index) = try seal(600, in: directory)
        let other = SegmentName(ordinal: 6, kind: .application)
        try store.write(try store.bytes(name.file(.sealed)), other.file(.sealed))
        #expect { try SegmentIndex(rebuilding: other, in: directory, epoch: .unknown) } throws: {
            ($0 as? LogStoreError)?.code == .damaged
        }
        #expect(index.run != nil)
    }

    // MARK: - Switching on and off

    /// Converts until the step is reached, as a kill there leaves it.
    private func convert(_ directory: StoreDirectory, killedAt step: SegmentConverter.Step) -> Bool {
        var converter = SegmentConverter(directory: directory)
        converter.reached = { (reached) throws(LogStoreError) in
            if reached == step { throw LogStoreError(.io, "killed") }
        }
        return (try? converter.convert(name)) == nil
    }

    @Test(arguments: SegmentConverter.Step.allCases)
    func `A conversion that is killed anywhere is read, and goes on`(_ step: SegmentConverter.Step) throws {
        let (text, _) = try seal(150_000, in: store.withoutKeys)
        let plain = try store.bytes(name.file(.sealed))
        let index = try store.bytes(name.file(.index))
        let on = store.directory()
        let off = store.directory(isSealing: false)
        let gzip = try EncryptedStore.gzip(off)

        #expect(convert(on, killedAt: step))
        #expect(try EncryptedStore.text(on) == String(decoding: text, as: UTF8.self))
        #expect(try EncryptedStore.gzip(on) == gzip)
        _ = try SegmentConverter(directory: on).convert(name)
        #expect(try store.bytes(name.file(.sealed)).starts(with: Array("WS1L".utf8)))
        #expect(try SegmentIndex(name, in: on).run != nil)
        #expect(try EncryptedStore.text(on) == String(decoding: text, as: UTF8.self))
        #expect(try EncryptedStore.gzip(on) == gzip)
        #expect(try SegmentConverter(directory: on).convert(name) == false)
        // No writer has made the store's state.
        #expect(try StoreVerifier(on).findings.filter(\.isDamage).map(\.file) == [SegmentName.stateName])

        #expect(convert(off, killedAt: step))
        #expect(try EncryptedStore.text(on) == String(decoding: text, as: UTF8.self))
        #expect(try EncryptedStore.gzip(on) == gzip)
        _ = try SegmentConverter(directory: off).convert(name)
        #expect(try store.bytes(name.file(.sealed)) == plain)
        #expect(try store.bytes(name.file(.index)) == index)
        #expect(try EncryptedStore.text(store.withoutKeys) == String(decoding: text, as: UTF8.self))
        #expect(try SegmentConverter(directory: off).convert(name) == false)
    }

    @Test func `A damaged segment is not converted, so that it is found to be damaged`() throws {
        _ = try seal(150_000, in: store.withoutKeys)
        var bytes = try store.bytes(name.file(.sealed))
        bytes[1000] ^= 1
        try store.write(bytes, name.file(.sealed))
        #expect { try SegmentConverter(directory: directory).convert(name) } throws: {
            ($0 as? LogStoreError)?.code == .damaged
        }
        #expect(try store.bytes(name.file(.sealed)) == bytes)
    }

    @Test func `A store converts its segments at a calm time, in both directions`() throws {
        let (text, _) = try seal(150_000, in: store.withoutKeys)
        for isSealing in [true, false] {
            let directory = store.directory(isSealing: isSealing)
            let keeper = StoreKeeper(
                directory: directory, maximumBytes: 50_000_000, ringBytes: 5_000_000,
                maximumAge: 3650 * 86_400 * 1_000_000)
            try keeper.sealAll(atLowPriority: true)
            #expect(try store.bytes(name.file(.sealed)).starts(with: Array("WS1L".utf8)) == isSealing)
            #expect(try EncryptedStore.text(directory) == String(decoding: text, as: UTF8.self))
        }
    }

    @Test func `A stop waits for no more than the segment under way`() throws {
        _ = try seal(150_000, in: store.withoutKeys)
        let keeper = StoreKeeper(
            directory: directory, maximumBytes: 50_000_000, ringBytes: 5_000_000,
            maximumAge: 3650 * 86_400 * 1_000_000)
        try keeper.sealAll(atLowPriority: true) { false }
        #expect(try !store.bytes(name.file(.sealed)).starts(with: Array("WS1L".utf8)), "the next start converts it")
        try keeper.sealAll(atLowPriority: true)
        #expect(try store.bytes(name.file(.sealed)).starts(with: Array("WS1L".utf8)))
    }
}
