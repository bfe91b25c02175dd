import FoundationEssentials
import RecordStore
import Synchronization
import WireModel

/// A record store in memory: the small reference that the real engines are compared with. It decides by the same pure
/// code, can be set to fail, and with a planted bug is what the tests must catch.
///
/// What would be on disk survives `crash()` and `restart()`.
package final class InMemoryRecordStore: RecordStore {
    /// A mistake made on purpose.
    package enum PlantedBug: String, CaseIterable, Sendable {
        /// The last transaction of each chain was answered, and a crash undoes it.
        case answersBeforeTheSync
        /// A crash leaves the mark of the last transaction without its rows.
        case marksBeforeTheRows
        /// A crash leaves the rows of the last transaction without their mark.
        case rowsBeforeTheMark
        /// A restart in order undoes what came last.
        case losesTheTailAtARestart
        case storesARowTwice
        /// Stores numbers at or below the mark again.
        case storesBelowTheMark
        /// Moves the mark for a part it found damaged.
        case acceptsDamagedParts
        /// Treats a gap as records it has stored.
        case countsGapsAsStored
        /// Answers the part's last number whatever the outcome: acknowledges what it did not accept.
        case acknowledgesUnseen
        /// Answers `stored` though the disk is full, and keeps nothing.
        case answersStoredOnAFullDisk
        case forgetsAClosureAtACrash
        /// Counts no longer what was in dropped partitions.
        case forgetsCountsOfDroppedPartitions
        /// Begins chains anew once their partition is dropped.
        case forgetsMarksOfDroppedPartitions
        /// Leaves what it should erase.
        case erasesNothing
        /// Begins chains anew once their device is erased.
        case forgetsMarksOfErasedDevices
        /// Drops a partition while older ones are there.
        case dropsOutOfOrder
        /// Passes over the first record of every further page.
        case scanLosesARecordBetweenPages
        /// Goes on behind the first record that has come since.
        case scanGoesOnTooFar
        case backupLeavesOutTheNewestRecord
        /// Numbers items without asking whether it has their keys.
        case looksUpNoKey
        /// A crash leaves the records of the last items without their keys.
        case losesKeysAtACrash
        /// Keeps keys of dropped partitions, so that what was dropped never comes back.
        case keepsKeysOfDroppedPartitions
        /// Forgets an item's key once its day is over.
        case looksUpKeysOfTodayAlone
        /// Gives records the context of their slice that came first.
        case givesTheFirstContext

        /// Those against the rules of exactly-once that a device can meet.
        package static let ofExactlyOnce: [PlantedBug] = [
            .marksBeforeTheRows, .rowsBeforeTheMark, .storesBelowTheMark, .acceptsDamagedParts, .countsGapsAsStored,
            .acknowledgesUnseen,
        ]
    }

    private struct Key: Hashable {
        var chain: ChainKey
        var stream: StreamName
    }

    private struct Row {
        /// The position in the order of receipt of the whole store.
        var position: Int
        var day: UTCDay
        var record: StoredRecord
    }

    private struct Chain {
        var state = ChainState()
        /// Ascending; without those of dropped partitions.
        var rows: [Row] = []
        /// The links at each number that has one.
        var links: [UInt64: ChainLink] = [:]
        /// The marks at the end of each day.
        var marks: [UTCDay: StreamMark] = [:]
        /// The days on which the keys came.
        var keys: [ItemKey: UTCDay] = [:]
        var removedUpTo: StreamMark?
        var removedRows: UInt64 = 0

        var storedRows: UInt64 { removedRows + UInt64(rows.count) }
    }

    private struct Disk {
        var chains: [Key: Chain] = [:]
        var rowCount = 0
        /// Those of a stream, ascending.
        var days: [StreamName: [UTCDay]] = [:]
        var dropped: [StreamName: [UTCDay]] = [:]
    }

    private struct State {
        var disk = Disk()
        /// Chains before their last transaction; kept for planted bugs alone.
        var former: [Key: Chain] = [:]
        var failure: StoreError?
        var isShutDown = false
        var appends = 0
    }

    private let bug: PlantedBug?
    private let clock: any StoreClock
    private let state: Mutex<State>
    /// The backups that `backup` has written, by directory.
    private static let backups = Mutex<[String: Disk]>([:])
    private static let recordsPerPage = 100

    package convenience init(bug: PlantedBug? = nil, clock: any StoreClock = SystemStoreClock()) {
        self.init(Disk(), bug: bug, clock: clock)
    }

    /// Opens a backup that a store of this process has written.
    package convenience init?(ofBackup directory: String, clock: any StoreClock = SystemStoreClock()) {
        guard let disk = Self.backups.withLock({ $0[directory] }) else { return nil }
        self.init(disk, bug: nil, clock: clock)
    }

    private init(_ disk: Disk, bug: PlantedBug?, clock: any StoreClock) {
        self.bug = bug
        self.clock = clock
        state = Mutex(State(disk: disk))
    }

    // MARK: What tests ask and inject

    package var storedCount: Int { state.withLock { $0.disk.chains.values.reduce(0) { $0 + $1.rows.count } } }
    package var appendCount: Int { state.withLock { $0.appends } }

    /// Every later write and balance fails with this; `nil` mends it.
    package func fail(_ error: StoreError?) { state.withLock { $0.failure = error } }

    /// The process dies and starts again.
    package func crash() {
        state.withLock { state in
            for (key, former) in state.former {
                guard let chain = state.disk.chains[key] else { continue }
                switch bug {
                case .answersBeforeTheSync: state.disk.chains[key] = former
                case .marksBeforeTheRows: state.disk.chains[key]?.rows = former.rows
                case .rowsBeforeTheMark: state.disk.chains[key]?.state.mark = former.state.mark
                case .losesKeysAtACrash: state.disk.chains[key]?.keys = former.keys
                case .forgetsAClosureAtACrash where chain.state.closed != nil: state.disk.chains[key] = former
                default: break
                }
            }
            state.former = [:]
            state.isShutDown = false
        }
    }

    /// The process ends in order and starts again.
    package func restart() {
        state.withLock { state in
            if bug == .losesTheTailAtARestart { state.disk.chains.merge(state.former) { $1 } }
            state.former = [:]
            state.isShutDown = false
        }
    }

    // MARK: What devices send

    package var durability: String { "fsync" }

    package func append(_ parts: [BatchPart], from device: DeviceID, receivedAt: Int64) async -> [PartAnswer] {
        state.withLock { state in
            state.appends += 1
            return parts.map { part in
                let key = Key(chain: ChainKey(device: device, epoch: part.epoch), stream: part.stream)
                let former = state.disk.chains[key] ?? Chain()
                guard let failure = state.isShutDown ? Self.closed : state.failure else {
                    return append(part, key, to: &state, receivedAt: receivedAt)
                }
                if bug == .answersStoredOnAFullDisk, failure.code == .diskFull {
                    var mark = former.state.mark
                    if case .store(let slice) = PartDecision.decide(part: part, mark: mark) { mark = slice.mark }
                    return PartAnswer(epoch: part.epoch, stream: part.stream, outcome: .stored, mark: mark)
                }
                return PartAnswer(
                    epoch: part.epoch, stream: part.stream, outcome: .unavailable, mark: former.state.mark,
                    detail: "\(failure.code.rawValue): \(failure.publicMessage)")
            }
        }
    }

    private static let closed = StoreError(.shuttingDown, "the store is closed. Try again later.")

    private func append(
        _ part: BatchPart, _ key: Key, to state: inout State, receivedAt: Int64
    ) -> PartAnswer {
        var chain = state.disk.chains[key] ?? Chain()
        let former = chain
        func answer(_ outcome: PartOutcome, _ detail: String = "") -> PartAnswer {
            var mark = chain.state.mark
            if bug == .acknowledgesUnseen, part.last > mark.number {
                mark.stored += part.last - mark.number
                mark.number = part.last
                mark.link = part.lastLink
            }
            return PartAnswer(epoch: part.epoch, stream: part.stream, outcome: outcome, mark: mark, detail: detail)
        }
        if chain.state.closed != nil { return answer(.closed) }
        let outcome: PartAnswer
        switch PartDecision.decide(part: part, mark: bug == .storesBelowTheMark ? .none : chain.state.mark) {
        case .damaged(let why):
            if bug == .acceptsDamagedParts, part.last > chain.state.mark.number, part.last <= BatchPart.greatestNumber {
                chain.state.mark.stored += part.last - chain.state.mark.number
                chain.state.mark.number = part.last
                chain.state.mark.link = part.lastLink
                state.disk.chains[key] = chain
            }
            return answer(.damaged, why)
        case .identityConflict: return answer(.identityConflict)
        case .already:
            if part.totals.produced > chain.state.totals.sent.produced { chain.state.totals = DeviceTotals(of: part) }
            outcome = answer(.already)
        case .store(let slice):
            let day = day(for: part.stream, in: &state.disk)
            store(slice, in: &chain, key, on: day, &state.disk.rowCount, receivedAt: receivedAt)
            if bug != .storesBelowTheMark || slice.mark.number > chain.state.mark.number {
                chain.state.mark = slice.mark
            }
            if bug == .countsGapsAsStored {
                chain.state.mark.stored += chain.state.mark.droppedCount
                chain.state.mark.dropped = [:]
            }
            chain.marks[day] = chain.state.mark
            chain.state.totals = DeviceTotals(of: part)
            outcome = answer(.stored)
        }
        if bug != nil { state.former[key] = former }
        state.disk.chains[key] = chain
        return outcome
    }

    package func append(
        _ items: [UnnumberedItems], to stream: StreamName, receivedAt: Int64
    ) async -> [UnnumberedAnswer] {
        let (taken, refusals) = items.admitted(to: stream)
        var answers = refusals
        state.withLock { state in
            state.appends += 1
            for place in taken {
                if let failure = state.isShutDown ? Self.closed : state.failure {
                    answers[place] =
                        bug == .answersStoredOnAFullDisk && failure.code == .diskFull
                        ? UnnumberedAnswer(stored: items[place].itemCount, known: 0)
                        : UnnumberedAnswer(unavailable: "\(failure.code.rawValue): \(failure.publicMessage)")
                } else {
                    answers[place] = number(items[place], stream, &state, receivedAt: receivedAt)
                }
            }
        }
        return items.indices.map { answers[$0] ?? UnnumberedAnswer(unavailable: "not reached") }
    }

    private func number(
        _ items: UnnumberedItems, _ stream: StreamName, _ state: inout State, receivedAt: Int64
    ) -> UnnumberedAnswer {
        let key = Key(chain: ChainKey(device: items.device, epoch: items.epoch), stream: stream)
        var chain = state.disk.chains[key] ?? Chain()
        let former = chain
        let day = day(for: stream, in: &state.disk)
        var known = KnownKeys.none
        let asked = KeyRange.ranges(of: items.keys)
        for (other, chain) in state.disk.chains where other.stream == stream && other.chain.device == items.device {
            for (key, stored) in chain.keys {
                if bug == .looksUpNoKey || bug == .looksUpKeysOfTodayAlone && stored != day { continue }
                let range = KeyRange(origin: key.origin, first: key.number, last: key.number)
                for asked in asked { known.add(range, asked: asked) }
            }
        }
        let step = NumberingStep(items, after: chain.state, known: known)
        guard !step.additions.isEmpty else { return step.answer }
        for addition in step.additions {
            store(addition.slice, in: &chain, key, on: day, &state.disk.rowCount, receivedAt: receivedAt)
            for range in addition.keys {
                for number in range.first...range.last {
                    chain.keys[ItemKey(origin: range.origin, number: number)] = day
                }
            }
        }
        chain.state = step.state
        chain.marks[day] = step.state.mark
        if bug != nil { state.former[key] = former }
        state.disk.chains[key] = chain
        return step.answer
    }

    /// The partition that is written now: never before the newest, never one that was dropped.
    private func day(for stream: StreamName, in disk: inout Disk) -> UTCDay {
        let day =
            [UTCDay(microseconds: clock.now()), disk.days[stream]?.last, disk.dropped[stream]?.max()?.next]
            .compactMap { $0 }.max() ?? UTCDay(number: 0)
        if disk.days[stream]?.last != day { disk.days[stream, default: []].append(day) }
        return day
    }

    private func store(
        _ slice: AcceptedSlice, in chain: inout Chain, _ key: Key, on day: UTCDay, _ rowCount: inout Int,
        receivedAt: Int64
    ) {
        for gap in slice.gaps { chain.links[gap.last] = gap.link }
        var link = slice.priorLink
        var context: Data?
        for record in slice.records {
            if let before = chain.links[record.number - 1] { link = before }
            link = link.appending(record.bytes)
            chain.links[record.number] = link
            guard record.rejection == nil, let header = RecordHeader(scanning: record.bytes) else { continue }
            let kind = WireRecordKind(rawValue: header.kind)
            let isContext = kind == .otlpContext
            if isContext, context == nil || bug != .givesTheFirstContext { context = header.body(of: record.bytes) }
            for _ in 0..<(bug == .storesARowTwice ? 2 : 1) {
                rowCount += 1
                chain.rows.append(
                    Row(
                        position: rowCount, day: day,
                        record: StoredRecord(
                            device: key.chain.device, epoch: key.chain.epoch, header: header, bytes: record.bytes,
                            receivedAt: receivedAt,
                            context: isContext || kind?.isMadeByCollectors != true
                                ? nil : header.context.isEmpty ? context : record.bytes.slice(header.context))))
            }
        }
    }

    package func close(_ request: EpochClose, from device: DeviceID) async throws(StoreError) -> [ClosedStream] {
        try withState { state throws(StoreError) in
            if let failure = state.isShutDown ? Self.closed : state.failure { throw failure }
            var closed: [ClosedStream] = []
            for stream in request.streams {
                let key = Key(chain: ChainKey(device: device, epoch: request.epoch), stream: stream.stream)
                var chain = state.disk.chains[key] ?? Chain()
                if bug != nil { state.former[key] = chain }
                _ = day(for: stream.stream, in: &state.disk)
                chain.state.close(stream, at: clock.now())
                state.disk.chains[key] = chain
                let match = try chain.state.match(stream.points, removedUpTo: chain.removedUpTo) { chain.links[$0] }
                closed.append(ClosedStream(stream: stream.stream, mark: chain.state.mark, match: match))
            }
            return closed
        }
    }

    // MARK: What people ask

    package func balance(of device: DeviceID, after: EpochID?, limit: Int) async throws(StoreError) -> BalancePage {
        try withState { state throws(StoreError) in
            if let failure = state.failure { throw failure }
            let balances = Self.balances(state.disk).filter { $0.device == device }.map(\.balance)
            return BalancePage(
                balances.filter { balance in after.map { balance.epoch > $0 } ?? true }, complete: nil, limit: limit)
        }
    }

    private static func balances(_ disk: Disk) -> [(device: DeviceID, balance: EpochBalance)] {
        disk.chains.map { key, chain in
            let balance = EpochBalance(
                epoch: key.chain.epoch, stream: key.stream, mark: chain.state.mark, storedRows: chain.storedRows,
                totals: chain.state.totals.sent, closed: chain.state.closed != nil,
                balance: chain.state.balance(storedRows: chain.storedRows))
            return (key.chain.device, balance)
        }
    }

    package func records(_ query: RecordQuery, before: String?, limit: Int) async throws(StoreError) -> RecordPage {
        try RecordPage.check(limit: limit)
        let end = try Self.position(before) ?? .max
        let rows = rows(query).filter { $0.position < end }
        let page = rows.suffix(limit).reversed()
        return RecordPage(
            records: page.map(\.record), next: rows.count > limit ? page.last.map { "\($0.position)" } : nil)
    }

    private static func position(_ cursor: String?) throws(StoreError) -> Int? {
        guard let cursor else { return nil }
        guard let position = Int(cursor) else { throw StoreError(.invalid, "the cursor is not one of this store's.") }
        return position
    }

    /// The rows in the order of receipt.
    private func rows(_ query: RecordQuery) -> [Row] {
        state.withLock { state in
            state.disk.chains.filter { query.stream == $0.key.stream && query.admits($0.key.chain.device) }
                .flatMap(\.value.rows).filter { query.admits($0.record.header) }.sorted { $0.position < $1.position }
        }
    }

    package func newestRecords(of devices: [DeviceID], _ query: RecordQuery) async throws(StoreError) -> [DeviceID:
        StoredRecord]
    {
        var query = query
        query.devices = .among(Set(devices))
        return Dictionary(rows(query).map { ($0.record.device, $0.record) }) { $1 }
    }

    package func unreadableFiles(of stream: StreamName) -> [String] { [] }

    // MARK: All that is stored

    package func scan(_ query: RecordQuery, after: String?) async throws(StoreError) -> RecordPage {
        let former = try Self.position(after)
        var start = former ?? 0
        if bug == .scanLosesARecordBetweenPages, after != nil { start += 1 }
        let rows = rows(query).filter { $0.position > start && $0.record.receivedAt >= query.receivedSince ?? .min }
        let page = rows.prefix(Self.recordsPerPage)
        return RecordPage(
            records: page.map(\.record), next: rows.count > page.count ? page.last.map { "\($0.position)" } : nil,
            resume: (page.last?.position ?? former).map {
                "\(bug == .scanGoesOnTooFar ? $0 + 1 : $0)"
            })
    }

    package func balances() async throws(StoreError) -> FleetBalances {
        FleetBalances(state.withLock { Self.balances($0.disk) })
    }

    package func followChains() async throws(StoreError) -> ChainFindings? {
        var findings = ChainFindings()
        findings.partitions = state.withLock { $0.disk.days.values.reduce(0) { $0 + $1.count } }
        return findings
    }

    package func markedBalances(of devices: Set<DeviceID>) async throws(StoreError) -> MarkedBalances {
        var balances = MarkedBalances()
        balances.balances = state.withLock { Self.balances($0.disk) }.filter { devices.contains($0.device) }
        return balances
    }

    package func verify() async throws(StoreError) -> VerifyReport {
        state.withLock { state in
            var report = VerifyReport()
            report.files = state.disk.days.values.reduce(0) { $0 + $1.count }
            report.chains = state.disk.chains.count
            for (key, chain) in state.disk.chains {
                report.records += UInt64(chain.rows.count)
                report.recordBytes += chain.rows.reduce(0) { $0 + UInt64($1.record.bytes.count) }
                report.rejected += chain.state.mark.rejectedCount
                report.lostAtCollector += chain.state.mark.lostAtCollector
                func add(_ code: VerifyReport.Finding.Code, _ message: String) {
                    report.add(.init(code: code, file: "memory", stream: "\(key.stream)", message: message))
                }
                let stored = chain.state.mark.stored
                if chain.storedRows != stored { add(.miscounted, "\(chain.storedRows) rows where \(stored) count") }
                let isAscending = zip(chain.rows, chain.rows.dropFirst()).allSatisfy {
                    $0.record.header.number < $1.record.header.number
                }
                if !isAscending { add(.doubled, "a number is there twice") }
                for row in chain.rows {
                    let number = row.record.header.number
                    guard let prior = number == 1 ? .zero : chain.links[number - 1] else { continue }
                    if prior.appending(row.record.bytes) != chain.links[number] { add(.altered, "record \(number)") }
                }
            }
            return report
        }
    }

    package func harmedPartitions() async throws(StoreError) -> [Partition: PartitionHarm] { [:] }

    package func backup(
        to directory: String, receive: @Sendable (BackupFile) throws(StoreError) -> Void
    ) async throws(StoreError) -> Bool {
        var disk = state.withLock { $0.disk }
        if bug == .backupLeavesOutTheNewestRecord,
            let key = disk.chains.max(by: { $0.value.rows.last?.position ?? 0 < $1.value.rows.last?.position ?? 0 })?
                .key
        {
            _ = disk.chains[key]?.rows.popLast()
        }
        let copy = disk
        Self.backups.withLock { $0[directory] = copy }
        return true
    }

    // MARK: Partitions

    package func partitions() async throws(StoreError) -> PartitionList {
        state.withLock { state in
            let kept = state.disk.days.flatMap { stream, days in
                days.map { PartitionList.Item(partition: Partition(day: $0, stream: stream), bytes: 1) }
            }
            return PartitionList(
                kept: kept.sorted { $0.partition < $1.partition }, dropped: state.disk.dropped.mapValues(\.count))
        }
    }

    package func newestReceipt(in partition: Partition) async throws(StoreError) -> Int64? {
        state.withLock { state in
            let rows = state.disk.chains.filter { $0.key.stream == partition.stream }.flatMap(\.value.rows)
            return rows.filter { $0.day == partition.day }.max { $0.position < $1.position }?.record.receivedAt
        }
    }

    package func drop(_ partition: Partition) async throws(StoreError) {
        let (day, stream) = (partition.day, partition.stream)
        try withState { state throws(StoreError) in
            if let failure = state.isShutDown ? Self.closed : state.failure { throw failure }
            guard let days = state.disk.days[stream], days.contains(day) else {
                throw StoreError(.notFound, "there is no \(partition.name).")
            }
            guard days.first == day || bug == .dropsOutOfOrder else {
                throw StoreError(.conflict, "\(partition.name) is not the oldest of its stream.")
            }
            state.disk.days[stream]?.removeAll { $0 == day }
            state.disk.dropped[stream, default: []].append(day)
            for (key, var chain) in state.disk.chains where key.stream == stream {
                guard let mark = chain.marks.removeValue(forKey: day) else { continue }
                let kept = chain.rows.filter { $0.day != day }
                if bug != .keepsKeysOfDroppedPartitions { chain.keys = chain.keys.filter { $0.value != day } }
                if bug != .forgetsCountsOfDroppedPartitions {
                    chain.removedRows += UInt64(chain.rows.count - kept.count)
                }
                chain.rows = kept
                chain.removedUpTo = mark
                if bug == .forgetsMarksOfDroppedPartitions { chain = Chain() }
                state.disk.chains[key] = chain
            }
            state.former = [:]
        }
    }

    package func erase(_ devices: Set<DeviceID>) async throws(StoreError) {
        try withState { state throws(StoreError) in
            if let failure = state.isShutDown ? Self.closed : state.failure { throw failure }
            if bug == .erasesNothing { return }
            for (key, var chain) in state.disk.chains where devices.contains(key.chain.device) {
                chain.removedRows += UInt64(chain.rows.count)
                chain.removedUpTo = chain.state.mark
                (chain.rows, chain.marks, chain.keys) = ([], [:], [:])
                state.disk.chains[key] = bug == .forgetsMarksOfErasedDevices ? Chain() : chain
            }
            state.former = [:]
        }
    }

    package func reclaim() async throws(StoreError) {}

    // MARK: Condition

    package func readiness() async -> StoreReadiness {
        state.withLock { state in
            (state.isShutDown ? Self.closed : state.failure).map { .notReady("\($0)") } ?? .ready
        }
    }

    package func figures() async -> StoreFigures { StoreFigures() }

    package func shutDown() async { state.withLock { $0.isShutDown = true } }

    private func withState<Value: Sendable>(
        _ body: (inout sending State) throws(StoreError) -> sending Value
    ) throws(StoreError) -> Value {
        try state.withLock { state throws(StoreError) in try body(&state) }
    }
}
