import FoundationEssentials
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// Follows every chain of the fleet through the numbers of its rows, a step at a time, and reads the devices' balances
/// by their marks. It only reads record files, on a queue and with connections of its own, so no writer and no other
/// reader waits for it.
///
/// Of files that nobody writes to any more it remembers what it found, also over restarts (`<data>/balance.json`), so
/// it reads each of them once. The newest file of each stream is followed on from where the last round ended.
actor ChainFollower {
    /// Slices in one step.
    static let slicesPerStep = 10_000
    private static let memoryBytes = 16 << 20

    /// The findings in a file that nobody writes to.
    private struct Verdict: Codable {
        var stamp: FileStamp
        var findings: FollowedFindings
    }

    private struct OpenFile {
        var identity: FileIdentity
        var followed: FollowedFile
    }

    private let directory: DataDirectory
    private let damaged: DamagedFiles
    private let isRemembering: Bool
    private nonisolated let executor = BlockingExecutor(label: "ws1.collector.store.follower")

    nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    /// The verdicts by the names of partitions; `nil` before they are read.
    private var verdicts: [String: Verdict]?
    private var open: [Partition: OpenFile] = [:]
    /// Partitions of this round that are left, oldest last; `nil` between two rounds.
    private var left: [Partition]?
    /// Those to which a writer may still write.
    private var newest: Set<Partition> = []
    private var findings = ChainFindings()
    private var isChanged = false

    /// - Parameter isRemembering: whether what was found in old files is kept on disk.
    init(directory: DataDirectory, damaged: DamagedFiles, isRemembering: Bool) {
        self.directory = directory
        self.damaged = damaged
        self.isRemembering = isRemembering
    }

    // MARK: Following

    /// Does the next step of a round.
    /// - Returns: what was found, at the end of the round.
    func step() throws(StoreError) -> ChainFindings? {
        if left == nil { try beginRound() }
        while let partition = left?.last {
            do throws(StoreError) {
                guard let found = try look(at: partition) else { return nil }
                findings.partitions += 1
                findings.furtherFaults += found.further
                for fault in found.faults {
                    if findings.faults.count < 10 * FollowedFile.maximumFaults {
                        findings.faults.append(fault)
                    } else {
                        findings.furtherFaults += 1
                    }
                }
            } catch {
                open[partition] = nil
                // Retention may have removed it.
                if Paths.exists(directory.path(of: partition)) {
                    findings.unreadableFiles.append(partition.name)
                    if error.code == .corrupt { damaged.record(partition, error.message) }
                }
            }
            left?.removeLast()
        }
        return endRound()
    }

    private func beginRound() throws(StoreError) {
        if verdicts == nil { verdicts = remembered() }
        let partitions = try partitions()
        left = partitions.reversed()
        newest = []
        for stream in StreamName.allCases {
            if let last = partitions.last(where: { $0.stream == stream }) { newest.insert(last) }
        }
        findings = ChainFindings()
        let kept = Set(partitions)
        open = open.filter { kept.contains($0.key) }
        let names = Set(partitions.map(\.name))
        let count = verdicts?.count
        verdicts = verdicts?.filter { names.contains($0.key) }
        isChanged = verdicts?.count != count
    }

    private func endRound() -> ChainFindings {
        left = nil
        if isChanged { remember() }
        return findings
    }

    /// - Returns: `nil` while the file is not followed to its end.
    private func look(at partition: Partition) throws(StoreError) -> FollowedFindings? {
        let path = directory.path(of: partition)
        let stamp = newest.contains(partition) ? nil : FileStamp(path)
        if let stamp, let known = verdicts?[partition.name], known.stamp == stamp { return known.findings }
        guard let reading = try RecordFile(reading: partition, in: directory) else { return FollowedFindings() }
        let identity = reading.identity
        var file = open[partition] ?? OpenFile(identity: identity, followed: FollowedFile(partition))
        // Salvage or packing has put another one in its place.
        if file.identity != identity { file = OpenFile(identity: identity, followed: FollowedFile(partition)) }
        let isMore = try reading.connection.transaction(.deferred, mapping: StoreError.init) { () throws(StoreError) in
            try file.followed.follow(reading, limit: Self.slicesPerStep)
        }
        guard !isMore else {
            open[partition] = file
            return nil
        }
        let found = try file.followed.findings(reading)
        open[partition] = newest.contains(partition) ? file : nil
        if let stamp, stamp == FileStamp(path) {
            verdicts?[partition.name] = Verdict(stamp: stamp, findings: found)
            isChanged = true
        }
        return found
    }

    private func partitions() throws(StoreError) -> [Partition] {
        let removed: Set<Partition>
        if let connection = try CollectorDatabase.openReading(directory) {
            removed = Set(try Baseline(connection).removedPartitions())
        } else {
            removed = []
        }
        return try directory.partitions().filter { !removed.contains($0) }
    }

    // MARK: Remembering

    /// Empty if it cannot be read: then everything is followed again.
    private func remembered() -> [String: Verdict] {
        guard isRemembering,
            let bytes = try? Files<StoreError>.read(directory.balancePath, maximumBytes: Self.memoryBytes)
        else { return [:] }
        return (try? JSONDecoder().decode([String: Verdict].self, from: Data(bytes))) ?? [:]
    }

    /// A failure is not reported: what is not remembered is followed again.
    private func remember() {
        guard isRemembering, let verdicts, let bytes = try? JSONEncoder.stable().encode(verdicts) else { return }
        try? Files<StoreError>.replace(directory.balancePath, with: bytes.bytes)
    }

    // MARK: Balances

    /// The balances of some devices by their marks. Records that rows lack or have twice are not looked at, except
    /// those that were counted when their file was removed.
    func markedBalances(of devices: Set<DeviceID>) throws(StoreError) -> MarkedBalances {
        let ids = devices.map(\.data).sorted { $0.lexicographicallyPrecedes($1) }
        var balances = MarkedBalances()
        guard let first = ids.first, let last = ids.last else { return balances }
        // A file that retention removes meanwhile is in the baseline: the marks are read again from there.
        while true {
            let partitions = try partitions()
            do throws(StoreError) {
                for stream in StreamName.allCases {
                    let files = partitions.filter { $0.stream == stream }.reversed()
                    try add(stream, Array(files), (first, last), of: devices, to: &balances)
                }
                return balances
            } catch {
                if partitions.allSatisfy({ Paths.exists(directory.path(of: $0)) }) { throw error }
                balances = MarkedBalances()
            }
        }
    }

    /// - Parameter files: newest first. The newest one that has a chain has its newest state.
    private func add(
        _ stream: StreamName, _ files: [Partition], _ range: (Data, Data), of devices: Set<DeviceID>,
        to balances: inout MarkedBalances
    ) throws(StoreError) {
        var states: [ChainKey: ChainState] = [:]
        for partition in files {
            do throws(StoreError) {
                guard let file = try RecordFile(reading: partition, in: directory) else { continue }
                var found = states
                let chains = try StoreError.mapping(
                    file.connection.rows(
                        "SELECT id, device, epoch FROM chain WHERE device >= ? AND device <= ?", range.0, range.1
                    ) { ($0.int64(0), DeviceID($0.data(1)), EpochID($0.data(2))) })
                for (id, device, epoch) in chains {
                    guard let device, let epoch, devices.contains(device) else { continue }
                    let key = ChainKey(device: device, epoch: epoch)
                    if found[key] == nil, let row = try file.chain(id: id) { found[key] = row.state }
                }
                states = found
            } catch {
                guard error.code == .corrupt, Paths.exists(directory.path(of: partition)) else { throw error }
                balances.unreadableFiles.insert(partition.name)
            }
        }
        var rows: [ChainKey: UInt64] = [:]
        if let connection = try CollectorDatabase.openReading(directory) {
            for entry in try Baseline(connection).entries(from: range.0, to: range.1, stream: stream)
            where devices.contains(entry.key.device) {
                let newest = states[entry.key]
                let state = newest.map { $0.merged(with: entry.state) } ?? entry.state
                states[entry.key] = state
                let since = state.mark.stored.subtractingSaturating(entry.state.mark.stored)
                rows[entry.key] = since.addingSaturating(entry.removedRows)
            }
        }
        for (key, state) in states {
            let stored = rows[key] ?? state.mark.stored
            balances.balances.append(
                (
                    key.device,
                    EpochBalance(
                        epoch: key.epoch, stream: stream, mark: state.mark, storedRows: stored,
                        totals: state.totals.sent, closed: state.closed != nil,
                        balance: state.balance(storedRows: state.mark.stored))
                ))
        }
    }
}
