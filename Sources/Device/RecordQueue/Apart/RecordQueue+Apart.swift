import WireModel

/// Records that wait apart from the streams, without a number. They are counted as waiting, and the caps hold for them too.
extension RecordQueue {
    /// Sets a record apart, on synced disk when this returns.
    /// - Throws: as `enqueueDurably`.
    package func enqueueApart(_ record: NewRecord, account: ApartAccount) async throws(QueueError) {
        switch account {
        case .consent: try await writer.enqueueApart(record)
        }
    }

    /// Lets the records go into their streams, in the order in which they came, in bounded transactions. A crash in between leaves the rest
    /// apart: call it again.
    /// - Returns: how many.
    package func releaseApart(_ account: ApartAccount) async throws(QueueError) -> Int {
        var released = 0
        for stream in StreamName.allCases {
            // What is kept apart meanwhile is left to the next call: a producer that never pauses must not keep this one from returning.
            var left: UInt64?
            while left.map({ $0 > 0 }) ?? true {
                let step = try await run(committingFirst: true) { store -> (waiting: UInt64, moved: Int)? in
                    let waiting = UInt64(store.state[.consent(stream)].rowCount)
                    return waiting > 0 ? (waiting, try store.moveSome(from: .consent(stream))) : nil
                }
                guard let step else { break }
                let former = left ?? step.waiting
                left = former > UInt64(step.moved) ? former - UInt64(step.moved) : 0
                released += step.moved
            }
        }
        // As with an ended epoch: what was moved must not wait once more because a WAL is lost.
        if released > 0 { try await run { $0.checkpoint() } }
        return released
    }

    /// Drops the records, counted under the reason, in bounded transactions.
    /// - Returns: how many.
    package func dropApart(_ account: ApartAccount, reason: DropReason) async throws(QueueError) -> Int {
        var dropped = 0
        for stream in StreamName.allCases {
            while true {
                let count = try await run(committingFirst: true) { store -> UInt64 in
                    let before = store.state[.consent(stream)].rowCount
                    guard before > 0 else { return 0 }
                    guard
                        try store.drop(
                            oldest: QueueFile.transactionRecords, bytes: QueueFile.transactionBytes, from: .consent(stream),
                            reason: reason, keepAside: false) != nil
                    else {
                        // The ledger says there are rows, and there is none.
                        return UInt64(try store.moveSome(from: .consent(stream)))
                    }
                    return before - store.state[.consent(stream)].rowCount
                }
                guard count > 0 else { break }
                dropped += Int(count)
            }
        }
        return dropped
    }

    /// Counts records that were refused before they came to the queue. Never waits; written with the next commit.
    package func countDropped(_ reason: DropReason, of stream: StreamName, _ count: UInt64 = 1) {
        writer.countDropped(reason, of: stream, count)
    }
}
