import Testing

@testable import SampleModules

@Suite struct DBusMessageTests {
    /// A method call as `dbus-send --system --dest=org.freedesktop.DBus / org.freedesktop.DBus.Properties.Get string:a
    /// string:b` marshals it.
    private static let call = DBusMessage.Call(
        destination: "org.freedesktop.DBus", path: "/", interface: "org.freedesktop.DBus.Properties", member: "Get",
        arguments: ["a", "b"])

    /// A method return with the signature and body given, as a service of either byte order writes it.
    static func reply(_ signature: String, body: [UInt8], serial: UInt32 = 7, bigEndian: Bool = false, type: UInt8 = 2)
        -> [UInt8]
    {
        func number(_ value: UInt32) -> [UInt8] {
            let bytes = withUnsafeBytes(of: value.littleEndian) { Array($0) }
            return bigEndian ? bytes.reversed() : bytes
        }
        // Reply serial (5, u), then the signature (8, g) at the next multiple of eight.
        var fields: [UInt8] = [5, 1, UInt8(ascii: "u"), 0] + number(serial)
        fields += [8, 1, UInt8(ascii: "g"), 0, UInt8(signature.utf8.count)] + Array(signature.utf8) + [0]
        var message: [UInt8] = [bigEndian ? UInt8(ascii: "B") : UInt8(ascii: "l"), type, 1, 1]
        message += number(UInt32(body.count)) + number(99) + number(UInt32(fields.count)) + fields
        while message.count % 8 != 0 { message.append(0) }
        return message + body
    }

    @Test func aCallIsMarshalledAsTheSpecificationSays() {
        let bytes = DBusMessage.encode(Self.call, serial: 3)
        #expect(Array(bytes.prefix(12)) == [0x6C, 1, 2, 1, 14, 0, 0, 0, 3, 0, 0, 0])
        #expect(DBusMessage.length(bytes) == bytes.count)
        // The body begins at a multiple of eight: two strings, the second one aligned to four.
        #expect(Array(bytes.suffix(14)) == [1, 0, 0, 0, 0x61, 0, 0, 0, 1, 0, 0, 0, 0x62, 0])
        #expect((bytes.count - 14) % 8 == 0)
        var reader = DBusReader(bytes[12...], isLittleEndian: true)
        // Each at a multiple of eight, 4 bytes of code and signature before its value: path 0..<10, interface 16..<56,
        // member 56..<68, destination 72..<101, signature 104..<112.
        #expect(reader.uint32() == 112, "the fields' bytes without the padding behind them")
    }

    @Test(arguments: [false, true])
    func aVariantIsReadInEitherByteOrder(bigEndian: Bool) {
        let value: [UInt8] = bigEndian ? [0, 0, 0, 4] : [4, 0, 0, 0]
        let body: [UInt8] = [1, UInt8(ascii: "u"), 0, 0] + value
        let message = Self.reply("v", body: body, bigEndian: bigEndian)
        #expect(DBusMessage.decode(message) == DBusMessage.Reply(serial: 7, content: .values([.unsigned(4)])))
    }

    @Test func nestedContainersAreReadAsTheyAre() {
        // a{sv}: one entry, "n": variant of (ii) at a multiple of eight.
        var body: [UInt8] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, UInt8(ascii: "n"), 0, 4]
        body += Array("(ii)".utf8) + [0] + [0, 0, 0, 0] + [0xFF, 0xFF, 0xFF, 0xFF, 2, 0, 0, 0]
        body[0] = UInt8(body.count - 8)
        #expect(
            DBusMessage.decode(Self.reply("a{sv}", body: body))?.content
                == .values([.dictionary(["n": .structure([.signed(-1), .signed(2)])])]))
    }

    @Test func anErrorIsItsNameAndASignalAnswersNothing() {
        #expect(DBusMessage.decode(Self.reply("", body: [], type: 3))?.content == .error("an error without a name"))
        #expect(DBusMessage.decode(Self.reply("", body: [], type: 4))?.serial == 0)
    }

    @Test func whatIsCutOrFlippedIsAnotherMessageOrNoneNeverACrashAndNeverMoreThanItHolds() {
        var body: [UInt8] = [24, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, UInt8(ascii: "n"), 0, 4]
        body += Array("(ii)".utf8) + [0] + [0, 0, 0, 0] + [1, 0, 0, 0, 2, 0, 0, 0]
        let message = Self.reply("a{sv}", body: body)
        for length in 0..<message.count { #expect(DBusMessage.decode(Array(message.prefix(length))) == nil) }
        var read = 0
        for bit in 0..<(message.count * 8) {
            var flipped = message
            flipped[bit / 8] ^= 1 << (bit % 8)
            if DBusMessage.decode(flipped) != nil { read += 1 }
        }
        #expect(read > 0 && read < message.count * 8)
    }

    @Test func lengthsBeyondTheBoundAndNestingWithoutEndAreRefused() {
        var long = Self.reply("", body: [])
        long[6] = 0xFF
        #expect(DBusMessage.length(long) == nil)
        var reader = DBusReader([UInt8](repeating: 0, count: 64)[...], isLittleEndian: true)
        #expect(reader.values(String(repeating: "a", count: 64) + "y") == nil)
        // Variants in variants, without end.
        var variants = DBusReader(
            [UInt8](repeating: 0, count: 0)[...] + Array(repeating: [1, UInt8(ascii: "v"), 0], count: 99).joined(),
            isLittleEndian: true)
        #expect(variants.values("v") == nil)
        var empty = DBusReader([0, 0, 0, 0, 0, 0, 0, 0][...], isLittleEndian: true)
        #expect(empty.values("()") == nil)
    }

    @Test(
        arguments: [
            ("unix:path=/run/dbus/system_bus_socket", .path("/run/dbus/system_bus_socket")),
            ("tcp:host=localhost;unix:guid=1,path=/tmp/a%20b", .path("/tmp/a b")),
            ("unix:abstract=bus", .abstract("bus")),
            ("tcp:host=localhost", nil), ("", nil), ("unix:path=%", nil),
        ] as [(String, DBusAddress?)])
    func onlySocketsOfThisMachineAreTaken(list: String, address: DBusAddress?) {
        #expect(DBusAddress(list) == address)
    }
}
