import DeviceTunables
import Encryption
import FoundationEssentials
import Logging
import SQLite
import WireModel

/// The result for a record passed to the store.
enum AppendOutcome: Equatable, Sendable {
    case number(UInt64)
    /// The limit is reached and nothing may be dropped in its favour. It was counted.
    case refused
}

/// Numbers and inserts records.
extension QueueStore {
    /// Commits records in one transaction, and the counts of those refused before it.
    ///
    /// - Returns: an outcome for each record, in order.
    /// - Throws: `.diskFull` if neither the file nor the disk has room; nothing is committed then.
    func append(
        _ records: [NewRecord], unnumbered: [StreamName: [DropReason: UInt64]] = [:]
    ) throws -> [AppendOutcome] {
        var needed = 0
        if !records.isEmpty { try openLinks() }
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
                    if room.refused.count < records.count, try availablePages() < Tunables.Queue.reservePages {
                        throw outOfPages(needed)
                    }
                    return outcomes
                }
            } catch {
                // The estimate was too low. Ask for more, at most twice.
                guard attempt < 2, QueueError(error).code == .diskFull, room.refused.count < records.count else {
                    throw error
                }
            }
        }
        throw outOfPages(needed)
    }

    func outOfPages(_ needed: Int) -> QueueError {
        QueueError(
            .diskFull,
            "\(path): no room for \(needed) pages of \(QueueFile.pageBytes) bytes. Free space on the file system.")
    }

    /// Numbers and chains a record in the current epoch.
    /// - Parameter queuedAt: its time on the queue clock if it was queued before.
    func insert(_ record: NewRecord, queuedAt: Int64? = nil, into next: inout QueueState) throws -> UInt64 {
        let stream = record.stream
        let number = next[stream].last + 1
        guard number <= BatchPart.greatestNumber else {
            throw QueueError(.invalid, "stream \(stream) has used up its numbers")
        }
        // The chain cannot go on from a link that is sealed.
        guard number == 1 || next[stream].lastLink != .zero else { throw unknownLink }
        let bytes = record.serialized(number: number)
        let link = next[stream].lastLink.appending(bytes)
        let queueTime = max(next[stream].lastQueueTime, queuedAt ?? next.clock.time(of: record.stamp))
        if let key = try seal.sealingKey() {
            let row = StoredRow.Sealed(
                content: RowContent(link: link, bytes: bytes), stream: stream, number: number, queueTime: queueTime)
            try insert(row, chain: ChainCode(ordinal: next.ordinal, stream: stream), with: key)
            next[stream].append(link: link, bytes: bytes.count, queueTime: queueTime)
            return number
        }
        let statement = try connection.cached(Self.insertText[stream] ?? "")
        try statement.bind(number, at: 1)
        try statement.bind(record.kind.rawValue, at: 2)
        try statement.bind(record.stamp.wallTime, at: 3)
        try statement.bind(queueTime, at: 4)
        try statement.bind(bytes.count, at: 5)
        try statement.bind(link.data, at: 6)
        try statement.bind(ChainCode(ordinal: next.ordinal, stream: stream).rawValue, at: 8)
        try bytes.withUnsafeBytes { (bytes) throws in try statement.run(bindingUncopied: bytes, at: 7) }
        next[stream].append(link: link, bytes: bytes.count, queueTime: queueTime)
        return number
    }

    private static let insertText = Dictionary(
        uniqueKeysWithValues: StreamName.allCases.map {
            (
                $0,
                """
                INSERT INTO \($0) (number, kind, wall_time, queue_time, size, link, body, chain) \
                VALUES (?, ?, ?, ?, ?, ?, ?, ?)
                """
            )
        })

    /// Kind and wall clock are in the record, and a sealed row says nothing of them.
    private func insert(_ row: StoredRow.Sealed, chain: ChainCode, with key: DataKey) throws {
        let statement = try connection.cached(Self.sealedInsertText[row.stream] ?? "")
        try statement.bind(row.number, at: 1)
        try statement.bind(row.queueTime, at: 2)
        try statement.bind(row.content.bytes.count, at: 3)
        try statement.bind(Int64(key.id), at: 4)
        try statement.bind(chain.rawValue, at: 5)
        let body = try seal.seal(row.content, at: row.place, with: key)
        try body.withUnsafeBytes { (bytes) throws in try statement.run(bindingUncopied: bytes, at: 6) }
    }

    private static let sealedInsertText = Dictionary(
        uniqueKeysWithValues: StreamName.allCases.map {
            (
                $0,
                """
                INSERT INTO \($0) (number, kind, wall_time, queue_time, size, key_id, chain, link, body) \
                VALUES (?, 0, 0, ?, ?, ?, ?, x'', ?)
                """
            )
        })

    // MARK: - Room

    private struct Room {
        /// Indices of records that exceed the limit.
        var refused: Set<Int> = []
        var pages = 0
    }

    /// Grows the file or evicts records in favour of the new ones, class by class, status first.
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
                // Refuses older records in favour of newer ones.
                let refused = indices.prefix((indices.count + 1) / 2)
                room.refused.formUnion(refused)
                indices.removeFirst(refused.count)
            }
        }
        return room
    }

    /// - Returns: `false` if the limit is reached and no class may be evicted.
    private func makeRoom(pages: Int, records: Int, bytes: Int, for newcomer: StreamName) throws -> Bool {
        while rows(of: newcomer) + records > configuration.maximumRecords, let table = oldestTable(of: newcomer) {
            let surplus = rows(of: newcomer) + records - configuration.maximumRecords
            try evict(from: table, reason: .rowCap, records: surplus, bytes: Tunables.Queue.transactionBytes)
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
                if try eraseSome() { continue }
                if try eraseLinks() { continue }
                guard try evictLeast(for: newcomer, bytes: missing * QueueFile.pageBytes) else { return false }
            }
        }
    }

    func keptFree(_ pages: Int) -> QueueError {
        QueueError(
            .diskFull,
            """
            \(path) may not grow by \(pages * QueueFile.pageBytes) bytes: \(configuration.keepFreeBytes) bytes and \
            \(configuration.keepFreeInodesPercent) % of the inodes are to stay free on its file system. Free space \
            there.
            """
        )
    }

    /// The stream's rows in all tables.
    private func rows(of stream: StreamName) -> Int {
        Int(state.tables.reduce(0) { $1.stream == stream ? $0 + state[$1].rowCount : $0 })
    }

    private func oldestTable(of stream: StreamName) -> RecordTable? {
        state.tables.first { $0.stream == stream && state[$0].rowCount > 0 }
    }

    /// Evicts the oldest records of the least important class that may be evicted. A margin is added, so this is not
    /// done row by row.
    private func evictLeast(for newcomer: StreamName, bytes: Int) throws -> Bool {
        // Finished rows go before any that waits.
        if try eraseSome() { return true }
        guard let victim = state.tables.first(where: { $0.stream >= newcomer && state[$0].rowCount > 0 }) else {
            return false
        }
        let margin = configuration.maximumBytes / 64
        try evict(
            from: victim, reason: .byteCap, records: .max, bytes: min(bytes + margin, configuration.transactionBytes))
        return true
    }

    private func evict(from table: RecordTable, reason: DropReason, records: Int, bytes: Int) throws {
        // Nothing goes in favour of records that cannot be stored.
        _ = try seal.sealingKey()
        guard let gap = try drop(oldest: records, bytes: bytes, from: table, reason: reason, keepAside: false) else {
            throw corrupt("\(table.name) has no row where its ledger says \(state[table].rowCount)")
        }
        logger.notice(
            "queue is full, oldest records dropped",
            metadata: ["queue.stream": "\(table.stream)", "queue.dropped": "\(gap.count)", "queue.reason": "\(reason)"])
    }
}
