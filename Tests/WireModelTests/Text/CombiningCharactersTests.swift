import Foundation
import Testing
import WireModel

@Suite struct CombiningCharactersTests {
    private func areTooMany(_ text: String) -> Bool {
        Data(text.utf8).withUnsafeBytes { CombiningCharacters.areTooMany(in: $0) }
    }

    private static func marks(_ count: Int) -> String { String(repeating: "\u{301}", count: count) }

    @Test func `The limit of combining characters is where it should be`() {
        #expect(!areTooMany("e" + Self.marks(CombiningCharacters.limit)))
        #expect(areTooMany("e" + Self.marks(CombiningCharacters.limit + 1)))
        #expect(areTooMany(String(repeating: "漢", count: 900) + Self.marks(CombiningCharacters.limit + 1) + "漢"))
        #expect(!areTooMany((0..<10).map { _ in "e" + Self.marks(CombiningCharacters.limit) }.joined()))
        #expect(!areTooMany(String(repeating: "漢", count: 100_000)))
        #expect(!areTooMany(""))
    }

    @Test func `Bytes that are not text are few enough`() {
        #expect(!Data(repeating: 0xFF, count: 100_000).withUnsafeBytes { CombiningCharacters.areTooMany(in: $0) })
        #expect(!Data(repeating: 0xCC, count: 100_000).withUnsafeBytes { CombiningCharacters.areTooMany(in: $0) })
    }

    @Test func `A body with too many combining characters is refused before it is hashed`() {
        var event = WireEvent()
        event.attributes = ["n" + Self.marks(CombiningCharacters.limit + 1): WireValue()]
        let bytes = event.encoded
        #expect(throws: WireError.self) { try WireEvent.decodeBody(bytes) }
        // Frames with many records or lines are not refused for one of them.
        #expect(throws: Never.self) { try WireEvent.decode(bytes) }
    }

    @Test func `An envelope with too many combining characters is none`() {
        let stamp = RecordStamp(wallTime: 0, bootID: GoldenMessages.boot, timeSinceBoot: 1)
        func record(_ application: String) -> Data {
            NewRecord(
                stream: .sample, kind: .sampleCustom, module: "fan", stamp: stamp, application: application,
                test: false, body: Data([1])
            ).serialized(number: 1)
        }
        #expect(RecordHeader(scanning: record("a" + Self.marks(CombiningCharacters.limit))) != nil)
        #expect(RecordHeader(scanning: record("a" + Self.marks(CombiningCharacters.limit + 1))) == nil)
    }
}
