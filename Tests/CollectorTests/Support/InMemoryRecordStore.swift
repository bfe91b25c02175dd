import CollectorStore
import Foundation
import Synchronization
import WireModel

/// A record store in memory that follows the same pure decisions as the real ones; it can be told to fail.
final class InMemoryRecordStore: RecordStore {
    private struct Key: Hashable {
        let device: DeviceID
        let epoch: EpochID
        let stream: StreamName
    }

    private struct State {
        var marks: [Key: StreamMark] = [:]
        var totals: [Key: StreamTotals] = [:]
        var closed: Set<Key> = []
        var records: [(key: Key, record: StoredRecord)] = []
        var failure: String?
        var appends = 0
    }

    private let state = Mutex(State())

    /// Every later append answers unavailable with this reason, and balances fail with it; `nil` mends it.
    func fail(_ reason: String?) { state.withLock { $0.failure = reason } }

    var storedCount: Int { state.withLock { $0.records.count } }
    var appendCount: Int { state.withLock { $0.appends } }

    func append(_ parts: [BatchPart], from device: DeviceID, receivedAt: Int64) async -> [PartAnswer] {
        state.withLock { state in
            state.appends += 1
            return parts.map { part in
                let key = Key(device: device, epoch: part.epoch, stream: part.stream)
                let mark = state.marks[key] ?? .none
                func answer(_ outcome: PartOutcome, _ detail: String = "") -> PartAnswer {
                    PartAnswer(
                        epoch: part.epoch, stream: part.stream, outcome: outcome, mark: state.marks[key] ?? .none,
                        detail: detail)
                }
                if let failure = state.failure { return answer(.unavailable, failure) }
                if state.closed.contains(key) { return answer(.closed) }
                switch PartDecision.decide(part: part, mark: mark) {
                case .damaged(let detail): return answer(.damaged, detail)
                case .identityConflict: return answer(.identityConflict)
                case .already: return answer(.already)
                case .store(let slice):
                    for record in slice.records {
                        guard let header = RecordHeader(scanning: record.bytes) else { continue }
                        let stored = StoredRecord(
                            device: device, epoch: part.epoch, header: header, bytes: record.bytes,
                            receivedAt: receivedAt)
                        state.records.append((key, stored))
                    }
                    state.marks[key] = slice.mark
                    state.totals[key] = part.totals
                    return answer(.stored)
                }
            }
        }
    }

    func close(_ request: EpochClose, from device: DeviceID) async throws(StoreError) -> [ClosedStream] {
        state.withLock { state in
            request.streams.map { stream in
                let key = Key(device: device, epoch: request.epoch, stream: stream.stream)
                state.closed.insert(key)
                let mark = state.marks[key] ?? .none
                let point = stream.points.first { $0.number == mark.number && $0.link == mark.link }
                return ClosedStream(stream: stream.stream, mark: mark, match: point.map { .point($0) } ?? .none)
            }
        }
    }

    func balance(of device: DeviceID) async throws(StoreError) -> [EpochBalance] {
        if let failure = state.withLock({ $0.failure }) { throw StoreError(.io, failure) }
        return state.withLock { state in
            state.marks.filter { $0.key.device == device }.sorted { $0.key.stream < $1.key.stream }.map { key, mark in
                let totals = state.totals[key] ?? StreamTotals()
                let rows = UInt64(state.records.count { $0.key == key })
                let produced = max(totals.produced, mark.number)
                return EpochBalance(
                    epoch: key.epoch, stream: key.stream, mark: mark, storedRows: rows, totals: totals,
                    closed: state.closed.contains(key),
                    balance: StreamBalance(
                        produced: produced, stored: rows, rejected: mark.rejected, dropped: mark.dropped,
                        lostAtCollector: mark.lostAtCollector, waiting: produced - mark.number))
            }
        }
    }

    func records(_ query: RecordQuery, before: String?, limit: Int) async throws(StoreError) -> RecordPage {
        let end: Int?
        if let before {
            guard let position = Int(before) else { throw StoreError(.invalid, "no such position") }
            end = position
        } else {
            end = nil
        }
        return state.withLock { state in
            var found: [StoredRecord] = []
            var position = min(end ?? state.records.count, state.records.count)
            while position > 0, found.count < limit {
                position -= 1
                let (key, record) = state.records[position]
                guard query.admits(key.device), key.stream == query.stream, query.admits(record.header) else {
                    continue
                }
                found.append(record)
            }
            return RecordPage(records: found, next: position > 0 ? String(position) : nil)
        }
    }

    func newestRecords(of devices: [DeviceID], _ query: RecordQuery) async throws(StoreError) -> [DeviceID:
        StoredRecord]
    {
        state.withLock { state in
            let found = state.records.reversed().filter { key, record in
                devices.contains(key.device) && key.stream == query.stream && query.admits(record.header)
            }
            return Dictionary(found.map { ($0.key.device, $0.record) }) { first, _ in first }
        }
    }

    func figures() async -> StoreFigures { StoreFigures() }

    func readiness() async -> StoreReadiness {
        state.withLock { $0.failure.map { .notReady($0) } ?? .ready }
    }

    func shutDown() async {}
}
