import FoundationEssentials
import SQLite
import WireModel

/// Reads and writes the state's tables.
extension QueueStore {
    /// Reads and checks everything except rows. The cost does not depend on the number of waiting rows.
    func load() throws -> QueueState {
        forgetLinkObstacle()
        let meta = try connection.cached(
            """
            SELECT queue_time, wall_time, boot_id, since_boot, divergence, diverged_stream, diverged_wall_time, \
            collector,
            organization, device, quarantine_queue_time, divergence_budget_whole_at FROM meta WHERE id = 1
            """)
        guard try meta.step() else { throw corrupt("table meta has no row") }
        defer { meta.reset() }
        let row = meta.row
        let time = try row.int64("queue_time")
        guard (0...QueueClock.greatestTime).contains(time) else { throw corrupt("the queue's clock is damaged") }
        let stamp = RecordStamp(
            wallTime: try row.int64("wall_time"), bootID: try row.optionalData("boot_id").flatMap { BootID($0) },
            timeSinceBoot: try row.uint64("since_boot"))
        let epochs = try loadEpochs()
        guard let current = epochs.last, current.end == nil, epochs.dropLast().allSatisfy({ $0.end != nil }) else {
            throw corrupt("the list of epochs is damaged")
        }
        var state = QueueState(epoch: current.id, clock: QueueClock(time: time, stamp: stamp))
        state.ordinal = current.ordinal
        if let reason: MarkDecision.Divergence = try row.optionalState("divergence") {
            guard let stream = StreamName(rawValue: try row.int("diverged_stream")) else {
                throw corrupt("the stream of the divergence is damaged")
            }
            state.divergence = QueueDivergence(
                reason: reason, stream: stream, wallTime: try row.int64("diverged_wall_time"))
        }
        if let collector = try row.optionalData("collector") {
            guard let collector = CollectorID(collector), let device = DeviceID(try row.data("device")) else {
                throw corrupt("the binding of the queue is damaged")
            }
            state.binding = QueueBinding(
                collector: collector, organization: try row.string("organization"), device: device)
        }
        state.quarantineTime = try row.optionalInt64("quarantine_queue_time")
        state.divergenceBudgetWholeAt = try row.optionalInt64("divergence_budget_whole_at")
        for row in epochs.dropLast() {
            guard let end = row.end else { continue }
            var epoch = EndedEpoch(
                ordinal: row.ordinal, id: row.id, end: end, phase: row.phase, endedWallTime: row.endedWallTime,
                salvage: row.note, streams: StreamLedgers())
            if row.phase != .settled { epoch.streams = try loadLedgers(row.ordinal, clock: state.clock) }
            state.ended.append(epoch)
        }
        state.copies = try loadCopies()
        state.streams = try loadLedgers(state.ordinal, clock: state.clock)
        state.past = try loadLedgers(ChainCode.past, clock: state.clock)
        return state
    }

    /// Writes what differs.
    func save(_ next: QueueState, over former: QueueState) throws {
        try updateMeta(next)
        if next.epoch != former.epoch || next.ended != former.ended { try saveEpochs(next, over: former) }
        if next.copies != former.copies { try saveCopies(next.copies, over: former.copies) }
        let (chains, formerChains) = (next.chains, former.chains)
        for (ordinal, ledgers) in chains where formerChains[ordinal] != ledgers {
            for stream in StreamName.allCases {
                let former = formerChains[ordinal]?[stream]
                if former != ledgers[stream] {
                    try saveLedger(ledgers[stream], over: former, ChainCode(ordinal: ordinal, stream: stream))
                }
            }
        }
        for ordinal in formerChains.keys where chains[ordinal] == nil {
            for stream in StreamName.allCases { try forget(ChainCode(ordinal: ordinal, stream: stream)) }
        }
    }

    /// Writes everything into empty tables.
    func insert(_ state: QueueState) throws {
        try connection.execute("INSERT INTO meta (id, queue_time, wall_time, since_boot) VALUES (1, 0, 0, 0)")
        try updateMeta(state)
        try saveCopies(state.copies, over: [:])
        try saveEpoch(state.ordinal, id: state.epoch, ended: nil)
        for epoch in state.ended { try saveEpoch(epoch.ordinal, id: epoch.id, ended: epoch) }
        for (ordinal, ledgers) in state.chains {
            for stream in StreamName.allCases {
                try saveLedger(ledgers[stream], over: nil, ChainCode(ordinal: ordinal, stream: stream))
            }
        }
    }

