import Dispatch
import Hummingbird
import Logging
import NIOCore
import Registry
import Synchronization
import WireModel

/// Time for rates and waits. Nobody can set it: the time of day can step back, and whoever was admitted before the step
/// would then have to wait as long as the step.
package enum Uptime {
    /// Since the machine started, suspension not counted.
    package static func microseconds() -> Int64 { Int64(clamping: DispatchTime.now().uptimeNanoseconds / 1000) }
}

/// Limits how often somebody may do something: an average rate per second, with bursts. For devices: a program that
/// runs wild is stopped before anything of its request is read. A device that sends its backlog one request after the
/// other is not affected.
///
/// The generic cell rate algorithm: it stores one time per key. Safe from any thread.
final class RequestRate<Key: Hashable & Sendable>: Sendable {
    /// The most remembered keys. Beyond that, keys that need not wait are forgotten.
    private let remembered = 65_536

    /// The average time between two requests in microseconds.
    private let spacing: Int64
    /// How far a key may be ahead of its pace, in microseconds.
    private let tolerance: Int64
    /// How many keep this limit together, each for what reaches it.
    private let sharers: @Sendable () -> Int
    /// When a key's next request is due by its pace.
    private let due = Mutex<[Key: Int64]>([:])

    /// - Parameters:
    ///   - burstSeconds: a burst may be as large as what this many seconds allow.
    ///   - sharers: how many collectors keep this limit together. Each admits its share, as requests are spread evenly.
    init(perSecond: Int, burstSeconds: Int64 = 2, sharers: @escaping @Sendable () -> Int = { 1 }) {
        spacing = max(1, 1_000_000 / Int64(perSecond))
        tolerance = burstSeconds * 1_000_000
        self.sharers = sharers
    }

    /// Creates a rate without bursts: one request every `secondsBetween` seconds.
    init(secondsBetween: Int64) {
        spacing = secondsBetween * 1_000_000
        tolerance = 0
        sharers = { 1 }
    }

    /// Counts a request. - Parameter now: `Uptime`.
    /// - Returns: `nil` if admitted. Otherwise how long it must wait, in microseconds; then it is not counted.
    func admit(_ key: Key, at now: Int64) -> Int64? {
        let spacing = spacing * Int64(sharers())
        return due.withLock { due in
            if due[key] == nil, due.count >= remembered {
                due = due.filter { $0.value > now }
                // All keys are busy. A new key is admitted and not remembered.
                if due.count >= remembered { return nil }
            }
            // No key can be further ahead than this. If time goes back nevertheless, the wait is limited to the burst.
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
            throw Problem.busy("This device sends more requests than one device may. Wait.", wait: wait)
        }
        return try await next(request, context)
    }
}

/// Limits what one address can cause without a valid credential: how often it hears that a credential is wrong, and how
/// many log lines its refused requests produce.
///
/// Only failed attempts count, and only failed attempts are refused. A valid credential is always served, however many
/// invalid ones come from the same address. So a NAT or proxy that shows one address for a whole fleet locks no honest
/// device out. Secrets have 256 random bits and cannot be guessed at any rate; the limit bounds the work and the log of
/// somebody who tries. A device behind such an address whose credential became invalid is asked to wait, and enrolls
/// again a little later.
///
/// Behind a proxy the address is the proxy's. Anybody can write `X-Forwarded-For`, so it is not read. Safe from any
/// thread.
final class PeerLimits: Sendable {
    /// Failed attempts of one address: one per second, and up to a minute's worth at once.
    private let failures = RequestRate<String>(perSecond: 1, burstSeconds: 60)
    /// Log lines about refused requests: of one address, and of all together.
    private let lines = RequestRate<String>(perSecond: 1, burstSeconds: 60)
    private let allLines = RequestRate<String>(perSecond: 10, burstSeconds: 60)
    /// Refused requests without a line since the last one.
    private let unlogged = Mutex(0)
    /// Log lines about refused certificates: of one device, and of all together. Such a device asks again by itself.
    private let certificateLines = RequestRate<DeviceID>(secondsBetween: 60)
    private let allCertificateLines = RequestRate<String>(perSecond: 1, burstSeconds: 60)
    /// Refused certificates without a line since the last one.
    private let unloggedCertificates = Mutex(0)

    /// Counts a failed attempt.
    /// - Parameter peer: `nil` without a connection.
    /// - Returns: how long to wait, in microseconds, if there were too many. The answer then says so.
    func failed(_ peer: String?, at now: Int64) -> Int64? {
        guard let peer else { return nil }
        return failures.admit(peer, at: now)
    }

    /// Whether a refused request gets a line.
    /// - Returns: how many had none since the last; `nil` if this one gets none either.
    func line(_ peer: String?, at now: Int64) -> Int? {
        let isLogged = lines.admit(peer ?? "", at: now) == nil && allLines.admit("", at: now) == nil
        return Self.count(isLogged, unlogged)
    }

    /// Whether a refused certificate gets a line.
    /// - Returns: how many had none since the last; `nil` if this one gets none either.
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

    /// Identifies a client by its address. For IPv6 by the /64 network, in which a client can choose addresses freely.
    /// `nil` if unknown.
    static func name(of address: SocketAddress?) -> String? {
        ConnectionShares.Address(address)?.description
    }
}
