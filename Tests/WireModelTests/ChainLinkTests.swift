import Crypto
import Foundation
import Testing
import WireModel

@Suite struct ChainLinkTests {
    @Test func `A link is the first 16 bytes of SHA-256 over the former link and the record`() {
        var link = ChainLink.zero
        for record in ["", "a", String(repeating: "x", count: 70_000)].map({ Data($0.utf8) }) {
            let expected = Data(SHA256.hash(data: link.data + record)).prefix(16)
            link = link.appending(record)
            #expect(link.data == expected)
        }
    }

    @Test func `The chain of the protocol model is ours`() {
        // hashlib.sha256(bytes(16) + (1).to_bytes(8, "big")).digest()[:16], then the same with 2.
        let one = ChainLink.zero.appending(Data([0, 0, 0, 0, 0, 0, 0, 1]))
        let two = one.appending(Data([0, 0, 0, 0, 0, 0, 0, 2]))
        #expect(one.description == "ed8b7b2c2c6bae3a650fe15699b56315")
        #expect(two.description == "ec885c3c957effe6168448992648c838")
    }

    @Test func `Bytes are converted and back`() {
        let link = ChainLink(high: 0x0102_0304_0506_0708, low: 0x8000_0000_0000_0001)
        #expect(ChainLink(link.data) == link)
        #expect(ChainLink(link.data.dropLast()) == nil)
        #expect(ChainLink(link.data + [0]) == nil)
    }

    @Test(arguments: [
        ("01020304-0506-4708-8102-030405060708", true), ("01020304050647088102030405060708", true), ("", false),
        ("01020304-0506-4708-8102-03040506070", false), ("0102030405064708810203040506070g", false),
        ("+1020304050647088102030405060708", false), ("01020304-0506-4708-8102-0304050607080", false),
    ])
    func `Identifiers are read as UUIDs`(text: String, valid: Bool) {
        let identifier = DeviceID(text)
        #expect((identifier != nil) == valid)
        if let identifier { #expect(identifier.description == "01020304-0506-4708-8102-030405060708") }
    }
}
