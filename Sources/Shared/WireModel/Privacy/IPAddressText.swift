#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An IPv4 or IPv6 address as text, with or without a zone (`fe80::1%eth0`).
struct IPAddressText {
    private let bytes: [UInt8]
    private let zone: Substring

    /// `nil` where it is neither.
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

    /// One spelling per address, without its zone: that is a matter of the machine.
    var canonical: String { Self.text(bytes) }

    /// The network it is in: /24, or /48. An IPv4 address in IPv6 clothes (`::ffff:192.0.2.1`) is one of IPv4.
    var network: String {
        var network = bytes
        let kept = bytes.count == 4 ? 3 : isMappedIPv4 ? 15 : 6
        for index in kept..<bytes.count { network[index] = 0 }
        return Self.text(network)
    }

    /// The address with its last eight bytes cleared, where they are made of the hardware address (EUI-64: `ff:fe` in its middle); else `nil`.
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
        // Cannot fail: the family is known and the buffer as long as the longest address.
        inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, &text, socklen_t(text.count))
        return String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
    }
}
