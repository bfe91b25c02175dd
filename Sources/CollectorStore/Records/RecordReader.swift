import FoundationEssentials
import SQLite
import WireModel

/// Reads beside the writers, on a queue and connections of its own.
///
/// A call never suspends, so the files it has listed are there until it ends: a file is removed only after `forget` has run here.
actor RecordReader {
    private let directory: DataDirectory
    private let baselineConnection: Connection
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.store.reader")
    private var files: [Partition: DayFile] = [:]
    /// On their way out: in the baseline already.
    private var retired: Set<Partition> = []
    private var isShutDown = false

    /// Connections kept open.
    private static let openLimit = 64
    /// Slices opened for one page at most: a rare kind gives a short page and a cursor instead of a long wait.
    private static let slicesPerPage = 2000

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    init(directory: DataDirectory) throws(StoreError) {
        self.directory = directory
        baselineConnection = try CollectorDatabase.open(directory)
    }

    func records(
        of device: DeviceID, stream: StreamName, kind: Int?, module: String?, before: RecordCursor?, limit: Int
    ) throws(StoreError) -> RecordPage {
        var page = RecordPage(records: [], next: nil)
        var remainingSlices = Self.slicesPerPage
        for partition in try partitions(of: stream).reversed() {
            if let before, partition.day > before.day { continue }
            guard let file = try file(partition) else { continue }
            let chains = try file.chains(of: device)
            var position = before?.day == partition.day ? before : nil
            while let (chain, id) = try newest(chains, file, atMost: position?.slice ?? .max, kind: kind) {
                remainingSlices -= 1
                guard let slice = try file.slice(id: id, chain: chain.id) else { break }
                let below = position?.slice == id ? position?.number ?? .max : .max
                var last = below
                for record in try records(in: slice, of: chain, file: file) where record.header.number < below {
                    if page.records.count == limit || remainingSlices < 0 {
                        page.next = RecordCursor(day: partition.day, slice: id, number: last).text
                        return page
                    }
                    last = record.header.number
                    let isWanted = (kind == nil || record.header.kind == kind) && (module == nil || record.header.module == module)
                    if isWanted { page.records.append(record) }
                }
                position = RecordCursor(day: partition.day, slice: id - 1, number: .max)
            }
        }
        return page
    }

    private func newest(
        _ chains: [DayFile.ChainRow], _ file: DayFile, atMost id: Int64, kind: Int?
    ) throws(StoreError) -> (DayFile.ChainRow, Int64)? {
        var found: (DayFile.ChainRow, Int64)?
        for chain in chains {
            guard let slice = try file.newestSlice(chain: chain.id, atMost: id, kindBit: kind.map(DayFile.kindBit)) else { continue }
            if slice > found?.1 ?? 0 { found = (chain, slice) }
        }
        return found
    }

    /// Newest first.
    private func records(in slice: StoredSlice, of chain: DayFile.ChainRow, file: DayFile) throws(StoreError) -> [StoredRecord] {
        guard let ranges = slice.records.withUnsafeBytes({ PackedRecords.ranges($0) }) else {
            throw file.corrupt("the slice from \(slice.first) of chain \(chain.id) is not packed records")
        }
        var records: [StoredRecord] = []
        records.reserveCapacity(ranges.count)
        for range in ranges.reversed() {
            let bytes = Data(slice.records.slice(range))
            guard let header = RecordHeader(scanning: bytes) else {
                throw file.corrupt("a record of the slice from \(slice.first) of chain \(chain.id) has no envelope")
            }
            records.append(StoredRecord(epoch: chain.key.epoch, header: header, bytes: bytes, receivedAt: slice.receivedAt))
        }
        return records
    }

    func balance(of device: DeviceID) throws(StoreError) -> [EpochBalance] {
        var balances: [EpochBalance] = []
        let baseline = Baseline(baselineConnection)
        for stream in StreamName.allCases {
            var counted = ChainCounts()
            for entry in try baseline.entries(of: device, stream: stream) { counted.add(entry) }
            for partition in try partitions(of: stream) {
                if let file = try file(partition) { try counted.add(file, of: device) }
            }
            balances += counted.balances(stream: stream).map(\.balance)
        }
        return balances.sorted { ($0.epoch.description, $0.stream) < ($1.epoch.description, $1.stream) }
    }

    /// Closes what is open of a file that is about to be removed, and asks it no more.
    func forget(_ partition: Partition) {
        files[partition] = nil
        retired.insert(partition)
    }

    func shutDown() {
        isShutDown = true
        files = [:]
    }

    private func partitions(of stream: StreamName) throws(StoreError) -> [Partition] {
        if isShutDown { throw StoreError(.shuttingDown, "the store is closed.") }
        let removed = Set(try Baseline(baselineConnection).removedPartitions())
        return try directory.partitions().filter { $0.stream == stream && !removed.contains($0) && !retired.contains($0) }
    }

    private func file(_ partition: Partition) throws(StoreError) -> DayFile? {
        if let open = files[partition], open.isInPlace { return open }
        if files.count >= Self.openLimit { files = [:] }
        let file = try DayFile(reading: partition, in: directory)
        files[partition] = file
        return file
    }
}
