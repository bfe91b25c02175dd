import Glibc

/// The rule for which hosts are this machine. Every program that permits plaintext without being asked uses this one
/// rule.
package enum LoopbackHost {
    /// Whether only programs on this machine answer at this host, or can reach it: the name `localhost`, 127.0.0.0/8
    /// and ::1.
    ///
    /// Other names count as other machines whatever they resolve to now, because the next look-up may differ. Short
    /// forms of addresses (`127.1`) do too, because programs read them in different ways.
    /// - Parameter host: a name or an address; an IPv6 address without brackets.
    package static func contains(_ host: String) -> Bool {
        let name = host.hasSuffix(".") ? host.dropLast() : host[...]
        if name.lowercased() == "localhost" { return true }
        var four = in_addr()
        if inet_pton(AF_INET, host, &four) == 1 { return withUnsafeBytes(of: four) { $0[0] == 127 } }
        var six = in6_addr()
        guard inet_pton(AF_INET6, host, &six) == 1 else { return false }
        return withUnsafeBytes(of: six) { bytes in
            if bytes.elementsEqual([UInt8](repeating: 0, count: 15) + [1]) { return true }
            // An IPv4-mapped address, ::ffff:127.0.0.1.
            return bytes.prefix(12).elementsEqual([UInt8](repeating: 0, count: 10) + [0xFF, 0xFF]) && bytes[12] == 127
        }
    }
}
