/// Decides between slices with one key: the greatest version counts.
///
/// Every recovery after a failover raises the generation, and every claim raises the chain's attempt. A version is
/// never used for two inserts.
struct SliceVersion: Hashable, Comparable, Sendable {
    var generation: UInt64
    var attempt: UInt64

    /// The attempt of slices that a recovery writes again. Claims begin with 1.
    static let attemptOfRecovery: UInt64 = 0

    static func < (left: Self, right: Self) -> Bool {
        (left.generation, left.attempt) < (right.generation, right.attempt)
    }
}
