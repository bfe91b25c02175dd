import Foundation
import Testing
import WireModel

@testable import Collector

enum BatchStructureLimits {
    static let records = BatchStructure.maximumRecords
    static let gaps = BatchStructure.maximumGaps

    static func problemCode(_ request: Data) throws -> String? {
        try #require(BatchStructure(scanning: request)).problem?.code
    }
}

@Suite("Structure of a batch, before it is decoded")
struct BatchStructureTests {
    @Test func itCountsWhatTheRequestHolds() throws {
        var events = ChainBuilder(stream: .event)
        var samples = ChainBuilder(stream: .sample)
        var gappy = samples.part(kind: .sampleSystem, bodies: [Data(), Data()])
        gappy.gaps = [Gap(first: 9, last: 9, reason: .byteCap, link: .zero)]
        let structure = try #require(BatchStructure(scanning: [events.events(["a", "b", "c"]), gappy].request))
        #expect(structure.parts == 2)
        #expect(structure.records == 5)
        #expect(structure.gaps == 1)
        #expect(structure.problem == nil)
    }

    @Test func whatIsNotProtobufIsNone() {
        #expect(BatchStructure(scanning: Data([0x0A, 0x05, 0x01])) == nil)
        #expect(BatchStructure(scanning: Data([0x08, 0x05])) == nil)
        #expect(BatchStructure(scanning: Data()) != nil)
    }
}
