import RecordStore
import Synchronization
import TelemetryBasics

/// Lets calls through while the storage answers. After one has found it away, calls fail at once for a while; then one
/// tries, and the others still fail until it is back.
///
/// ```
/// open ── a call finds it away ──> closed ── pause over, next call ──> probing ── it answers ──> open
///                                    ^                                    │
///                                    └──────────── still away ────────────┘
/// ```
final class AvailabilityGate: Sendable {
    private struct State {
        /// `nil`: open.
        var opensAt: Int64?
        var isProbing = false
    }

    /// A call that was let through.
    struct Entry: Sendable {
        fileprivate let isProbe: Bool
    }

    private let pauseNanoseconds: Int64
    private let now: @Sendable () -> Int64
    private let state = Mutex(State())

    /// - Parameter now: nanoseconds of a clock that nobody sets.
    init(pause: Duration, now: @escaping @Sendable () -> Int64 = SystemClock.monotonicNanoseconds) {
        pauseNanoseconds = pause.components.seconds * 1_000_000_000 + pause.components.attoseconds / 1_000_000_000
        self.now = now
    }

    /// - Throws: `.unavailable` while it is closed.
    func enter() throws(StoreError) -> Entry {
        let now = now()
        let entry: Entry? = state.withLock { state in
            guard let opensAt = state.opensAt else { return Entry(isProbe: false) }
            guard !state.isProbing, now >= opensAt else { return nil }
            state.isProbing = true
            return Entry(isProbe: true)
        }
        guard let entry else {
            throw StoreError(
                .unavailable,
                """
                log chunks in object storage (unavailable): the storage did not answer a moment ago; the next try is \
                soon.
                """
            )
        }
        return entry
    }

    /// - Parameter isAway: whether the call found the storage away.
    func leave(_ entry: Entry, isAway: Bool) {
        let opensAt = now() + pauseNanoseconds
        state.withLock { state in
            if entry.isProbe { state.isProbing = false }
            state.opensAt = isAway ? opensAt : nil
        }
    }
}