    private func updateMeta(_ state: QueueState) throws {
        let statement = try connection.cached(
            """
            UPDATE meta SET queue_time = ?, wall_time = ?, boot_id = ?, since_boot = ?, divergence = ?, \
            diverged_stream = ?,
            diverged_wall_time = ?, collector = ?, organization = ?, device = ?, quarantine_queue_time = ?,
            divergence_budget_whole_at = ? WHERE id = 1
            """)
        let stamp = state.clock.stamp
        try statement.bind(
            state.clock.time, stamp.wallTime, stamp.bootID?.data, stamp.timeSinceBoot,
            state.divergence?.reason.rawValue,
            state.divergence?.stream.rawValue, state.divergence?.wallTime, state.binding?.collector.data,
            state.binding?.organization,
            state.binding?.device.data, state.quarantineTime, state.divergenceBudgetWholeAt)
        try statement.run()
    }

    // MARK: - Copies of files

    private func loadCopies() throws -> [CopiedFile: QueueState.FileCopy] {
        let row = try connection.cached("SELECT sequence, content FROM file_copy WHERE id = ?")
        var copies: [CopiedFile: QueueState.FileCopy] = [:]
        for file in CopiedFile.allCases {
            defer { row.reset() }
            try row.bind(file.rawValue, at: 1)
            guard try row.step() else { continue }
            copies[file] = QueueState.FileCopy(sequence: row.int64(0), content: row.data(1))
        }
        return copies
    }

    /// A copy is never removed.
    private func saveCopies(
        _ copies: [CopiedFile: QueueState.FileCopy], over former: [CopiedFile: QueueState.FileCopy]
    ) throws {
        let statement = try connection.cached("INSERT OR REPLACE INTO file_copy VALUES (?, ?, ?)")
        for (file, copy) in copies where former[file] != copy {
            try statement.bind(file.rawValue, copy.sequence, copy.content)
            try statement.run()
        }
    }

    // MARK: - Epochs

    private func loadEpochs() throws -> [SalvageRow.Epoch] {
        let statement = try connection.cached(
            """
            SELECT ordinal, id, reason, phase, ended_wall_time, cause, file, salvaged, lost FROM epoch ORDER BY ordinal
            """
        )
        defer { statement.reset() }
        var rows: [SalvageRow.Epoch] = []
        while try statement.step() {
            let row = statement.row
            let ordinal = try row.int64("ordinal")
            guard let id = EpochID(try row.data("id")), ChainCode.ordinals.contains(ordinal) else {
                throw corrupt("the entry of epoch \(ordinal) is damaged")
            }
            var epoch = SalvageRow.Epoch(
                ordinal: ordinal, id: id, end: try row.optionalState("reason"),
                phase: try row.optionalState("phase") ?? .closing, endedWallTime: try row.int64("ended_wall_time"))
            if let cause = try row.optionalString("cause") {
                epoch.note = QueueStatus.Salvage(
                    cause: cause, file: try row.string("file"), salvaged: try row.uint64("salvaged"),
                    lost: try row.uint64("lost"))
            }
            rows.append(epoch)
        }
        return rows
    }

    private func saveEpochs(_ next: QueueState, over former: QueueState) throws {
        if next.epoch != former.epoch { try saveEpoch(next.ordinal, id: next.epoch, ended: nil) }
        for epoch in next.ended where !former.ended.contains(epoch) {
            try saveEpoch(epoch.ordinal, id: epoch.id, ended: epoch)
        }
        let kept = Set(next.ended.map(\.ordinal))
        let delete = try connection.cached("DELETE FROM epoch WHERE ordinal = ?")
        for epoch in former.ended where !kept.contains(epoch.ordinal) {
            try delete.bind(epoch.ordinal, at: 1)
            try delete.run()
        }
    }

    private func saveEpoch(_ ordinal: Int64, id: EpochID, ended: EndedEpoch?) throws {
        let statement = try connection.cached("INSERT OR REPLACE INTO epoch VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")
        try statement.bind(
            ordinal, id.data, ended?.end.rawValue, ended?.phase.rawValue, ended?.endedWallTime ?? 0,
            ended?.salvage?.cause, ended?.salvage?.file, ended?.salvage?.salvaged ?? 0, ended?.salvage?.lost ?? 0)
        try statement.run()
    }

