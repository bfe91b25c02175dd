import FoundationEssentials
import SQLite
import WireModel

/// The state, to and from its tables.
extension QueueStore {
    /// Reads and checks everything but the rows. Its cost does not depend on how many rows wait.
    func load() throws -> QueueState {
        let meta = try connection.cached(
            """
            SELECT epoch, queue_time, wall_time, boot_id, since_boot, parting, parted_stream, parted_wall_time, collector, organization,
            device, quarantine_queue_time FROM meta WHERE id = 1
            """)
        guard try meta.step() else { throw corrupt("table meta has no row") }
        defer { meta.reset() }
        guard let epoch = EpochID(meta.data(0)), (0...QueueClock.greatestTime).contains(meta.int64(1)) else {
            throw corrupt("the epoch or the queue's clock is damaged")
        }
        let stamp = RecordStamp(
            wallTime: meta.int64(2), bootID: meta.optionalData(3).flatMap { BootID($0) }, timeSinceBoot: try meta.uint64(4))
        var state = QueueState(epoch: epoch, clock: QueueClock(time: meta.int64(1), stamp: stamp))
        if let name = meta.optionalString(5) {
            guard let reason = MarkDecision.Parting(rawValue: name), let stream = StreamName(rawValue: meta.int(6)) else {
                throw corrupt("the note of why the histories parted is damaged")
            }
            state.parting = QueueParting(reason: reason, stream: stream, wallTime: meta.int64(7))
        }
        if let collector = meta.optionalData(8) {
            guard let collector = CollectorID(collector), let device = DeviceID(meta.data(10)) else {
                throw corrupt("the note of whom the queue is bound to is damaged")
            }
            state.binding = QueueBinding(collector: collector, organization: meta.string(9), device: device)
        }
        state.quarantineTime = meta.optionalInt64(11)
        for stream in StreamName.allCases {
            state[stream] = try loadLedger(of: stream)
            if let fault = state[stream].fault { throw corrupt("ledger of stream \(stream): \(fault)") }
            guard state[stream].lastQueueTime <= state.clock.time else {
                throw corrupt("stream \(stream) has a record made after the queue's clock")
            }
        }
        return state
    }

    /// Writes what differs.
    func save(_ next: QueueState, over former: QueueState) throws {
        try updateMeta(next)
        for stream in StreamName.allCases where next[stream] != former[stream] {
            try updateLedger(next[stream], of: stream)
            if next[stream].gaps != former[stream].gaps { try saveGaps(next[stream].gaps, over: former[stream].gaps, of: stream) }
            let tally = Self.tally(next[stream])
            if tally != Self.tally(former[stream]) { try saveTally(tally, of: stream) }
        }
    }

    func insertMeta(_ state: QueueState) throws {
        let statement = try connection.prepare("INSERT INTO meta (id, epoch, queue_time, wall_time, since_boot) VALUES (1, ?, 0, 0, 0)")
        try statement.bind(state.epoch.data, at: 1)
        try statement.run()
        try updateMeta(state)
    }

    func insertLedger(_ ledger: StreamLedger, of stream: StreamName) throws {
        let zero = ChainLink.zero.data
        let statement = try connection.prepare("INSERT INTO ledger VALUES (?, 0, ?, 0, 0, 0, ?, 0, 0)")
        try statement.bind(stream.rawValue, zero, zero)
        try statement.run()
    }

    private func updateMeta(_ state: QueueState) throws {
        let statement = try connection.cached(
            """
            UPDATE meta SET queue_time = ?, wall_time = ?, boot_id = ?, since_boot = ?, parting = ?, parted_stream = ?,
            parted_wall_time = ?, collector = ?, organization = ?, device = ?, quarantine_queue_time = ? WHERE id = 1
            """)
        let stamp = state.clock.stamp
        try statement.bind(
            state.clock.time, stamp.wallTime, stamp.bootID?.data, stamp.timeSinceBoot, state.parting?.reason.rawValue,
            state.parting?.stream.rawValue, state.parting?.wallTime, state.binding?.collector.data, state.binding?.organization,
            state.binding?.device.data, state.quarantineTime)
        try statement.run()
    }

