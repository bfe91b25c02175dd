import Glibc
import WireModel

/// An IPv4 or IPv6 address as text, with or without a zone (`fe80::1%eth0`).
struct IPAddressText {
    private let bytes: [UInt8]
    private let zone: Substring

    /// `nil` if it is neither.
    init?(_ text: String) {
        let parts = text.split(separator: "%", maxSplits: 1, omittingEmptySubsequences: false)
        let address = String(parts[0])
        zone = parts.count > 1 ? parts[1] : ""
        for (family, count) in [(AF_INET, 4), (AF_INET6, 16)] {
            var bytes = [UInt8](repeating: 0, count: count)
            if inet_pton(family, address, &bytes) == 1 {
                self.bytes = bytes
                return
            }
        }
        return nil
    }

    /// One spelling for each address. It has no zone, because a zone has a meaning only on its machine.
    var canonical: String { Self.text(bytes) }

    /// The network it belongs to: /24 for IPv4, /48 for IPv6. An IPv4-mapped address (`::ffff:192.0.2.1`) counts as
    /// IPv4.
    var network: String {
        var network = bytes
        let kept = bytes.count == 4 ? 3 : isMappedIPv4 ? 15 : 6
        for index in kept..<bytes.count { network[index] = 0 }
        return Self.text(network)
    }

    /// The address with its last eight bytes cleared, if they are derived from the hardware address (EUI-64: `ff:fe` in
    /// the middle); otherwise `nil`.
    var withoutInterfaceID: String? {
        guard bytes.count == 16, bytes[11] == 0xFF, bytes[12] == 0xFE else { return nil }
        let text = Self.text(bytes[..<8] + [UInt8](repeating: 0, count: 8))
        return zone.isEmpty ? text : "\(text)%\(zone)"
    }

    private var isMappedIPv4: Bool {
        bytes.count == 16 && bytes[..<10].allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
    }

    private static func text(_ bytes: some Collection<UInt8>) -> String {
        let bytes = Array(bytes)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        // Cannot fail: the family is known, and the buffer holds the longest address.
        inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}

/// A hardware address of six bytes in any notation: `00:1b:21:AA:bb:cc`, with dashes, or without separators.
struct MACAddressText {
    /// Six pairs of lower-case hexadecimal digits with colons.
    let canonical: String

    init?(_ text: String) {
        let digits = text.utf8.filter { $0 != UInt8(ascii: ":") && $0 != UInt8(ascii: "-") }
        guard digits.count == 12, let pairs = Self.pairs(digits[...]) else { return nil }
        canonical = pairs.joined(separator: ":")
    }

    /// The first three bytes identify the manufacturer (OUI).
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

/// The hardware address in a name such as `enx001b21aabbcc`. udev gives such names to USB adapters
/// (systemd.net-naming-scheme(7)).
enum InterfaceNameAddress {
    private static let digits = 12

    static func isInside(_ name: UnsafeRawBufferPointer) -> Bool {
        guard name.count == 3 + digits, name[2] == UInt8(ascii: "x") else { return false }
        return name[3...].allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "a")...UInt8(ascii: "f"),
                UInt8(ascii: "A")...UInt8(ascii: "F"):
                true
            default: false
            }
        }
    }

    /// `enx`: the rest of the name if the address must not be sent.
    static func prefix(of name: String) -> String { String(name.prefix(3)) }

    /// `enx001b21`.
    static func coarse(_ name: String) -> String { String(name.prefix(9)) }

    /// The hash is the same as that of the address alone, so both identify the same adapter.
    static func hashed(_ name: String, by hasher: PrivacyHasher) -> String {
        let address = MACAddressText(String(name.dropFirst(3)))?.canonical ?? name
        return prefix(of: name) + hasher.hash(address.utf8, of: .mac)
    }
}
