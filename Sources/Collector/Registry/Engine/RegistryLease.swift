import RecordStore
import Synchronization

/// How long a collector may answer from memory without asking the registry.
///
/// Several collectors have one registry, and each keeps some of it in memory. A collector reads every second what the
/// others changed, and each read extends its lease. Without a read for 2 seconds the lease is over, and nothing in
/// memory is used until the next one. So a change counts in all collectors 2 seconds after its commit, also in one that
/// was frozen or has lost its connection.
///
/// Safe to use from any thread.
package final class RegistryLease: Sendable {
    package static let microseconds: Int64 = 2_000_000

    /// `nil`: the lease never ends.
    private let clock: (any BootClock)?
    private let end = Mutex(Int64.min)

    /// A lease that is over until its first renewal.
    /// - Parameter clock: counts while the machine sleeps, and nobody sets it. `nil` is for the only collector of a
    ///   registry, which knows all changes: its lease never ends.
    package init(clock: (any BootClock)?) { self.clock = clock }

    package var isValid: Bool {
        guard let clock else { return true }
        let now = clock.sinceBoot()
        return end.withLock { now < $0 }
    }

    /// The time that a caller of `renew` asks for before its read.
    package func now() -> Int64 { clock?.sinceBoot() ?? 0 }

    /// Everything that was committed before the read is known and applied.
    /// - Parameter begin: when the read began. What was committed later may be missing in it.
    package func renew(from begin: Int64) {
        end.withLock { $0 = max($0, begin + Self.microseconds) }
    }
}
