import DeviceTunables
import FoundationEssentials
import Glibc
import Logging
import SQLite
import WireModel

/// Removes records at the front without acknowledgement.
extension QueueStore {
    func drop(oldest count: Int, bytes: Int, of stream: StreamName, reason: DropReason, keepAside: Bool) throws -> Gap?
    {
        try drop(oldest: count, bytes: bytes, from: .current(stream), reason: reason, keepAside: keepAside)
    }

    /// Drops about as much as fits into one transaction, from one table. Between two calls an epoch may end.
    /// - Returns: what was dropped; `nil` if nothing waits.
    func dropSome(of streams: Set<StreamName>, reason: DropReason) throws -> Gap? {
        defer { checkpointIfDue() }
        for table in state.tables where streams.contains(table.stream) {
            let gap = try drop(
                oldest: Tunables.Queue.transactionRecords, bytes: Tunables.Queue.transactionBytes, from: table,
                reason: reason,
                keepAside: false)
            if let gap { return gap }
        }
        return nil
    }

    /// Drops the oldest records, at least one if there is one: up to `count`, and about `bytes` of them at most.
    ///
    /// - Returns: what was dropped now; in the ledger it may be part of a longer gap. `nil` if the table is empty.
    func drop(oldest count: Int, bytes: Int, from table: RecordTable, reason: DropReason, keepAside: Bool) throws
        -> Gap?
    {
        guard count > 0, let prefix = try prefix(of: table, records: count, bytes: bytes) else { return nil }
        func run(keepingAside: Bool) throws -> Gap {
            try change { next in
                let aside = keepingAside ? try quarantineRows(through: prefix.last, of: table) : []
                let removed = RemovedRows(count: try delete(through: prefix.last, of: table), bytes: prefix.bytes)
                // After the deletion, so on a full disk they can use the freed pages.
                if keepingAside { try quarantine(aside, of: table.stream, reason: reason, in: &next) }
                if next.isChained(table) {
                    return next[table].drop(through: prefix.last, link: prefix.link, removed: removed, reason: reason)
                }
                next[table].passed(prefix.last, link: prefix.link, removed: removed)
                next[table.stream].unnumbered[reason, default: 0] += removed.count
                return Gap(first: prefix.first, last: prefix.last, reason: reason, link: prefix.link)
            }
        }
        guard keepAside, configuration.quarantineRecords > 0 else { return try run(keepingAside: false) }
        do {
            return try run(keepingAside: true)
        } catch {
            // Dropping continues without a copy. A record that is to be quarantined waits in its stream instead.
            guard QueueError(error).code == .diskFull, reason != .quarantined else { throw error }
            return try run(keepingAside: false)
        }
    }

    /// Drops records above the age limit.
    func dropOverAged() throws {
        let limit = queueClock.time - configuration.maximumAge.queueMicroseconds
        for table in state.tables {
            while state[table].rowCount > 0, try oldestQueueTime(of: table).map({ $0 <= limit }) ?? false {
                let statement = try connection.cached(
                    """
                    SELECT count(*) FROM (SELECT queue_time FROM \(table.name) WHERE number > ? ORDER BY number LIMIT ?)
                    WHERE queue_time <= ?
                    """)
                try statement.bind(state[table].front, Tunables.Queue.transactionRecords, limit)
                let count = try statement.step() ? statement.int(0) : 0
                statement.reset()
                guard
                    let gap = try drop(
                        oldest: count, bytes: Tunables.Queue.transactionBytes, from: table, reason: .ageCap,
                        keepAside: false
                    )
                else { break }
                logger.notice(
                    "queue dropped records past the age cap",
                    metadata: ["queue.stream": "\(table.stream)", "queue.dropped": "\(gap.count)"])
            }
        }
    }

    /// The queue time of the first row above the front.
    func oldestQueueTime(of table: RecordTable) throws -> Int64? {
        let statement = try connection.cached(
            "SELECT queue_time FROM \(table.name) WHERE number > ? ORDER BY number LIMIT 1")
        try statement.bind(state[table].front, at: 1)
        defer { statement.reset() }
        return try statement.step() ? statement.int64(0) : nil
    }

    /// Bytes of the rows above the front up to a number.
    func bytes(through number: UInt64, of table: RecordTable) throws -> UInt64 {
        let statement = try connection.cached(
            "SELECT coalesce(sum(size), 0) FROM \(table.name) WHERE number BETWEEN ? AND ?")
        try statement.bind(state[table].front + 1, number)
        defer { statement.reset() }
        return try statement.step() ? try statement.uint64(0) : 0
    }

