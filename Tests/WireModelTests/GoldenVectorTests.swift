import Foundation
import SwiftProtobuf
import Testing
import WireModel

/// The vectors in Schemas/wire/v1/golden: binary, with a JSON reading beside each. They are the wire: a change of
/// either is a break.
///
/// `WS1_UPDATE_GOLDEN=1` writes those that are missing; it never changes one that is there.
@Suite struct GoldenVectorTests {
    static let directory = URL(filePath: #filePath).deletingLastPathComponent()
        .appending(path: "../../Schemas/wire/v1/golden").standardizedFileURL

    @Test(arguments: GoldenMessages.all.map(\.name))
    func `Every vector decodes to its reading and encodes to its bytes`(name: String) throws {
        let golden = try #require(GoldenMessages.all.first { $0.name == name })
        let binary = Self.directory.appending(path: "\(name).bin")
        let reading = Self.directory.appending(path: "\(name).json")
        if ProcessInfo.processInfo.environment["WS1_UPDATE_GOLDEN"] == "1",
            !FileManager.default.fileExists(atPath: binary.path)
        {
            try golden.message.encoded.write(to: binary)
            try Self.pretty(golden.message.jsonUTF8Data()).write(to: reading)
        }
        let bytes = try Data(contentsOf: binary)
        let decoded = try type(of: golden.message).decode(bytes)
        #expect(
            decoded.isEqualTo(message: golden.message),
            "the bytes of \(name).bin say something else than the message they were made from")
        #expect(golden.message.encoded == bytes, "\(name) encodes to other bytes than \(name).bin")
        #expect(
            try Self.pretty(decoded.jsonUTF8Data()) == Data(contentsOf: reading),
            "\(name).json does not read what \(name).bin says")
    }

    @Test(arguments: GoldenMessages.all.map(\.name))
    func `Truncated at every byte, it is a typed error or another message, never a crash`(name: String) throws {
        let golden = try #require(GoldenMessages.all.first { $0.name == name })
        let bytes = golden.message.encoded
        for length in 0..<bytes.count {
            guard let decoded = try? type(of: golden.message).decode(bytes.prefix(length)) else { continue }
            #expect(!decoded.isEqualTo(message: golden.message), "\(length) of \(bytes.count) bytes say the same")
        }
    }

    @Test func `A batch with any bit flipped is refused or stores only what the chain covers`() throws {
        let request = GoldenMessages.batchRequest
        let original = try request.parts.map { try BatchPart($0) }
        let bytes = request.encoded
        var damaged = 0
        for bit in 0..<(bytes.count * 8) {
            var flipped = bytes
            flipped[bit / 8] ^= 1 << (bit % 8)
            guard let decoded = try? WireBatchRequest.decode(flipped) else { continue }
            for (index, wire) in decoded.parts.enumerated() {
                guard let part = try? BatchPart(wire), index < original.count else { continue }
                let decision = PartDecision.decide(part: part, mark: .none)
                if case .store(let slice) = decision, part.records != original[index].records {
                    Issue.record("bit \(bit): stored \(slice.records.count) records that nobody made")
                }
                if case .damaged = decision { damaged += 1 }
            }
        }
        #expect(damaged > bytes.count, "flipping bits of records must break the chain")
    }

    private static func pretty(_ json: Data) throws -> Data {
        let object = try JSONSerialization.jsonObject(with: json)
        return try JSONSerialization.data(
            withJSONObject: object, options: [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes])
            + Data("\n".utf8)
    }
}
