import Foundation
import Testing
import WireModel

@Suite struct RecordHeaderTests {
    let stamp = RecordStamp(wallTime: -5, bootID: GoldenMessages.boot, timeSinceBoot: 1 << 40)

    private func record(_ body: Data = Data([1, 2, 3])) -> Data {
        NewRecord(
            stream: .sample, kind: .sampleCustom, module: "fan", stamp: stamp, application: "org.example", test: true,
            body: body
        ).serialized(number: 300)
    }

    @Test func `The scan reads what the generated code reads`() throws {
        let bytes = record()
        let wire = try WireRecord.decode(bytes)
        let header = try #require(RecordHeader(scanning: bytes))
        #expect(header.number == wire.number && header.number == 300)
        #expect(header.kind == wire.kind.rawValue)
        #expect(header.module == wire.module)
        #expect(header.wallTime == wire.wallTime && header.wallTime == -5)
        #expect(header.bootID?.data == wire.bootID)
        #expect(header.timeSinceBoot == wire.timeSinceBoot)
        #expect(header.test && wire.test)
        #expect(header.application == wire.application)
        #expect(header.body(of: bytes) == wire.body)
        #expect(wire.encoded == bytes, "the hand-written envelope is canonical protobuf")
    }

    @Test func `A slice of a larger buffer scans the same`() {
        let padded = Data([9, 9]) + record() + Data([9])
        let slice = padded[2..<(padded.count - 1)]
        #expect(RecordHeader(scanning: slice)?.body(of: slice) == Data([1, 2, 3]))
    }

    @Test func `Truncated or flipped, it is a header or nil, never a crash`() {
        let bytes = record()
        for length in 0..<bytes.count {
            if let header = RecordHeader(scanning: bytes.prefix(length)) { #expect(header.body.upperBound <= length) }
        }
        for bit in 0..<(bytes.count * 8) {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            if let header = RecordHeader(scanning: flipped) { #expect(header.body.upperBound <= flipped.count) }
        }
    }

    @Test(arguments: [
        Data(), Data([0]), Data([0x08]), Data([0x08, 0x00]), Data([0x0A, 0x01, 0x00]),
        Data([0x08, 1, 0x1A, 2, 0xC3, 0x28]),
        Data([0x08, 1, 0x2A, 3, 1, 2, 3]), Data([0x08, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]),
        Data([0x08, 1, 0x7A, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]), Data([0x08, 1, 0x0B]),
    ])
    func `Malformed envelopes are refused`(bytes: Data) {
        #expect(RecordHeader(scanning: bytes) == nil)
    }

    @Test func `Fields of later versions are passed over`() {
        #expect(RecordHeader(scanning: record() + Data([0xA0, 0x06, 0x05]))?.number == 300)
    }
}