    /// Deletes the rows above the front up to a number.
    /// - Returns: the number of deleted rows.
    func delete(through number: UInt64, of table: RecordTable) throws -> UInt64 {
        let statement = try connection.cached("DELETE FROM \(table.name) WHERE number BETWEEN ? AND ?")
        try statement.bind(state[table].front + 1, number)
        try statement.run()
        return UInt64(connection.changes)
    }

    struct Prefix {
        var first: UInt64
        var last: UInt64
        var link: ChainLink
        var bytes: UInt64
    }

    /// The first rows above the front.
    func prefix(of table: RecordTable, records: Int, bytes: Int) throws -> Prefix? {
        let ledger = state[table]
        let statement = try connection.cached(
            "SELECT number, size, link, key_id FROM \(table.name) WHERE number > ? ORDER BY number LIMIT ?")
        try statement.bind(ledger.front, records)
        defer { statement.reset() }
        var prefix: Prefix?
        var isSealed = false
        while try statement.step() {
            isSealed = statement.int64(3) != 0
            guard let link = isSealed ? .zero : ChainLink(statement.data(2)) else {
                throw corrupt("a row of \(table.name) has no link")
            }
            let number = try statement.uint64(0)
            guard number <= ledger.last, (0...Int64(Int32.max)).contains(statement.int64(1)) else {
                throw corrupt("\(table.name) has a row \(number) outside of its ledger")
            }
            prefix = Prefix(
                first: prefix?.first ?? number, last: number, link: link,
                bytes: (prefix?.bytes ?? 0) + (try statement.uint64(1)))
            if let prefix, prefix.bytes >= UInt64(bytes) { break }
        }
        return isSealed ? try prefix.map { try opened($0, of: table) } : prefix
    }

    /// The same prefix with the link of its last row. If that row is sealed and damaged, the prefix ends with the first
    /// row after it whose link is known.
    private func opened(_ prefix: Prefix, of table: RecordTable) throws -> Prefix {
        var prefix = prefix
        let rows = try connection.cached(
            "SELECT \(StoredRow.columns) FROM \(table.name) WHERE number >= ? ORDER BY number")
        try rows.bind(prefix.last, at: 1)
        defer { rows.reset() }
        while try rows.step() {
            let row = try StoredRow(rows, of: table.stream)
            if row.number > prefix.last { prefix.bytes += UInt64(max(0, row.size)) }
            prefix.last = row.number
            if let link = try link(of: row, table) {
                prefix.link = link
                return prefix
            }
        }
        // The last row is damaged. The ledger has its link.
        prefix.last = state[table].last
        prefix.link = state[table].lastLink
        guard prefix.link != .zero else { throw unknownLink }
        return prefix
    }

    /// The link of a row; `nil` if it is damaged. Rows that only wait to move need none.
    private func link(of row: StoredRow, _ table: RecordTable) throws -> ChainLink? {
        do throws(QueueError) { return try seal.open(row)?.link } catch {
            guard error.code == .keyUnavailable, !state.isChained(table) else { throw error }
            return .zero
        }
    }
}

/// Allocates space in advance, so only inserting ever asks the disk for more.
extension QueueStore {
    /// Allocates the file at opening, so that its size is its allocation. A new file gets its first chunk, and the WAL
    /// its full size.
    func allocate() throws {
        try connection.setPersistentWAL(true)
        allocatedPages = Int(try connection.fileSize(.main)) / QueueFile.pageBytes
        if allocatedPages < configuration.growthPages {
            try grow(toPages: configuration.growthPages)
        } else {
            try fixAllocation()
        }
        allocateWAL()
        // What an earlier run left in the WAL counts.
        pagesAtCheckpoint = -Tunables.Queue.checkpointPages
        checkpointIfDue()
    }

    /// Allocates the WAL. On a full disk the queue continues with the WAL as it is, and tries again after the next
    /// checkpoint.
    func allocateWAL() {
        do {
            try connection.preallocateWAL(bytes: Tunables.Queue.walBytes)
            isWALAllocated = true
        } catch {
            logger.warning("queue WAL could not be allocated ahead", metadata: ["queue.error": "\(error)"])
        }
    }

