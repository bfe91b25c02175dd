#if canImport(Glibc)
import Glibc
#elseif canImport(Musl)
import Musl
#elseif canImport(Darwin)
import Darwin
#endif

/// An IPv4 or IPv6 address: 4 or 16 bytes.
struct IPAddress: Hashable, Sendable {
    /// `AF_INET` and `AF_INET6` of Linux, as they stand in netlink messages.
    static let version4: UInt8 = 2
    static let version6: UInt8 = 10

    let bytes: [UInt8]

    /// - Returns: `nil` where the length is not that of the family.
    init?(family: UInt8, _ bytes: UnsafeRawBufferPointer) {
        switch (family, bytes.count) {
        case (Self.version4, 4), (Self.version6, 16): self.bytes = Array(bytes)
        default: return nil
        }
    }

    /// The usual text, for IPv6 that of RFC 5952.
    var text: String {
        withUnsafeTemporaryAllocation(of: CChar.self, capacity: 64) { memory in
            // Cannot fail: the family is one of two and the memory is long enough.
            guard let text = inet_ntop(bytes.count == 4 ? AF_INET : AF_INET6, bytes, memory.baseAddress, 64) else { return "" }
            return String(cString: text)
        }
    }
}
