/// How far a counter of the kernel went on between two readings.
enum CounterDelta {
    /// - Returns: `nil` where the counter went back and did not plausibly wrap: it began anew.
    ///
    /// A counter wraps at 32 bits (older drivers' and kernels') or at 64. It is taken to have wrapped only if it stood in
    /// the upper half before and went on by less than half of its range: a reset of a young counter looks different.
    static func since(_ before: UInt64, _ now: UInt64) -> UInt64? {
        if now >= before { return now - before }
        let half = UInt64(1) << 31
        if before <= UInt64(UInt32.max) {
            let delta = now + (UInt64(1) << 32) - before
            return before >= half && delta < half ? delta : nil
        }
        let delta = now &- before
        return before >= 1 << 63 && delta < 1 << 63 ? delta : nil
    }
}

extension InterfaceStatistics {
    /// What was counted since `earlier`.
    ///
    /// - Returns: `nil` where any counter began anew: an interface is reset as a whole, and then none of them compares.
    func since(_ earlier: InterfaceStatistics) -> InterfaceStatistics? {
        guard let receivedPackets = CounterDelta.since(earlier.receivedPackets, receivedPackets),
            let sentPackets = CounterDelta.since(earlier.sentPackets, sentPackets),
            let receivedBytes = CounterDelta.since(earlier.receivedBytes, receivedBytes),
            let sentBytes = CounterDelta.since(earlier.sentBytes, sentBytes),
            let receivedErrors = CounterDelta.since(earlier.receivedErrors, receivedErrors),
            let sentErrors = CounterDelta.since(earlier.sentErrors, sentErrors),
            let receivedDrops = CounterDelta.since(earlier.receivedDrops, receivedDrops),
            let sentDrops = CounterDelta.since(earlier.sentDrops, sentDrops)
        else { return nil }
        return InterfaceStatistics(
            receivedPackets: receivedPackets, sentPackets: sentPackets, receivedBytes: receivedBytes, sentBytes: sentBytes,
            receivedErrors: receivedErrors, sentErrors: sentErrors, receivedDrops: receivedDrops, sentDrops: sentDrops)
    }

    /// Adds another interface's; stays at the greatest number rather than wrap.
    mutating func add(_ other: InterfaceStatistics) {
        func sum(_ one: UInt64, _ two: UInt64) -> UInt64 {
            let (sum, overflow) = one.addingReportingOverflow(two)
            return overflow ? .max : sum
        }
        receivedPackets = sum(receivedPackets, other.receivedPackets)
        sentPackets = sum(sentPackets, other.sentPackets)
        receivedBytes = sum(receivedBytes, other.receivedBytes)
        sentBytes = sum(sentBytes, other.sentBytes)
        receivedErrors = sum(receivedErrors, other.receivedErrors)
        sentErrors = sum(sentErrors, other.sentErrors)
        receivedDrops = sum(receivedDrops, other.receivedDrops)
        sentDrops = sum(sentDrops, other.sentDrops)
    }
}
