import CollectorTunables

/// Decides which replicas are asked first. It knows no network and no clock.
///
/// Replicas are asked in the order of the configuration. One that failed is asked last for a pause, which doubles with
/// each further failure. After the pause one request tries it; the others still ask it last until that request has
/// ended. So a frozen server costs one request its timeout, not all of them.
struct ReplicaHealth: Sendable {
    typealias Instant = ContinuousClock.Instant

    private struct Record {
        /// Failed attempts in a row. Requests that ran side by side count as one.
        var failures = 0
        /// `nil`: the replica works.
        var isAskedLastUntil: Instant?
        /// One request tries it at present.
        var isTried = false
    }

    private var records: [Record]

    init(count: Int) { records = Array(repeating: Record(), count: count) }

    /// The replicas in the order in which one request shall ask them.
    mutating func order(now: Instant) -> [Int] {
        var first: [Int] = []
        var last: [(index: Int, until: Instant)] = []
        for index in records.indices {
            guard let until = records[index].isAskedLastUntil else {
                first.append(index)
                continue
            }
            if until <= now {
                records[index].isAskedLastUntil = now + pause(records[index].failures)
                records[index].isTried = true
                first.append(index)
            } else {
                last.append((index, until))
            }
        }
        // Of those that failed, the one that failed first is the most likely to work again.
        return first + last.sorted { ($0.until, $0.index) < ($1.until, $1.index) }.map(\.index)
    }

    mutating func answered(_ index: Int) { records[index] = Record() }

    /// - Returns: whether the replica worked until now.
    @discardableResult
    mutating func failed(_ index: Int, now: Instant) -> Bool {
        let record = records[index]
        guard record.isAskedLastUntil == nil || record.isTried else { return false }
        records[index].failures += 1
        records[index].isAskedLastUntil = now + pause(records[index].failures)
        records[index].isTried = false
        return record.failures == 0
    }

    private func pause(_ failures: Int) -> Duration {
        min(
            Tunables.Cluster.firstReplicaPause * (1 << min(max(failures - 1, 0), 10)),
            Tunables.Cluster.longestReplicaPause)
    }
}
