import CollectorStore
import Dispatch
import Hummingbird
import Logging
import NIOCore
import Synchronization
import WireModel

/// Time for rates and waits. Nobody can set it: the time of day can step back, and whoever was admitted before the step
/// would then have to wait as long as the step.
enum Uptime {
    /// Since the machine started, suspension not counted.
    static func microseconds() -> Int64 { Int64(clamping: DispatchTime.now().uptimeNanoseconds / 1000) }
}

/// How often somebody may do something: so many times a second on average, and more at once. Of devices that ask: a
/// program that has gone wild is held off before anything of its request is read; a device that drains its backlog, one
/// request after the other, is not meant.
///
/// The generic cell rate algorithm: of each key one time is kept. Safe from any thread.
final class RequestRate<Key: Hashable & Sendable>: Sendable {
    /// Upper bound of remembered keys. Beyond it, keys that owe no wait are forgotten.
    private let remembered = 65_536

    /// Microseconds between two requests on average.
    private let spacing: Int64
    /// How far ahead of its pace a key may be, microseconds.
    private let tolerance: Int64
    /// When a key's next request is due by its pace.
    private let due = Mutex<[Key: Int64]>([:])

    /// - Parameter burstSeconds: a burst may be as large as what this many seconds allow.
    init(perSecond: Int, burstSeconds: Int64 = 2) {
        spacing = max(1, 1_000_000 / Int64(perSecond))
        tolerance = burstSeconds * 1_000_000
    }

    /// No bursts: one request, and the next after `secondsBetween` seconds.
    init(secondsBetween: Int64) {
        spacing = secondsBetween * 1_000_000
        tolerance = 0
    }

    /// Takes a request into account. - Parameter now: `Uptime`.
    /// - Returns: `nil`, or how long it has to wait, microseconds; it does not count then.
    func admit(_ key: Key, at now: Int64) -> Int64? {
        due.withLock { due in
            if due[key] == nil, due.count >= remembered {
                due = due.filter { $0.value > now }
                // All keys are busy: the newcomer is admitted and not remembered.
                if due.count >= remembered { return nil }
            }
            // No pace leads further ahead than this. Should time go back all the same, the wait is that burst and not
            // as long as the step.
            let expected = min(max(due[key] ?? now, now), now + tolerance + spacing)
            due[key] = expected
            guard expected - now <= tolerance else { return expected - now - tolerance }
            due[key] = expected + spacing
            return nil
        }
    }
}

/// Holds a device off that asks too often, before anything of its request's body is read.
extension RequestRate: MiddlewareProtocol, RouterMiddleware where Key == DeviceID {
    func handle(_ request: Request, context: DeviceContext, next: Next<DeviceContext>) async throws -> Response {
        if let wait = admit(context.device.id, at: Uptime.microseconds()) {
            throw Problem.busy("This device asks more often than the collector answers one. Wait.", wait: wait)
        }
        return try await next(request, context)
    }
}

/// Bounds what one address can cause without a right credential: how often it is told that a credential is wrong, and
/// how many lines of the log its refused requests take.
///
/// Only failed attempts count, and only failed attempts are refused: whoever comes with a right credential is served,
/// however many wrong ones come from the same address. So a NAT or a proxy that shows one address for a whole fleet
/// locks no honest device out. Secrets have 256 random bits and are not guessed at any rate; what is bounded is the
/// work and the log of somebody who tries. A device whose credential has become wrong behind such an address is asked
/// to wait, and enrolls again a little later.
///
/// Behind a proxy the address is the proxy's: `X-Forwarded-For` can be written by anybody and is not read. Safe from
/// any thread.
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

    /// What stands for a client: its address, of IPv6 the network of 64 bits, within which a client chooses addresses
    /// as it likes. `nil`: unknown.
    static func name(of address: SocketAddress?) -> String? {
        ConnectionShares.Address(address)?.description
    }
}
