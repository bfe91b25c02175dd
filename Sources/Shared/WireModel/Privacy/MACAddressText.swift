/// A hardware address of six bytes, however it is written: `00:1b:21:AA:bb:cc`, with dashes, or without anything in between.
struct MACAddressText {
    /// Six pairs of lower-case hexadecimal digits with colons.
    let canonical: String

    init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "-") }
        guard digits.count == 12, let pairs = Self.pairs(digits[...]) else { return nil }
        canonical = pairs.joined(separator: ":")
    }

    /// The first three bytes name the maker (OUI).
    var maker: String { String(canonical.prefix(8)) }

    private static func pairs(_ digits: ArraySlice<UInt8>) -> [String]? {
        let text = String(decoding: digits, as: UTF8.self).lowercased()
        guard text.allSatisfy(\.isHexDigit) else { return nil }
        return stride(from: 0, to: 12, by: 2).map { offset in
            let start = text.index(text.startIndex, offsetBy: offset)
            return String(text[start..<text.index(start, offsetBy: 2)])
        }
    }
}

/// The hardware address inside a name such as `enx001b21aabbcc`, as udev gives them to USB adapters (systemd.net-naming-scheme(7)).
enum InterfaceNameAddress {
    private static let digits = 12

    static func isInside(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count == 3 + digits, name[2] == UInt8(ascii: "x") else { return false }
        return name[3...].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): true
            default: false
            }
        }
    }

    /// `enx`: what is left when the address may not be told.
    static func prefix(of name: String) -> String { String(name.prefix(3)) }

    /// `enx001b21`.
    static func coarse(_ name: String) -> String { String(name.prefix(9)) }

    /// The hash is that of the address where it stands alone, so that name and address stay the same adapter's.
    static func hashed(_ name: String, by hasher: PrivacyHasher) -> String {
        let address = MACAddressText(String(name.dropFirst(3)))?.canonical ?? name
        return prefix(of: name) + hasher.hash(address.utf8, of: .mac)
    }
}