    // MARK: - Ledgers

    private func loadLedgers(_ ordinal: Int64, clock: QueueClock) throws -> StreamLedgers {
        var ledgers = StreamLedgers()
        for stream in StreamName.allCases {
            ledgers[stream] = try loadLedger(ChainCode(ordinal: ordinal, stream: stream))
            if let fault = ledgers[stream].fault {
                throw corrupt("ledger of stream \(stream), epoch \(ordinal): \(fault)")
            }
            guard ledgers[stream].lastQueueTime <= clock.time else {
                throw corrupt("stream \(stream) has a record made after the queue's clock")
            }
        }
        return ledgers
    }

    private func loadLedger(_ chain: ChainCode) throws -> StreamLedger {
        let statement = try connection.cached(
            """
            SELECT last_number, last_link, last_queue_time, rows, bytes, mark_number, mark_link, stored, \
            lost_at_collector,
            close_matched, close_bound, close_unknown FROM ledger WHERE chain = ?
            """)
        try statement.bind(chain.rawValue, at: 1)
        guard try statement.step() else {
            throw corrupt("stream \(chain.stream) of epoch \(chain.ordinal) has no ledger")
        }
        defer { statement.reset() }
        let row = statement.row
        func link(_ name: String, at number: UInt64) throws -> ChainLink {
            try opened(try row.data(name), at: number, of: chain, name)
        }
        var ledger = StreamLedger()
        ledger.last = try row.uint64("last_number")
        ledger.lastLink = try link("last_link", at: ledger.last)
        ledger.lastQueueTime = try row.int64("last_queue_time")
        ledger.rowCount = try row.uint64("rows")
        ledger.bytes = try row.uint64("bytes")
        let mark = try row.uint64("mark_number")
        ledger.mark = StreamMark(
            number: mark, link: try link("mark_link", at: mark), stored: try row.uint64("stored"),
            lostAtCollector: try row.uint64("lost_at_collector"))
        ledger.closing = CloseSearch(
            matched: try row.optionalUInt64("close_matched"), bound: try row.optionalUInt64("close_bound"),
            isUnknown: try row.bool("close_unknown"))
        try loadTally(chain, into: &ledger)
        let gap = try connection.cached("SELECT first, last, reason, link FROM gap WHERE chain = ? ORDER BY first")
        try gap.bind(chain.rawValue, at: 1)
        while try gap.step() {
            let last = try gap.uint64(1)
            ledger.gaps.append(
                Gap(
                    first: try gap.uint64(0), last: last, reason: DropReason(rawValue: gap.int(2)),
                    link: try opened(gap.data(3), at: last, of: chain, "the link of a gap")))
        }
        return ledger
    }

    private func loadTally(_ chain: ChainCode, into ledger: inout StreamLedger) throws {
        let tally = try connection.cached("SELECT account, reason, count FROM tally WHERE chain = ?")
        try tally.bind(chain.rawValue, at: 1)
        while try tally.step() {
            let count = try tally.uint64(2)
            // Keeps sums of counts from overflowing.
            guard count <= QueueState.greatestTally else {
                throw corrupt("tally of stream \(chain.stream): an impossible count")
            }
            switch TallyAccount(rawValue: tally.string(0)) {
            case .rejected: ledger.mark.rejected[RejectReason(rawValue: tally.int(1))] = count
            case .dropped: ledger.mark.dropped[DropReason(rawValue: tally.int(1))] = count
            case .unnumbered: ledger.unnumbered[DropReason(rawValue: tally.int(1))] = count
            case nil: throw corrupt("tally of stream \(chain.stream): an unknown account")
            }
        }
    }

