import WireModel

/// When a device asks for a new credential by itself: a secret that was read from a disk or a backup, unnoticed, is of no use for ever then. Pure.
///
/// Ages are counted by the collector's clock, so nothing is decided before it has answered. Where that clock jumps forward, a renewal comes too early;
/// where it goes back, the count begins anew: both leave a device that can speak, since the former credential stays good until the new one was used.
struct CredentialRenewal: Equatable, Sendable {
    enum Step: Equatable, Sendable {
        case wait
        /// Nobody knows how old it is: from now on somebody does.
        case beginCounting
        case renew
    }

    /// After a failure the next attempt is so far away, in microseconds.
    private static let pause: UInt64 = 3600 * 1_000_000
    /// A fleet that was enrolled on one day does not renew on one day: each device comes earlier by a part of its own of the last tenth.
    private static let spread = 10

    /// By the time since boot.
    private var notBefore: UInt64 = 0

    init() {}

    /// - Parameters:
    ///   - wallTime: microseconds since 1970, by the collector's clock.
    ///   - now: microseconds since boot.
    func step(_ enrollment: Enrollment, lifetime: Duration, at wallTime: Int64, now: UInt64) -> Step {
        guard let since = enrollment.credentialSince, since <= wallTime else { return .beginCounting }
        guard now >= notBefore, wallTime - since >= Self.age(of: enrollment.deviceID, lifetime: lifetime) else { return .wait }
        return .renew
    }

    mutating func failed(now: UInt64) { notBefore = now &+ Self.pause }

    /// At which this device's is renewed, microseconds.
    static func age(of device: DeviceID, lifetime: Duration) -> Int64 {
        let whole = Int64(clamping: lifetime.components.seconds).multipliedReportingOverflow(by: 1_000_000)
        let microseconds = whole.overflow ? Int64.max : whole.partialValue
        let part = Int64(device.low % 1000)
        return microseconds - microseconds / Int64(Self.spread) / 1000 * part
    }
}
