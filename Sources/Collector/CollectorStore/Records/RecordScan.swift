import FoundationEssentials
import SQLite
import TelemetryBasics
import WireModel

/// Goes over stored records in the order of their receipt, stream by stream and day by day, one packed row in memory at
/// a time. Reads only, takes no lock, works beside a running collector. Records of devices that are not registered any
/// more are left out.
///
/// Not `Sendable`: one caller.
package final class RecordScan {
    /// Which records.
    package struct Filter: Sendable {
        package var streams: Set<StreamName>
        /// Raw value of a record kind; `nil`: all.
        package var kind: Int?
        package var module: String?
        package var device: DeviceID?
        package var organization: String?
        /// By the device's wall clock, inclusive, microseconds since 1970.
        package var from: Int64?
        /// Exclusive.
        package var to: Int64?
        /// By the collector's clock, inclusive; looked for from the end of each file.
        package var receivedSince: Int64?

        package init(
            streams: Set<StreamName> = Set(StreamName.allCases), kind: Int? = nil, module: String? = nil,
            device: DeviceID? = nil,
            organization: String? = nil, from: Int64? = nil, to: Int64? = nil, receivedSince: Int64? = nil
        ) {
            self.streams = streams
            self.kind = kind
            self.module = module
            self.device = device
            self.organization = organization
            self.from = from
            self.to = to
            self.receivedSince = receivedSince
        }

        func admits(_ header: RecordHeader) -> Bool {
            (kind == nil || header.kind == kind) && (module == nil || header.module == module)
                && header.wallTime >= from ?? .min
                && header.wallTime < to ?? .max
        }
    }

    /// One record, and whose it is.
    package struct Entry: Sendable {
        package var stream: StreamName
        package var organization: String
        package var record: StoredRecord

        package var device: DeviceID { record.device }
    }

    private let directory: DataDirectory
    private let filter: Filter
    private let owners: DeviceOwners
    private let baseline: Baseline
    /// The next one last.
    private var partitions: [Partition]
    private var opened: OpenFile?
    /// Files that are damaged, so that some or all of their records were passed over; by name.
    package private(set) var unreadableFiles: [String] = []

    /// A file that is gone over.
    private struct OpenFile {
        let file: RecordFile
        /// Chains that are gone over one after the other, the next one last; `nil`: all at once, in the order of
        /// receipt.
        var chains: [Int64?]
        var position: Int64
        /// The next one last.
        var places: [RecordFile.SlicePlace] = []
        /// Whose a chain is; an inner `nil`: not wanted.
        var owned: [Int64: (key: ChainKey, organization: String)?] = [:]
    }

    private static let placesPerLook = 512

    /// - Throws: `.notFound` where there is no collector's data; what the disk says.
    package init(directory path: String, filter: Filter = Filter()) throws(StoreError) {
        directory = DataDirectory(path: path)
        self.filter = filter
        guard let connection = try CollectorDatabase.openReading(directory) else { throw .noCollector(path) }
        owners = DeviceOwners(connection)
        baseline = Baseline(connection)
        let removed = Set(try baseline.removedPartitions())
        // A file's day is that of a receipt in it or a later one, but for a clock that was set back in between: hence a
        // day before.
        let firstDay = filter.receivedSince.map { UTCDay(microseconds: $0 - 86_400_000_000) }
        partitions = try directory.partitions().filter { partition in
            filter.streams.contains(partition.stream) && !removed.contains(partition)
                && firstDay.map { $0 <= partition.day } ?? true
        }
        .sorted { ($1.stream, $1.day) < ($0.stream, $0.day) }
    }

    /// The records of the next packed row that the filter admits, perhaps none; `nil` at the end.
    package func next() throws(StoreError) -> [Entry]? {
        while true {
            do throws(StoreError) {
                if let entries = try nextOfOpenFile() { return entries }
            } catch  where error.code == .corrupt {
                if let file = opened?.file { passOver(file.partition) }
                // SQLite's own word is of the file, and not of one row that was passed over.
                if error.cause != nil { opened = nil }
                continue
            }
            guard let partition = partitions.popLast() else { return nil }
            do throws(StoreError) { opened = try openFile(partition) } catch  where error.code == .corrupt {
                passOver(partition)
            }
        }
    }

    private func passOver(_ partition: Partition) {
        if !unreadableFiles.contains(partition.name) { unreadableFiles.append(partition.name) }
    }

    private func openFile(_ partition: Partition) throws(StoreError) -> OpenFile? {
        do throws(StoreError) {
            guard let file = try RecordFile(reading: partition, in: directory) else { return nil }
            var position: Int64 = 0
            if let time = filter.receivedSince { position = try file.lastSlice(before: time) }
            guard let device = filter.device else { return OpenFile(file: file, chains: [nil], position: position) }
            return OpenFile(file: file, chains: try file.chains(of: device).map(\.id), position: 0)
        } catch {
            // Retention beside us may have removed it.
            if !Paths.exists(directory.path(of: partition)),
                try baseline.removedPartitions().contains(partition)
            {
                return nil
            }
            throw error
        }
    }

    /// - Returns: `nil` at the end of the file.
    private func nextOfOpenFile() throws(StoreError) -> [Entry]? {
        guard var state = opened else { return nil }
        defer { opened = state }
        while let chain = state.chains.last {
            if state.places.isEmpty {
                state.places = try state.file.places(
                    after: state.position, chain: chain, kindBit: filter.kind.map(RecordFile.kindBit),
                    from: filter.from, to: filter.to, limit: Self.placesPerLook
                ).reversed()
                guard let last = state.places.first else {
                    state.chains.removeLast()
                    state.position = 0
                    continue
                }
                state.position = last.position
            }
            while let place = state.places.popLast() {
                if state.owned[place.chain] == nil {
                    state.owned[place.chain] = .some(try owner(of: place.chain, in: state.file))
                }
                guard let owner = state.owned[place.chain] ?? nil, let slice = try state.file.packedSlice(id: place.id)
                else { continue }
                return try records(in: slice.records, of: owner.key, in: state.file).map { header, bytes in
                    Entry(
                        stream: state.file.partition.stream, organization: owner.organization,
                        record: StoredRecord(
                            device: owner.key.device, epoch: owner.key.epoch, header: header, bytes: bytes,
                            receivedAt: slice.receivedAt))
                }
            }
        }
        return nil
    }

    /// Those the filter admits, oldest first.
    private func records(
        in packed: Data, of key: ChainKey, in file: RecordFile
    ) throws(StoreError) -> [(RecordHeader, Data)] {
        guard let ranges = packed.withUnsafeBytes({ PackedRecords.ranges($0) }) else {
            throw file.corrupt("a slice of \(key.device) is not packed records")
        }
        var records: [(RecordHeader, Data)] = []
        for range in ranges {
            let bytes = packed.slice(range)
            guard let header = RecordHeader(scanning: bytes) else {
                throw file.corrupt("a record of \(key.device) has no envelope")
            }
            if filter.admits(header) { records.append((header, Data(bytes))) }
        }
        return records
    }

    /// `nil`: not wanted.
    private func owner(
        of chain: Int64, in file: RecordFile
    ) throws(StoreError) -> (key: ChainKey, organization: String)? {
        guard let row = try file.chains(after: chain - 1, limit: 1).first, row.id == chain,
            let organization = try owners.organization(of: row.key.device),
            filter.organization == nil || filter.organization == organization
        else { return nil }
        return (row.key, organization)
    }
}

/// Whose devices are: asked one by one, and remembered for a while.
private final class DeviceOwners {
    private let connection: Connection
    private var known: [DeviceID: String?] = [:]

    private static let limit = 16_384

    init(_ connection: Connection) {
        self.connection = connection
    }

    func organization(of device: DeviceID) throws(StoreError) -> String? {
        if let organization = known[device] { return organization }
        let organization: String? = try StoreError.mapping { () throws(SQLiteError) in
            try connection.first("SELECT organization FROM device WHERE id = ?", device.data) { $0.string(0) }
        }
        if known.count >= Self.limit { known = [:] }
        known[device] = .some(organization)
        return organization
    }
}
