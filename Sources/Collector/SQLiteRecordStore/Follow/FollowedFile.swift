import FoundationEssentials
import Glibc
import RecordStore
import Registry
import SQLite
import TelemetryBasics
import WireModel

/// One record file while its chains are followed through the numbers of their slices.
///
/// Slices have their ids in the order of receipt, and the numbers of a chain grow with them. So each slice must begin
/// where the one before it in its chain ended, or as many numbers later as it was accepted with as lost. The first one
/// begins where the chain entered the file, and the last one ends at the mark. Whatever differs is missing or doubled.
///
/// Only numbers are compared, and of a slice only its first page is read. That records have the bytes that were
/// accepted is proved by `verify`, which reads everything. In return a file that grows is followed on from where it
/// was, so each slice is looked at once.
struct FollowedFile {
    /// The most faults of a file that are listed one by one.
    static let maximumFaults = 100

    private struct Counts {
        var missing: UInt64 = 0
        var doubled: UInt64 = 0
    }

    private let partition: Partition
    private var lastSlice: Int64 = 0
    /// The number that each chain, by its id, has come to.
    private var reached: [Int64: UInt64] = [:]
    private var counts: [Int64: Counts] = [:]
    /// Slices of no chain.
    private var strays = 0

    init(_ partition: Partition) { self.partition = partition }

    /// Looks at the next slices.
    /// - Returns: whether there are more.
    mutating func follow(_ file: RecordFile, limit: Int) throws(StoreError) -> Bool {
        let slices = try StoreError.mapping(
            file.connection.rows(
                "SELECT id, chain, first, last, lost_before FROM slice WHERE id > ? ORDER BY id LIMIT ?", lastSlice,
                limit
            ) { statement throws(SQLiteError) in
                let row = statement.row
                return (
                    try row.int64("id"), try row.int64("chain"), try row.int64("first"), try row.int64("last"),
                    try row.int64("lost_before")
                )
            })
        for (id, chain, first, last, lost) in slices {
            guard first >= 1, last >= first, lost >= 0 else {
                throw file.corrupt("slice \(id) has impossible numbers")
            }
            try pass(chain, from: UInt64(first), to: UInt64(last), lost: UInt64(lost), in: file)
            lastSlice = id
        }
        return slices.count == limit
    }

    private mutating func pass(
        _ chain: Int64, from first: UInt64, to last: UInt64, lost: UInt64, in file: RecordFile
    ) throws(StoreError) {
        let former: UInt64
        if let known = reached[chain] {
            former = known
        } else if let entry = try entryNumber(chain, in: file) {
            former = entry
        } else {
            strays += 1
            return
        }
        if first <= former {
            counts[chain, default: Counts()].doubled.addSaturating(min(last, former) - first + 1)
        } else {
            let hole = first - 1 - former
            if hole > lost { counts[chain, default: Counts()].missing.addSaturating(hole - lost) }
            if hole < lost { counts[chain, default: Counts()].doubled.addSaturating(lost - hole) }
        }
        reached[chain] = max(former, last)
    }

    /// `nil` if there is no such chain.
    private func entryNumber(_ chain: Int64, in file: RecordFile) throws(StoreError) -> UInt64? {
        let entry = try StoreError.mapping(
            file.connection.first("SELECT entry_number FROM chain WHERE id = ?", chain) { $0.int64(0) })
        guard let entry else { return nil }
        guard entry >= 0 else { throw file.corrupt("chain \(chain) has an impossible number") }
        return UInt64(entry)
    }

    /// Compares every chain's end with its mark. Slices and marks are read at one moment.
    mutating func findings(_ file: RecordFile) throws(StoreError) -> FollowedFindings {
        try StoreError.mapping(file.connection.begin(.deferred))
        defer { file.connection.rollback() }
        while try follow(file, limit: 1000) {}
        var findings = FollowedFindings(further: strays)
        var id: Int64 = 0
        while true {
            let chains = try StoreError.mapping(
                file.connection.rows(
                    "SELECT id, device, epoch, entry_number, mark FROM chain WHERE id > ? ORDER BY id LIMIT 512", id
                ) { statement throws(SQLiteError) in
                    let row = statement.row
                    return (
                        try row.int64("id"), try row.data("device"), try row.data("epoch"),
                        try row.int64("entry_number"), try row.data("mark")
                    )
                })
            for (chain, device, epoch, entry, mark) in chains {
                guard let device = DeviceID(device), let epoch = EpochID(epoch), entry >= 0,
                    let mark = try? WireMark.decode(mark).number
                else { throw file.corrupt("chain \(chain) has impossible ids or numbers") }
                var counts = counts[chain] ?? Counts()
                let end = reached[chain] ?? UInt64(entry)
                if mark > end { counts.missing.addSaturating(mark - end) }
                if end > mark { counts.doubled.addSaturating(end - mark) }
                guard counts.missing > 0 || counts.doubled > 0 else { continue }
                findings.add(
                    ChainFault(
                        device: device.description, epoch: epoch.description, stream: partition.stream,
                        file: partition.name, missing: counts.missing, doubled: counts.doubled))
            }
            guard let last = chains.last?.0 else { return findings }
            id = last
        }
    }
}

/// The faults of one file.
struct FollowedFindings: Equatable, Codable {
    var isEmpty: Bool { faults.isEmpty && further == 0 }

    private(set) var faults: [ChainFault] = []
    /// Those beyond the limit, and slices of no chain.
    private(set) var further = 0

    init(further: Int = 0) { self.further = further }

    mutating func add(_ fault: ChainFault) {
        if faults.count < FollowedFile.maximumFaults { faults.append(fault) } else { further += 1 }
    }
}

/// A stamp that shows whether a record file that nobody writes to is still the one that was followed.
struct FileStamp: Equatable, Codable {
    private var inode: UInt64
    private var bytes: Int64
    /// Nanoseconds since 1970.
    private var modified: Int64

    /// A number that differs for files that differ, to be kept where a number is.
    var fingerprint: Int64 {
        [Int64(bitPattern: inode), bytes, modified].reduce(0) { ($0 &* 0x0000_0100_0000_01B3) ^ $1 }
    }

    /// `nil` if there is no such file, or a WAL beside it holds more.
    init?(_ path: String) {
        var status = stat()
        guard stat(path, &status) == 0, (Paths.size(of: "\(path)-wal") ?? 0) == 0 else { return nil }
        inode = UInt64(status.st_ino)
        bytes = Int64(status.st_size)
        modified = Int64(status.st_mtim.tv_sec) * 1_000_000_000 + Int64(status.st_mtim.tv_nsec)
    }
}
