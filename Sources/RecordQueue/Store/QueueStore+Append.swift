import FoundationEssentials
import Logging
import SQLite
import WireModel

/// What became of a record handed to the store.
enum AppendOutcome: Equatable, Sendable {
    case number(UInt64)
    /// The cap is reached and nothing may go in its favour; it was counted.
    case refused
}

/// Numbering and inserting.
extension QueueStore {
    /// Commits records in one transaction, and the counts of those refused before it.
    ///
    /// - Returns: an outcome for each record, in order.
    /// - Throws: `.diskFull` where neither the file nor the disk has room: nothing is committed then.
    func append(_ records: [NewRecord], unnumbered: [StreamName: [DropReason: UInt64]] = [:]) throws -> [AppendOutcome] {
        var needed = 0
        for attempt in 0... {
            let room = try makeRoom(for: records, estimateFactor: 1 << attempt)
            needed = room.pages
            do {
                return try change { next in
                    for (stream, counts) in unnumbered { next[stream].unnumbered.merge(counts, uniquingKeysWith: +) }
                    var outcomes: [AppendOutcome] = []
                    outcomes.reserveCapacity(records.count)
                    for (index, record) in records.enumerated() {
                        if room.refused.contains(index) {
                            next[record.stream].unnumbered[.byteCap, default: 0] += 1
                            outcomes.append(.refused)
                        } else {
                            outcomes.append(.number(try insert(record, into: &next)))
                        }
                    }
                    if room.refused.count < records.count, try availablePages() < QueueFile.reservePages {
                        throw outOfPages(needed)
                    }
                    return outcomes
                }
            } catch {
                // The estimate was short: ask for more, twice.
                guard attempt < 2, QueueError(error).code == .diskFull, room.refused.count < records.count else { throw error }
            }
        }
        throw outOfPages(needed)
    }

    private func outOfPages(_ needed: Int) -> QueueError {
        QueueError(.diskFull, "\(path): no room for \(needed) pages of \(QueueFile.pageBytes) bytes. Free space on the file system.")
    }

    private func insert(_ record: NewRecord, into next: inout QueueState) throws -> UInt64 {
        let number = next[record.stream].last + 1
        guard number <= BatchPart.greatestNumber else { throw QueueError(.invalid, "stream \(record.stream) has used up its numbers") }
        let bytes = record.serialized(number: number)
        let link = next[record.stream].lastLink.appending(bytes)
        let queueTime = max(next[record.stream].lastQueueTime, next.clock.time(of: record.stamp))
        let statement = try connection.cached(Self.insertText[record.stream] ?? "")
        try statement.bind(number, at: 1)
        try statement.bind(record.kind.rawValue, at: 2)
        try statement.bind(record.stamp.wallTime, at: 3)
        try statement.bind(queueTime, at: 4)
        try statement.bind(bytes.count, at: 5)
        try statement.bind(link.data, at: 6)
        try bytes.withUnsafeBytes { (bytes) throws in try statement.run(bindingUncopied: bytes, at: 7) }
        next[record.stream].append(link: link, bytes: bytes.count, queueTime: queueTime)
        return number
    }

    private static let insertText = Dictionary(
        uniqueKeysWithValues: StreamName.allCases.map {
            ($0, "INSERT INTO \(QueueFile.table($0)) (number, kind, wall_time, queue_time, size, link, body) VALUES (?, ?, ?, ?, ?, ?, ?)")
        })

    // MARK: - Room

    private struct Room {
        /// Indices of records that do not fit under the cap.
        var refused: Set<Int> = []
        var pages = 0
    }

    /// Grows the file or evicts, class by class, in favour of the records; status first.
    private func makeRoom(for records: [NewRecord], estimateFactor: Int) throws -> Room {
        var room = Room()
        for stream in StreamName.allCases {
            var indices = records.indices.filter { records[$0].stream == stream }
            while !indices.isEmpty {
                let bytes = indices.reduce(0) { $0 + records[$1].byteCount }
                let pages = RoomPlan.pages(records: indices.count, bytes: bytes) * estimateFactor
                if try makeRoom(pages: room.pages + pages, records: indices.count, bytes: bytes, for: stream) {
                    room.pages += pages
                    break
                }
                // In favour of what is newer.
                let refused = indices.prefix((indices.count + 1) / 2)
                room.refused.formUnion(refused)
                indices.removeFirst(refused.count)
            }
        }
        return room
    }

    /// - Returns: `false` where the cap is reached and no class may give way.
    private func makeRoom(pages: Int, records: Int, bytes: Int, for newcomer: StreamName) throws -> Bool {
        while Int(state[newcomer].rowCount) + records > configuration.maximumRecords, state[newcomer].rowCount > 0 {
            let surplus = Int(state[newcomer].rowCount) + records - configuration.maximumRecords
            try evict(from: newcomer, reason: .rowCap, records: surplus, bytes: QueueFile.transactionBytes)
        }
        while true {
            switch try roomPlan().step(needed: pages) {
            case .fits where state.bytes + UInt64(bytes) <= UInt64(configuration.maximumBytes):
                return true
            case .fits:
                guard try evictLeast(for: newcomer, bytes: bytes) else { return false }
            case .grow(let target):
                guard diskAllows(pages: target - allocatedPages) else { throw keptFree(target - allocatedPages) }
                try grow(toPages: target)
            case .evict(let missing):
                guard try evictLeast(for: newcomer, bytes: missing * QueueFile.pageBytes) else { return false }
            }
        }
    }

    private func keptFree(_ pages: Int) -> QueueError {
        QueueError(
            .diskFull,
            "\(path) may not grow by \(pages * QueueFile.pageBytes) bytes: \(configuration.keepFreeBytes) bytes and "
                + "\(configuration.keepFreeInodesPercent) % of the inodes are to stay free on its file system. Free space there.")
    }

    /// Evicts the oldest of the least important class that may give way, and a margin with it, so that it is not done row by row.
    private func evictLeast(for newcomer: StreamName, bytes: Int) throws -> Bool {
        let victims = StreamName.allCases.reversed().filter { $0 >= newcomer }
        guard let victim = victims.first(where: { state[$0].rowCount > 0 }) else { return false }
        let margin = configuration.maximumBytes / 64
        try evict(from: victim, reason: .byteCap, records: .max, bytes: min(bytes + margin, configuration.transactionBytes))
        return true
    }

    private func evict(from stream: StreamName, reason: DropReason, records: Int, bytes: Int) throws {
        guard let gap = try drop(oldest: records, bytes: bytes, of: stream, reason: reason, keepAside: false) else {
            throw corrupt("stream \(stream) has no row where its ledger says \(state[stream].rowCount)")
        }
        logger.notice(
            "queue is full, oldest records dropped",
            metadata: ["queue.stream": "\(stream)", "queue.dropped": "\(gap.count)", "queue.reason": "\(reason)"])
    }
}
