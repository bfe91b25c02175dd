import Glibc
import Hummingbird
import Logging
import NIOCore
import Synchronization
import WireModel

/// Bounds what one address can cause without a right credential: how often it is told that a credential is wrong, and how many lines of the log its
/// refused requests take.
///
/// Only failed attempts count, and only failed attempts are refused: whoever comes with a right credential is served, however many wrong ones come
/// from the same address. So a NAT or a proxy that shows one address for a whole fleet locks no honest device out. Secrets have 256 random bits and
/// are not guessed at any rate; what is bounded is the work and the log of somebody who tries. A device whose credential has become wrong behind such
/// an address is asked to wait, and enrolls again a little later.
///
/// Behind a proxy the address is the proxy's: `X-Forwarded-For` can be written by anybody and is not read. Safe from any thread.
final class PeerLimits: Sendable {
    /// Failed attempts of one address: a second's worth each second, and a minute's worth at once.
    private let failures = RequestRate<String>(perSecond: 1, burstSeconds: 60)
    /// Lines of the log about refused requests: of one address, and of all together.
    private let lines = RequestRate<String>(perSecond: 1, burstSeconds: 60)
    private let allLines = RequestRate<String>(perSecond: 10, burstSeconds: 60)
    /// Requests that were refused without a line since the last one.
    private let unlogged = Mutex(0)
    /// Lines of the log about refused certificates: of one device, and of all together. Such a device asks again by
    /// itself for as long as it lasts.
    private let certificateLines = RequestRate<DeviceID>(secondsBetween: 60)
    private let allCertificateLines = RequestRate<String>(perSecond: 1, burstSeconds: 60)
    /// Certificates that were refused without a line since the last one.
    private let unloggedCertificates = Mutex(0)

    /// A failed attempt is counted.
    /// - Parameter peer: `nil` where there is no connection.
    /// - Returns: how long to wait, in microseconds, where there were too many; the attempt is answered so then.
    func failed(_ peer: String?, at now: Int64) -> Int64? {
        guard let peer else { return nil }
        return failures.admit(peer, at: now)
    }

    /// Whether a refused request gets a line.
    /// - Returns: how many had none since the last; `nil`: this has none either.
    func line(_ peer: String?, at now: Int64) -> Int? {
        let isLogged = lines.admit(peer ?? "", at: now) == nil && allLines.admit("", at: now) == nil
        return Self.count(isLogged, unlogged)
    }

    /// Whether a refused certificate gets a line.
    /// - Returns: how many had none since the last; `nil`: this has none either.
    func certificateLine(_ device: DeviceID, at now: Int64) -> Int? {
        let isLogged = certificateLines.admit(device, at: now) == nil && allCertificateLines.admit("", at: now) == nil
        return Self.count(isLogged, unloggedCertificates)
    }

    private static func count(_ isLogged: Bool, _ unlogged: borrowing Mutex<Int>) -> Int? {
        unlogged.withLock { count in
            guard isLogged else {
                count += 1
                return nil
            }
            defer { count = 0 }
            return count
        }
    }

    /// What stands for a client: its address, of IPv6 the network of 64 bits, within which a client chooses addresses as it likes. `nil`: unknown.
    static func name(of address: SocketAddress?) -> String? {
        guard let text = address?.ipAddress else { return nil }
        guard case .v6 = address else { return text }
        var bytes = [UInt8](repeating: 0, count: 16)
        guard inet_pton(AF_INET6, text, &bytes) == 1 else { return text }
        // An IPv4 address in IPv6's clothes (::ffff:0:0/96) is one host.
        let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10] == 0xFF && bytes[11] == 0xFF
        if isMapped { return bytes.suffix(4).map { "\($0)" }.joined(separator: ".") }
        let network = stride(from: 0, to: 8, by: 2).map { String(UInt16(bytes[$0]) << 8 | UInt16(bytes[$0 + 1]), radix: 16) }
        return network.joined(separator: ":") + "::/64"
    }
}
