import RecordStore
import Synchronization
import WireModel

/// A store that keeps its word but for one record, which it loses or doubles when it is asked.
final class TamperedStore: RecordStore {
    enum Tampering: CaseIterable, Sendable {
        case loses, doubles, altersTheTime
    }

    private let store: any RecordStore
    private let tampering: Tampering
    /// The record it is about: the first sample with a number of 2 that is asked for.
    private let victim = Mutex<(device: DeviceID, epoch: EpochID)?>(nil)

    init(_ store: any RecordStore, _ tampering: Tampering) {
        self.store = store
        self.tampering = tampering
    }

    var durability: String { "fsync" }

    func append(_ parts: [BatchPart], from device: DeviceID, receivedAt: Int64) async -> [PartAnswer] {
        await store.append(parts, from: device, receivedAt: receivedAt)
    }

    func append(_ items: [UnnumberedItems], to stream: StreamName, receivedAt: Int64) async -> [UnnumberedAnswer] {
        await store.append(items, to: stream, receivedAt: receivedAt)
    }

    func close(_ request: EpochClose, from device: DeviceID) async throws(StoreError) -> [ClosedStream] {
        try await store.close(request, from: device)
    }

    func balance(of device: DeviceID, after: EpochID?, limit: Int) async throws(StoreError) -> BalancePage {
        try await store.balance(of: device, after: after, limit: limit)
    }

    func records(_ query: RecordQuery, before: String?, limit: Int) async throws(StoreError) -> RecordPage {
        var page = try await store.records(query, before: before, limit: limit)
        guard query.stream == .sample else { return page }
        page.records = page.records.flatMap { record -> [StoredRecord] in
            guard record.header.number == 2, isVictim(record) else { return [record] }
            switch tampering {
            case .loses: return []
            case .doubles: return [record, record]
            case .altersTheTime:
                let other = NewRecord(
                    stream: .sample, kind: .sampleSystem, module: "system",
                    stamp: RecordStamp(wallTime: record.header.wallTime + 1_000_000_000, bootID: nil, timeSinceBoot: 1),
                    body: record.header.body(of: record.bytes)
                ).serialized(number: 2)
                guard let header = RecordHeader(scanning: other) else { return [] }
                return [
                    StoredRecord(
                        device: record.device, epoch: record.epoch, header: header, bytes: other,
                        receivedAt: record.receivedAt)
                ]
            }
        }
        return page
    }

    private func isVictim(_ record: StoredRecord) -> Bool {
        victim.withLock { victim in
            if victim == nil { victim = (record.device, record.epoch) }
            return victim?.device == record.device && victim?.epoch == record.epoch
        }
    }

    func newestRecords(of devices: [DeviceID], _ query: RecordQuery) async throws(StoreError) -> [DeviceID:
        StoredRecord]
    {
        try await store.newestRecords(of: devices, query)
    }

    func unreadableFiles(of stream: StreamName) -> [String] { store.unreadableFiles(of: stream) }

    func scan(_ query: RecordQuery, after: String?) async throws(StoreError) -> RecordPage {
        try await store.scan(query, after: after)
    }

    func balances() async throws(StoreError) -> FleetBalances { try await store.balances() }
    func followChains() async throws(StoreError) -> ChainFindings? { try await store.followChains() }

    func markedBalances(of devices: Set<DeviceID>) async throws(StoreError) -> MarkedBalances {
        try await store.markedBalances(of: devices)
    }

    func verify() async throws(StoreError) -> VerifyReport { try await store.verify() }

    func harmedPartitions() async throws(StoreError) -> [Partition: PartitionHarm] {
        try await store.harmedPartitions()
    }

    func backup(
        to directory: String, receive: @Sendable (BackupFile) throws(StoreError) -> Void
    ) async throws(StoreError) -> Bool {
        try await store.backup(to: directory, receive: receive)
    }

    func partitions() async throws(StoreError) -> PartitionList { try await store.partitions() }

    func newestReceipt(in partition: Partition) async throws(StoreError) -> Int64? {
        try await store.newestReceipt(in: partition)
    }

    func drop(_ partition: Partition) async throws(StoreError) { try await store.drop(partition) }
    func erase(_ devices: Set<DeviceID>) async throws(StoreError) { try await store.erase(devices) }

    func reclaim() async throws(StoreError) { try await store.reclaim() }
    func readiness() async -> StoreReadiness { await store.readiness() }
    func figures() async -> StoreFigures { await store.figures() }
    func shutDown() async { await store.shutDown() }
}