    /// Allocates the file up to this many pages.
    func grow(toPages pages: Int) throws {
        do {
            try connection.setChunkSize(bytes: QueueFile.pageBytes)
            try connection.sizeHint(bytes: Int64(pages) * Int64(QueueFile.pageBytes))
        } catch {
            // Otherwise the next checkpoint would cut off allocated pages, including the reserve.
            if allocatedPages > 0 { try fixAllocation() }
            throw error
        }
        allocatedPages = pages
        try fixAllocation()
    }

    /// The chunk size is the whole allocation. A checkpoint truncates the file to a multiple of it, and so never below.
    private func fixAllocation() throws {
        try connection.setChunkSize(bytes: allocatedPages * QueueFile.pageBytes)
        try connection.setPragma("max_page_count", to: allocatedPages)
    }

    /// Allocates space for records if the file's own limit allows it. The space that must stay free does not count.
    /// - Returns: the pages they may use.
    @discardableResult
    func growIfAllowed(records: Int, bytes: Int) throws -> Int {
        let pages = RoomPlan.pages(records: records, bytes: bytes) * 2
        if case .grow(let target) = try roomPlan().step(needed: pages) { try grow(toPages: target) }
        return pages
    }

    /// Pages available without growth, within the present transaction.
    func availablePages() throws -> Int {
        allocatedPages - (try pragmaNumber("page_count")) + (try pragmaNumber("freelist_count"))
    }

    func roomPlan() throws -> RoomPlan {
        RoomPlan(
            availablePages: try availablePages(), allocatedPages: allocatedPages,
            growthPages: configuration.growthPages,
            maximumPages: max(configuration.maximumPages, configuration.growthPages))
    }

    /// Whether the disk may give this many more pages without touching the space that must stay free.
    func diskAllows(pages: Int) -> Bool {
        guard let free = FreeSpace(path: directory) else { return true }
        return free.allows(
            UInt64(pages * QueueFile.pageBytes), keepBytes: UInt64(configuration.keepFreeBytes),
            keepInodesPercent: UInt64(configuration.keepFreeInodesPercent))
    }

    private func pragmaNumber(_ name: String) throws -> Int {
        let statement = try connection.cached("PRAGMA \(name)")
        defer { statement.reset() }
        return try statement.step() ? statement.int(0) : 0
    }
}

/// Decides how room is made for an insert, from the file's figures. Pure.
struct RoomPlan: Equatable {
    /// Pages available without growth: free ones, and unused ones within the allocation.
    var availablePages: Int
    var allocatedPages: Int
    var growthPages: Int
    var maximumPages: Int

    enum Step: Equatable {
        case fits
        /// Allocate up to this many pages if the disk allows it.
        case grow(toPages: Int)
        /// The limit is reached; this many pages must be freed.
        case evict(pages: Int)
    }

    /// - Parameter needed: pages for the insert, without the reserve.
    func step(needed: Int) -> Step {
        let missing = needed + Tunables.Queue.reservePages - availablePages
        guard missing > 0 else { return .fits }
        let chunks = (missing + growthPages - 1) / growthPages
        let target = min(maximumPages, allocatedPages + chunks * growthPages)
        return target - allocatedPages >= missing
            ? .grow(toPages: target) : .evict(pages: missing - max(0, target - allocatedPages))
    }

    /// An upper estimate for records: row overhead, unused ends of pages, and inner pages.
    static func pages(records: Int, bytes: Int) -> Int {
        let content = bytes + records * 64
        return content / QueueFile.pageBytes + content / QueueFile.pageBytes / 6 + 8
    }
}

/// The space that a file system offers to ordinary users.
struct FreeSpace: Equatable, Sendable {
    var bytes: UInt64
    var inodes: UInt64
    /// 0 if the file system has no inodes.
    var totalInodes: UInt64

    /// Whether `bytes` more may be used without touching what must stay free.
    func allows(_ wanted: UInt64, keepBytes: UInt64, keepInodesPercent: UInt64) -> Bool {
        guard bytes >= wanted, bytes - wanted >= keepBytes else { return false }
        return totalInodes == 0 || inodes >= totalInodes / 100 * keepInodesPercent
    }

}

extension FreeSpace {
    /// `nil` if the system does not report it.
    init?(path: String) {
        var figures = statvfs()
        guard statvfs(path, &figures) == 0 else { return nil }
        self.init(
            bytes: UInt64(figures.f_bavail).multipliedSaturating(by: UInt64(figures.f_frsize)),
            inodes: UInt64(figures.f_favail),
            totalInodes: UInt64(figures.f_files))
    }
}
