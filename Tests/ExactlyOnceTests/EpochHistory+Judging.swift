import RecordQueue
import WireModel

/// The end of a history, and what is said of it.
extension EpochHistory {
    /// Over a network that works: closes what is to be closed, sends what waits, until nothing does. Consent is given.
    /// Where a late part of a branch that is gone has moved the collector's mark, the device learns of it by one more
    /// exchange.
    func settle() async throws {
        isPending = false
        var rounds = 0
        var isSettled = false
        while !isSettled {
            rounds += 1
            guard rounds < 1000 else { throw Violation("ended epochs are never settled") }
            // What a close counts beside itself rides on a part as well.
            isSettled = !device.queue.hasEpochToClose || brokenRule == .neverCloses
            while try await close(losing: false) {}
            for stream in StreamName.allCases {
                try produce(stream)
                try await flush()
                let epoch = device.queue.epoch
                while device.queue.epoch == epoch,
                    let part = try await device.queue.nextPart(
                        of: stream, maximumBytes: 1 << 20, maximumRecords: 40, hold: .zero)
                {
                    try await apply(collector.append(part))
                    if let ghost = network.ghost(), try await isStored(ghost) { isSettled = false }
                }
            }
            if try await isUnsettled() { isSettled = false }
            guard isSettled else { continue }
            for ghost in network.parts where try await isStored(ghost) { isSettled = false }
        }
    }

    private func isStored(_ part: BatchPart) async throws -> Bool {
        try await collector.append(part).outcome == .stored
    }

    private func isUnsettled() async throws -> Bool {
        guard brokenRule != .neverCloses else { return false }
        let status = try await device.queue.status()
        return status.streams.values.contains { $0.waiting > 0 || $0.apart > 0 }
            || status.ended.contains { !$0.isClosed }
    }

    func judge() async throws {
        let collected = try await collector.balances(beside: device.queue)
        let balances = try await device.queue.balance()
        for stream in StreamName.allCases {
            guard let line = lines[stream], let balance = balances[stream], let sum = collected[stream] else {
                throw Violation("\(stream): no balance")
            }
            let (stored, rows) = try await stored(stream)
            try judge(stream, line: line, balance: balance, stored: stored)
            guard balance.waiting == 0, balance.stored == rows, sum.stored == rows else {
                throw Violation(
                    "\(stream): \(rows) records are stored, the device says \(balance), the collector \(sum)")
            }
            seen.moved += balance.dropped["moved"] ?? 0
            // Both sides count the same, each reason for itself - but for what a branch that is gone had reported: that
            // is not undone.
            for reason in Set(balance.dropped.keys).union(sum.dropped.keys) {
                let (own, reported) = (balance.dropped[reason] ?? 0, sum.dropped[reason] ?? 0)
                let spare = reason == "moved" ? 0 : abandoned[stream]?[reason] ?? 0
                guard (own...own + spare).contains(reported) else {
                    throw Violation(
                        "\(stream) \(reason): the device counts \(balance.dropped), the collector \(sum.dropped)")
                }
            }
        }
    }

    /// What is not stored was dropped by somebody's will, and is counted once.
    private func judge(_ stream: StreamName, line: Line, balance: StreamBalance, stored: Set<UInt64>) throws {
        let excused = excused[stream] ?? []
        let lost = line.certain.subtracting(stored)
        if let first = lost.subtracting(excused).min() {
            throw Violation(
                """
                \(stream): record \(first) and \(lost.subtracting(excused).count - 1) more are lost: neither stored \
                nor dropped
                """
            )
        }
        let dropped = balance.dropped.reduce(0) { $1.key == "moved" ? $0 : $0 + Int($1.value) }
        var (least, most) = (lost.count, lost.count)
        if wasRestored {
            least -= lost.intersection(mayBeUncounted).count
            // Gaps hide links: nobody knows whether a record of one had arrived from the other branch, or was reported
            // as dropped by it, before this one counts it.
            most += line.dropped.count + (droppedElsewhere[stream]?.count ?? 0)
        }
        guard (least...most).contains(dropped) else {
            throw Violation(
                """
                \(stream): \(lost.count), so \(least) to \(most), records were dropped, the device counts \
                \(balance.dropped)
                """
            )
        }
    }

    /// Identities of what the collector has; one that is there twice is a violation.
    private func stored(_ stream: StreamName) async throws -> (identities: Set<UInt64>, rows: UInt64) {
        let records = try await collector.stored(stream)
        var stored: Set<UInt64> = []
        for record in records where !stored.insert(record.identity).inserted {
            throw Violation("\(stream): record \(record.identity) is stored twice")
        }
        return (stored, UInt64(records.count))
    }
}
