import CollectorStore
import FoundationEssentials
import Synchronization
import WireModel

/// A record store in memory: the small reference the real engines are compared with, and, with a broken rule, what the
/// tests must catch.
///
/// It forgets nothing at a `crash()`, as a store that syncs before it answers must.
package final class InMemoryRecordStore: RecordStore {
    /// A rule of exactly-once, deliberately broken.
    package enum BrokenRule: String, CaseIterable, Sendable {
        /// Answers and moves the mark, but the rows of the last transaction were not on disk when the crash came.
        case answersBeforeTheSync
        /// The rows survive a crash, the mark does not: they are not in one transaction.
        case markApartFromRows
        /// Stores numbers at or below the mark again.
        case storesBelowTheMark
        /// Moves the mark for a part it found damaged.
        case acceptsDamagedParts
        /// Takes a gap for records it has stored.
        case countsGapsAsStored
        /// Answers the part's last number whatever the outcome: acknowledges what it did not take.
        case acknowledgesUnseen
    }

    private struct Key: Hashable {
        var device: DeviceID
        var epoch: EpochID
        var stream: StreamName
    }

    private struct Entry {
        var mark = StreamMark.none
        var totals = StreamTotals()
        var closed: EpochClose.Stream?
        var rows: [StoredRecord] = []
        /// What a crash leaves of a store that does not keep its promises.
        var markBeforeLast = StreamMark.none
        var rowsBeforeLast = 0
    }

    private let brokenRule: BrokenRule?
    private let entries = Mutex<[Key: Entry]>([:])

    package init(brokenRule: BrokenRule? = nil) {
        self.brokenRule = brokenRule
    }

    /// The process dies and starts again. Nothing is lost, but for the broken rules about it.
    package func crash() {
        entries.withLock { entries in
            entries = entries.mapValues { entry in
                var entry = entry
                switch brokenRule {
                case .answersBeforeTheSync: entry.rows.removeLast(entry.rows.count - entry.rowsBeforeLast)
                case .markApartFromRows: entry.mark = entry.markBeforeLast
                default: break
                }
                return entry
            }
        }
    }

    package func append(_ parts: [BatchPart], from device: DeviceID, receivedAt: Int64) async -> [PartAnswer] {
        entries.withLock { entries in
            parts.map { part in
                let key = Key(device: device, epoch: part.epoch, stream: part.stream)
                var entry = entries[key] ?? Entry()
                defer { entries[key] = entry }
                return append(part, from: device, to: &entry, receivedAt: receivedAt)
            }
        }
    }

    private func append(_ part: BatchPart, from device: DeviceID, to entry: inout Entry, receivedAt: Int64)
        -> PartAnswer
    {
        func answer(_ outcome: PartOutcome, _ detail: String = "") -> PartAnswer {
            var mark = entry.mark
            if brokenRule == .acknowledgesUnseen, part.last > mark.number {
                mark.stored += part.last - mark.number
                mark.number = part.last
                mark.link = part.lastLink
            }
            return PartAnswer(epoch: part.epoch, stream: part.stream, outcome: outcome, mark: mark, detail: detail)
        }
        if entry.closed != nil { return answer(.closed) }
        let against = brokenRule == .storesBelowTheMark ? StreamMark.none : entry.mark
        let decision = PartDecision.decide(part: part, mark: against)
        switch decision {
        case .damaged(let why):
            if brokenRule == .acceptsDamagedParts, part.last > entry.mark.number, part.last <= BatchPart.greatestNumber
            {
                entry.mark.stored += part.last - entry.mark.number
                entry.mark.number = part.last
                entry.mark.link = part.lastLink
            }
            return answer(.damaged, why)
        case .identityConflict: return answer(.identityConflict)
        case .already: return answer(.already)
        case .store(let slice):
            entry.markBeforeLast = entry.mark
            entry.rowsBeforeLast = entry.rows.count
            for record in slice.records where record.rejection == nil {
                guard let header = RecordHeader(scanning: record.bytes) else { continue }
                entry.rows.append(
                    StoredRecord(
                        device: device, epoch: part.epoch, header: header, bytes: record.bytes, receivedAt: receivedAt))
            }
            if slice.mark.number > entry.mark.number || brokenRule == nil { entry.mark = slice.mark }
            if brokenRule == .countsGapsAsStored {
                entry.mark.stored += entry.mark.droppedCount
                entry.mark.dropped = [:]
            }
            entry.totals = part.totals
            return answer(.stored)
        }
    }

    package func close(_ request: EpochClose, from device: DeviceID) async throws(StoreError) -> [ClosedStream] {
        entries.withLock { entries in
            request.streams.map { stream in
                let key = Key(device: device, epoch: request.epoch, stream: stream.stream)
                var entry = entries[key] ?? Entry()
                entry.closed = entry.closed ?? stream
                if let last = stream.totals { entry.totals = entry.totals.told(also: last) }
                entries[key] = entry
                let links = Dictionary(uniqueKeysWithValues: Self.links(of: entry))
                let matched = stream.points.filter { links[$0.number] == $0.link }.max { $0.number < $1.number }
                return ClosedStream(stream: stream.stream, mark: entry.mark, match: matched.map { .point($0) } ?? .none)
            }
        }
    }

    /// Links of the history, so far as no gap hides them.
    private static func links(of entry: Entry) -> [(UInt64, ChainLink)] {
        var links: [(UInt64, ChainLink)] = []
        var link = ChainLink.zero
        for (position, row) in entry.rows.enumerated() where row.header.number == UInt64(position) + 1 {
            link = link.appending(row.bytes)
            links.append((row.header.number, link))
        }
        if entry.mark.number > UInt64(links.count) { links.append((entry.mark.number, entry.mark.link)) }
        return links
    }

    package func balance(of device: DeviceID) async throws(StoreError) -> [EpochBalance] {
        entries.withLock { entries in
            entries.filter { $0.key.device == device }.map { key, entry in
                let unnumbered = entry.totals.droppedUnnumbered
                var dropped = entry.mark.dropped.merging(unnumbered) { $0 + $1 }
                var accounted = entry.mark.number + unnumbered.values.reduce(0, +)
                var produced = max(entry.totals.produced, entry.mark.number)
                // Nothing waits in a closed epoch: what lies between mark and last counts under the reason.
                if let closed = entry.closed {
                    if closed.last > entry.mark.number {
                        dropped[closed.reason, default: 0] += closed.last - entry.mark.number
                        accounted += closed.last - entry.mark.number
                    }
                    produced = accounted
                }
                let balance = StreamBalance(
                    produced: max(produced, accounted), stored: UInt64(entry.rows.count), rejected: entry.mark.rejected,
                    dropped: dropped,
                    lostAtCollector: entry.mark.lostAtCollector, waiting: max(produced, accounted) - accounted)
                return EpochBalance(
                    epoch: key.epoch, stream: key.stream, mark: entry.mark, storedRows: UInt64(entry.rows.count),
                    totals: entry.totals,
                    closed: entry.closed != nil, balance: balance)
            }
        }
    }

    package func records(_ query: RecordQuery, before: String?, limit: Int) async throws(StoreError) -> RecordPage {
        let newestFirst = rows(query)
        let start = before.flatMap { Int($0) } ?? 0
        let page = Array(newestFirst.dropFirst(start).prefix(limit))
        return RecordPage(records: page, next: start + page.count < newestFirst.count ? "\(start + page.count)" : nil)
    }

    package func newestRecords(of devices: [DeviceID], _ query: RecordQuery) async throws(StoreError) -> [DeviceID:
        StoredRecord]
    {
        var query = query
        query.devices = .among(Set(devices))
        return Dictionary(rows(query).map { ($0.device, $0) }) { first, _ in first }
    }

    private func rows(_ query: RecordQuery) -> [StoredRecord] {
        entries.withLock { entries in
            entries.filter { query.admits($0.key.device) && $0.key.stream == query.stream }.flatMap(\.value.rows)
                .filter { query.admits($0.header) }.reversed()
        }
    }

    package func figures() async -> StoreFigures { StoreFigures() }

    package func readiness() async -> StoreReadiness { .ready }

    package func shutDown() async {}
}
