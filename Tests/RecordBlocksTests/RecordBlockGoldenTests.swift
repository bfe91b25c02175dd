import Foundation
import TestKit
import Testing

@testable import RecordBlocks

/// The blocks in Schemas/record-blocks/golden. They are on disks of others: each must be read for ever. A change of
/// what the encoder writes is seen here, and is a decision: see *How it may change* in FORMAT.md.
///
/// `WS1_UPDATE_GOLDEN=1` writes those that are missing; it never changes one that is there.
@Suite struct RecordBlockGoldenTests {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Schemas/record-blocks/golden").standardizedFileURL

    static let blocks: [(name: String, block: RecordBlock)] = [
        ("samples", SampleRecords.block(SampleRecords.samples(60, seed: 1))),
        ("mixed", RecordBlockDamageTests.mixed),
        ("plain", SampleRecords.block((0..<3).map { place in (0..<40).map { UInt8(($0 * 89 + place * 7) % 251) } })),
        ("empty", SampleRecords.block([])),
    ]

    @Test(arguments: blocks.map(\.name)) func `Every block is read as what was packed`(name: String) throws {
        let block = try #require(Self.blocks.first { $0.name == name }).block
        let file = Self.directory.appending(path: "\(name).block")
        if ProcessInfo.processInfo.environment["WS1_UPDATE_GOLDEN"] == "1",
            !FileManager.default.fileExists(atPath: file.path)
        {
            try FileManager.default.createDirectory(at: Self.directory, withIntermediateDirectories: true)
            try Data(try block.pack()).write(to: file)
        }
        let bytes = [UInt8](try Data(contentsOf: file))
        #expect(try RecordBlock(unpacking: bytes[...]) == block)
    }

    /// Deflate may give other bytes in another version of zlib, so its sections are compared inflated.
    @Test(arguments: blocks.map(\.name)) func `The encoder still writes these blocks`(name: String) throws {
        let block = try #require(Self.blocks.first { $0.name == name }).block
        let bytes = [UInt8](try Data(contentsOf: Self.directory.appending(path: "\(name).block")))
        let golden = try BlockSections(bytes)
        let packed = try BlockSections(try block.pack())
        #expect(packed.description == golden.description)
        #expect(packed.texts == golden.texts)
        #expect(packed.columns == golden.columns)
        var header = packed.header
        header.description.storedBytes = golden.header.description.storedBytes
        header.texts.storedBytes = golden.header.texts.storedBytes
        #expect(header == golden.header)
    }
}