    private func loadLedger(of stream: StreamName) throws -> StreamLedger {
        let row = try connection.cached(
            """
            SELECT last_number, last_link, last_queue_time, bytes, mark_number, mark_link, stored, lost_at_collector
            FROM ledger WHERE stream = ?
            """)
        try row.bind(stream.rawValue, at: 1)
        guard try row.step() else { throw corrupt("stream \(stream) has no ledger") }
        defer { row.reset() }
        guard let lastLink = ChainLink(row.data(1)), let markLink = ChainLink(row.data(5)) else {
            throw corrupt("ledger of stream \(stream): a link is not 16 bytes")
        }
        var ledger = StreamLedger()
        ledger.last = try row.uint64(0)
        ledger.lastLink = lastLink
        ledger.lastQueueTime = row.int64(2)
        ledger.bytes = try row.uint64(3)
        ledger.mark = StreamMark(number: try row.uint64(4), link: markLink, stored: try row.uint64(6), lostAtCollector: try row.uint64(7))
        let tally = try connection.cached("SELECT account, reason, count FROM tally WHERE stream = ?")
        try tally.bind(stream.rawValue, at: 1)
        while try tally.step() {
            let count = try tally.uint64(2)
            // So that no sum of counts can overflow.
            guard count <= BatchPart.greatestNumber >> 8 else { throw corrupt("tally of stream \(stream): an impossible count") }
            switch TallyAccount(rawValue: tally.string(0)) {
            case .rejected: ledger.mark.rejected[RejectReason(rawValue: tally.int(1))] = count
            case .dropped: ledger.mark.dropped[DropReason(rawValue: tally.int(1))] = count
            case .unnumbered: ledger.unnumbered[DropReason(rawValue: tally.int(1))] = count
            case nil: throw corrupt("tally of stream \(stream): an account that is not known")
            }
        }
        let gap = try connection.cached("SELECT first, last, reason, link FROM gap WHERE stream = ? ORDER BY first")
        try gap.bind(stream.rawValue, at: 1)
        while try gap.step() {
            guard let link = ChainLink(gap.data(3)) else { throw corrupt("a gap of stream \(stream) has no link") }
            ledger.gaps.append(
                Gap(first: try gap.uint64(0), last: try gap.uint64(1), reason: DropReason(rawValue: gap.int(2)), link: link))
        }
        return ledger
    }

    private func updateLedger(_ ledger: StreamLedger, of stream: StreamName) throws {
        let statement = try connection.cached(
            """
            UPDATE ledger SET last_number = ?, last_link = ?, last_queue_time = ?, bytes = ?, mark_number = ?, mark_link = ?,
            stored = ?, lost_at_collector = ? WHERE stream = ?
            """)
        try statement.bind(
            ledger.last, ledger.lastLink.data, ledger.lastQueueTime, ledger.bytes, ledger.mark.number, ledger.mark.link.data,
            ledger.mark.stored, ledger.mark.lostAtCollector, stream.rawValue)
        try statement.run()
    }

    /// Gaps change only at both ends of their run: those that are the same stay untouched.
    private func saveGaps(_ gaps: [Gap], over former: [Gap], of stream: StreamName) throws {
        let kept = Set(gaps)
        let delete = try connection.cached("DELETE FROM gap WHERE stream = ? AND first = ?")
        for gap in former where !kept.contains(gap) {
            try delete.bind(stream.rawValue, gap.first)
            try delete.run()
        }
        let known = Set(former)
        let insert = try connection.cached("INSERT INTO gap (stream, first, last, reason, link) VALUES (?, ?, ?, ?, ?)")
        for gap in gaps where !known.contains(gap) {
            try insert.bind(stream.rawValue, gap.first, gap.last, gap.reason.rawValue, gap.link.data)
            try insert.run()
        }
    }

    private struct TallyKey: Hashable {
        var account: TallyAccount
        var reason: Int
    }

    private static func tally(_ ledger: StreamLedger) -> [TallyKey: UInt64] {
        var tally: [TallyKey: UInt64] = [:]
        for (reason, count) in ledger.mark.rejected { tally[TallyKey(account: .rejected, reason: reason.rawValue)] = count }
        for (reason, count) in ledger.mark.dropped { tally[TallyKey(account: .dropped, reason: reason.rawValue)] = count }
        for (reason, count) in ledger.unnumbered { tally[TallyKey(account: .unnumbered, reason: reason.rawValue)] = count }
        return tally
    }

    private func saveTally(_ tally: [TallyKey: UInt64], of stream: StreamName) throws {
        let delete = try connection.cached("DELETE FROM tally WHERE stream = ?")
        try delete.bind(stream.rawValue, at: 1)
        try delete.run()
        let insert = try connection.cached("INSERT INTO tally (stream, account, reason, count) VALUES (?, ?, ?, ?)")
        for (key, count) in tally {
            try insert.bind(stream.rawValue, key.account.rawValue, key.reason, count)
            try insert.run()
        }
    }
}
