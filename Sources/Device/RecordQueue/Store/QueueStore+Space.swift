import Logging
import SQLite

/// Space that is taken ahead, so that only inserting ever asks the disk for more.
extension QueueStore {
    /// At opening: what the file has is its allocation; a new file gets its first chunk, and the WAL its measure.
    func allocate() throws {
        try connection.setPersistentWAL(true)
        allocatedPages = Int(try connection.fileSize(.main)) / QueueFile.pageBytes
        if allocatedPages < configuration.growthPages { try grow(toPages: configuration.growthPages) } else { try fixAllocation() }
        allocateWAL()
        // What an earlier run left in the WAL counts.
        pagesAtCheckpoint = -QueueFile.checkpointPages
        checkpointIfDue()
    }

    /// On a full disk the queue goes on with the WAL as it is, and asks again after the next checkpoint.
    func allocateWAL() {
        do {
            try connection.preallocateWAL(bytes: QueueFile.walBytes)
            isWALAllocated = true
        } catch {
            logger.warning("queue WAL could not be allocated ahead", metadata: ["queue.error": "\(error)"])
        }
    }

    /// Allocates the file up to so many pages.
    func grow(toPages pages: Int) throws {
        do {
            try connection.setChunkSize(bytes: QueueFile.pageBytes)
            try connection.sizeHint(bytes: Int64(pages) * Int64(QueueFile.pageBytes))
        } catch {
            // Else the next checkpoint would cut off what is allocated and not yet used, the reserve with it.
            if allocatedPages > 0 { try fixAllocation() }
            throw error
        }
        allocatedPages = pages
        try fixAllocation()
    }

    /// The chunk size is the whole allocation: a checkpoint cuts the file to a multiple of it, and so never below.
    private func fixAllocation() throws {
        try connection.setChunkSize(bytes: allocatedPages * QueueFile.pageBytes)
        try connection.setPragma("max_page_count", to: allocatedPages)
    }

    /// Pages that need no growth, within a transaction as it stands.
    func availablePages() throws -> Int {
        allocatedPages - (try pragmaNumber("page_count")) + (try pragmaNumber("freelist_count"))
    }

    func roomPlan() throws -> RoomPlan {
        RoomPlan(
            availablePages: try availablePages(), allocatedPages: allocatedPages, growthPages: configuration.growthPages,
            maximumPages: max(configuration.maximumPages, configuration.growthPages))
    }

    /// Whether the disk may give so many pages more: space that is to be kept free stays so.
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
