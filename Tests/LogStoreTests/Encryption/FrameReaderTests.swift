import DeviceTestKit
import Foundation
import TelemetryBasics
import Testing
import WireModel

@testable import LogStore

/// An encrypted active segment: torn, and damaged at every bit.
@Suite(.timeLimit(.minutes(10))) struct FrameReaderTests {
    private let store: EncryptedStore
    private let name = SegmentName(ordinal: 5, kind: .application)
    private let frames: [[UInt8]]
    private let ends: [Int]
    private let bytes: [UInt8]
    private let keys: LogKeys

    init() throws {
        store = try EncryptedStore()
        var log = SampleLog(seed: 3)
        frames = (0..<4 as Range<UInt64>).map { frame in
            (1...2).flatMap { log.line().text(LogNumber(segment: 5, position: frame * 2 + $0)) }
        }
        ends = try store.writeFrames(frames, of: name)
        bytes = try store.bytes(name.file(.text))
        keys = LogKeys(store.ring())
    }

    private func read(_ bytes: [UInt8]) throws -> (text: [UInt8], torn: Int, damages: [Range<Int>]) {
        try store.write(bytes, name.file(.text))
        var reader = try TextBlockReader(
            try OpenFile<LogStoreError>(reading: store.withoutKeys.path(name, .text)), of: name, keys: keys)
        var text: [UInt8] = []
        while let block = try reader.next() { text += Array(block) }
        return (text, reader.tornBytes, reader.damages)
    }

    @Test func `A text that is cut anywhere has its whole frames, and the rest is torn`() throws {
        for length in 0...bytes.count {
            let whole = ends.count { $0 <= length }
            let (text, torn, damages) = try read(Array(bytes.prefix(length)))
            #expect(text == Array(frames.prefix(whole).joined()), "cut at \(length)")
            #expect(damages.isEmpty)
            let head = length < 41 ? 0 : 41
            #expect(torn == length - (ends.prefix(whole).last ?? head), "cut at \(length)")
        }
    }

    @Test func `A flipped bit costs its frame at most, is named, and alters no line`() throws {
        for offset in bytes.indices {
            for bit in 0..<8 {
                var flipped = bytes
                flipped[offset] ^= 1 << bit
                switch offset {
                case 0..<4:
                    let (text, _, damages) = try read(flipped)
                    #expect(text == Array(frames.joined()) && damages == [0..<4])
                case 4:
                    #expect { try read(flipped) } throws: { ($0 as? LogStoreError)?.code == .newer }
                case 5..<9:
                    #expect { try read(flipped) } throws: { ($0 as? LogStoreError)?.code == .locked }
                case 9..<41:
                    let (text, _, damages) = try read(flipped)
                    #expect(text.isEmpty && damages == [41..<bytes.count])
                default:
                    let hit = try #require(ends.firstIndex { offset < $0 })
                    let (text, torn, damages) = try read(flipped)
                    var rest = frames
                    rest.remove(at: hit)
                    #expect(text == Array(rest.joined()), "bit \(bit) of byte \(offset)")
                    // A last frame whose length is flipped looks as a crash leaves one.
                    #expect(damages.count == 1 || hit == ends.count - 1 && torn > 0, "bit \(bit) of byte \(offset)")
                }
            }
        }
    }

    /// The lines behind damage keep their numbers, and sealing does not give them others.
    @Test func `A damaged text stays readable as it is, and is named`() throws {
        var flipped = bytes
        flipped[ends[0] + 10] ^= 1
        try store.write(flipped, name.file(.text))
        let directory = store.directory()
        #expect { try SegmentSealer().seal(name, in: directory, epoch: .unknown) } throws: {
            ($0 as? LogStoreError)?.code == .damaged
        }
        #expect(try store.bytes(name.file(.text)) == flipped)
        let snapshot = try StoreSnapshot(directory, kinds: [.application])
        #expect(snapshot.problems.map(\.error.code) == [.damaged])
        let index = try #require(snapshot.segments.first?.index)
        #expect(index.whole.lines == 6)
        #expect(index.last == LogNumber(segment: 5, position: 8))
        #expect(index.blocks.map(\.stretch.first.position) == [1, 5])
        let verifier = try StoreVerifier(directory)
        #expect(
            verifier.findings.filter(\.isDamage).contains {
                $0.file == name.file(.text) && $0.message.contains("damaged at bytes")
            })
        #expect(!verifier.findings.contains { $0.message.contains("says it is") })
    }

    @Test func `Damage of several frames is passed over`() throws {
        var damaged = bytes
        for offset in (ends[0] + 2)..<(ends[2] - 3) { damaged[offset] = 0 }
        let (text, _, damages) = try read(damaged)
        #expect(text == frames[0] + frames[3])
        #expect(damages == [ends[0]..<ends[2]])
    }
}
