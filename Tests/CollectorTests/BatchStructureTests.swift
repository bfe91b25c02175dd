import Foundation
import SwiftProtobuf
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
    @Test func `It counts what the request holds`() throws {
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

    /// Records are cut out of the body; what comes of it is what swift-protobuf makes of the whole.
    @Test func `It decodes as SwiftProtobuf does`() throws {
        var events = ChainBuilder(stream: .event)
        var samples = ChainBuilder(stream: .sample)
        var gappy = samples.part(kind: .sampleSystem, bodies: [Data(), Data(repeating: 7, count: 300), Data([1])])
        gappy.gaps = [Gap(first: 9, last: 9, reason: .byteCap, link: .zero)]
        var plain = try WireBatchRequest(serializedBytes: [events.events(["a", "b"]), gappy].request)
        plain.profileRevision = 7
        plain.expectedBeaconSeconds = 60
        plain.parts.append(WireBatchPart())
        let body = try plain.serializedData()
        // A field of a later version, at the end of the request; and behind its first bytes, as in the middle of
        // something larger.
        let later = body + [0xA0, 0x06, 0x05]
        for request in [body, later, (Data([1, 2, 3]) + later).dropFirst(3)] {
            let structure = try #require(BatchStructure(scanning: request))
            #expect(try structure.decode(request) == WireBatchRequest(serializedBytes: request))
        }
    }

    /// Fields of a part between and behind its records, of known and unknown ones, in any order.
    @Test func `Records may stand anywhere in a part`() throws {
        let part: [UInt8] = [0x4A, 2, 8, 1, 0x18, 1, 0xA0, 0x06, 0x05, 0x4A, 0, 0x20, 2, 0x48, 9, 0x4A, 1, 0xFF]
        let body = Data([0x10, 7, 0x0A, UInt8(part.count)] + part + [0x18, 60])
        let request = try #require(BatchStructure(scanning: body)).decode(body)
        #expect(request == (try WireBatchRequest(serializedBytes: body)))
        #expect(request.parts.first?.records == [Data([8, 1]), Data(), Data([0xFF])])
        #expect(
            request.parts.first?.first == 1 && request.parts.first?.last == 2 && request.expectedBeaconSeconds == 60)
    }

    @Test func `What is not Protobuf is none`() {
        #expect(BatchStructure(scanning: Data([0x0A, 0x05, 0x01])) == nil)
        #expect(BatchStructure(scanning: Data([0x08, 0x05])) == nil)
        #expect(BatchStructure(scanning: Data()) != nil)
    }
}