    private func saveLedger(_ ledger: StreamLedger, over former: StreamLedger?, _ chain: ChainCode) throws {
        let statement = try connection.cached(
            former == nil
                ? "INSERT INTO ledger VALUES (?13, ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)"
                : """
                UPDATE ledger SET last_number = ?1, last_link = coalesce(?2, last_link), last_queue_time = ?3, \
                rows = ?4, bytes = ?5, mark_number = ?6, mark_link = coalesce(?7, mark_link), stored = ?8, \
                lost_at_collector = ?9, close_matched = ?10, close_bound = ?11, close_unknown = ?12
                WHERE chain = ?13
                """)
        let lastLink = try stored(
            ledger.lastLink, at: ledger.last, over: former.map { ($0.lastLink, $0.last) }, of: chain)
        let markLink = try stored(
            ledger.mark.link, at: ledger.mark.number, over: former.map { ($0.mark.link, $0.mark.number) }, of: chain)
        try statement.bind(
            ledger.last, lastLink, ledger.lastQueueTime, ledger.rowCount, ledger.bytes, ledger.mark.number,
            markLink, ledger.mark.stored, ledger.mark.lostAtCollector, ledger.closing.matched,
            ledger.closing.bound, ledger.closing.isUnknown ? 1 : 0, chain.rawValue)
        try statement.run()
        let isNew = former == nil
        let former = former ?? StreamLedger()
        if ledger.gaps != former.gaps { try saveGaps(ledger.gaps, over: former.gaps, chain, isNew: isNew) }
        let tally = Self.tally(ledger)
        if tally != Self.tally(former) { try saveTally(tally, chain) }
    }

    /// The stored form of a link; `nil`: what is stored stays, because it is the same link or one that is sealed.
    private func stored(
        _ link: ChainLink, at number: UInt64, over former: (link: ChainLink, number: UInt64)?, of chain: ChainCode
    ) throws -> Data? {
        guard let former, !isBeingMade else { return try storedOrForgotten(link, at: number, of: chain) }
        if former.number == number, former.link == link { return nil }
        return try seal.stored(link, at: number, of: chain)
    }

    /// In a file that is made from what another one still had, a link without a key is forgotten: the close of its
    /// epoch is then less exact.
    private func storedOrForgotten(_ link: ChainLink, at number: UInt64, of chain: ChainCode) throws -> Data {
        do throws(QueueError) { return try seal.stored(link, at: number, of: chain) } catch {
            guard error.code == .keyUnavailable else { throw error }
            return ChainLink.zero.data
        }
    }

    private func forget(_ chain: ChainCode) throws {
        for table in ["ledger", "tally", "gap"] {
            let statement = try connection.cached("DELETE FROM \(table) WHERE chain = ?")
            try statement.bind(chain.rawValue, at: 1)
            try statement.run()
        }
    }

    /// Gaps change only at both ends of their sequence. Equal ones stay untouched.
    private func saveGaps(_ gaps: [Gap], over former: [Gap], _ chain: ChainCode, isNew: Bool) throws {
        let kept = Set(gaps)
        let delete = try connection.cached("DELETE FROM gap WHERE chain = ? AND first = ?")
        for gap in former where !kept.contains(gap) {
            try delete.bind(chain.rawValue, gap.first)
            try delete.run()
        }
        let known = Set(former)
        let insert = try connection.cached("INSERT INTO gap VALUES (?, ?, ?, ?, ?)")
        for gap in gaps where !known.contains(gap) {
            let link =
                isNew || isBeingMade
                ? try storedOrForgotten(gap.link, at: gap.last, of: chain)
                : try seal.stored(gap.link, at: gap.last, of: chain)
            try insert.bind(chain.rawValue, gap.first, gap.last, gap.reason.rawValue, link)
            try insert.run()
        }
    }

    private struct TallyKey: Hashable {
        var account: TallyAccount
        var reason: Int
    }

    private static func tally(_ ledger: StreamLedger) -> [TallyKey: UInt64] {
        var tally: [TallyKey: UInt64] = [:]
        for (reason, count) in ledger.mark.rejected {
            tally[TallyKey(account: .rejected, reason: reason.rawValue)] = count
        }
        for (reason, count) in ledger.mark.dropped {
            tally[TallyKey(account: .dropped, reason: reason.rawValue)] = count
        }
        for (reason, count) in ledger.unnumbered {
            tally[TallyKey(account: .unnumbered, reason: reason.rawValue)] = count
        }
        return tally
    }

    private func saveTally(_ tally: [TallyKey: UInt64], _ chain: ChainCode) throws {
        let delete = try connection.cached("DELETE FROM tally WHERE chain = ?")
        try delete.bind(chain.rawValue, at: 1)
        try delete.run()
        let insert = try connection.cached("INSERT INTO tally VALUES (?, ?, ?, ?)")
        for (key, count) in tally {
            try insert.bind(chain.rawValue, key.account.rawValue, key.reason, count)
            try insert.run()
        }
    }
}
