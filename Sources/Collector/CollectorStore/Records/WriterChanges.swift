/// What a transaction has read and changed so far; it becomes the cache's when the commit has returned.
struct WriterChanges {
    var entries: [ChainKey: MarkCache.Entry] = [:]
    /// Those whose row has to be written.
    private(set) var changed: Set<ChainKey> = []
    var counts = StoreCounts()

    /// What an administrator should know, with how many records it is about; told when the transaction is over.
    var incidents: [(incident: DeviceIncident, count: UInt64)] = []

    var isEmpty: Bool { changed.isEmpty }

    mutating func record(_ entry: MarkCache.Entry, _ key: ChainKey) {
        entries[key] = entry
        changed.insert(key)
    }
}
