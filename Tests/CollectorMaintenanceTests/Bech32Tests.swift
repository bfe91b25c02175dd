import Testing

@testable import CollectorMaintenance

@Suite struct Bech32Tests {
    /// From BIP 173, those whose data are whole bytes.
    @Test(arguments: ["A12UEL5L", "a12uel5l", "split1checkupstagehandshakeupstreamerranterredcaperred2y9e3w"])
    func `Texts of the standard are read and written again`(text: String) throws {
        let decoded = try Bech32.decode(text)
        #expect(Bech32.encode(decoded.bytes, prefix: decoded.prefix) == text.lowercased())
    }

    @Test func `A text of the standard has its bytes`() throws {
        // The digits 0 to 31, five bits each.
        let decoded = try Bech32.decode("abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw")
        #expect(decoded.prefix == "abcdef" && decoded.bytes.count == 20)
        #expect(decoded.bytes.prefix(5) == [0x00, 0x44, 0x32, 0x14, 0xc7])
    }

    /// From BIP 173: no prefix, no separator, a character that is none, both cases, a checksum that is too short or is
    /// that of upper-case letters.
    @Test(arguments: [
        "pzry9x0s0muk", "1pzry9x0s0muk", "x1b4n0q5v", "li1dgmt3", "A1G7SGD8", "10a06t8", "1qzzfhee", "", "1", "a1",
        "a12UEL5L", "\u{7F}1axkwrx", "é12uel5l",
    ])
    func `What is none is refused`(text: String) {
        #expect(throws: Bech32.Fault.self) { try Bech32.decode(text) }
    }

    @Test func `Each wrong, missing, doubled and exchanged character is found`() throws {
        let text = Bech32.encode(Array(0..<32), prefix: "ws1backup")
        let characters = Array(text)
        for place in characters.indices {
            for other in "qpzry9x8gf2tvdw0s3jn54khce6mua7l" where other != characters[place] {
                var changed = characters
                changed[place] = other
                #expect(throws: Bech32.Fault.self, "\(other) at \(place)") { try Bech32.decode(String(changed)) }
            }
            var without = characters
            without.remove(at: place)
            #expect(throws: Bech32.Fault.self) { try Bech32.decode(String(without)) }
            var exchanged = characters
            if place > 0, characters[place] != characters[place - 1] {
                exchanged.swapAt(place, place - 1)
                #expect(throws: Bech32.Fault.self) { try Bech32.decode(String(exchanged)) }
            }
        }
        #expect(try Bech32.decode(text).bytes == Array(0..<32))
    }

    @Test(arguments: 0...40) func `Bytes of any number come back`(count: Int) throws {
        let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + 255) }
        #expect(try Bech32.decode(Bech32.encode(bytes, prefix: "x")).bytes == bytes)
    }
}
