/// The prepared statements of one connection, least recently used first out.
struct StatementCache {
    struct Key: Hashable {
        var sql: String
        /// The same text with other types of parameters is another statement.
        var types: [UInt32]
    }

    private struct Entry {
        var name: String
        var lastUse: UInt64
    }

    /// The server keeps the plans of so many statements for each connection.
    var maximumCount = 256
    private var entries: [Key: Entry] = [:]
    private var tick: UInt64 = 0
    private var named: UInt64 = 0

    var count: Int { entries.count }

    mutating func name(of key: Key) -> String? {
        tick += 1
        entries[key]?.lastUse = tick
        return entries[key]?.name
    }

    /// A name that no statement of the connection has had.
    mutating func newName() -> String {
        named += 1
        return "s\(named)"
    }

    mutating func insert(_ key: Key, name: String) {
        tick += 1
        entries[key] = Entry(name: name, lastUse: tick)
    }

    mutating func remove(_ key: Key) { entries[key] = nil }

    /// Removes the least recently used statement if the cache is full.
    /// - Returns: its name, so that the server can forget it too.
    mutating func evict() -> String? {
        guard entries.count >= maximumCount, let oldest = entries.min(by: { $0.value.lastUse < $1.value.lastUse })
        else { return nil }
        entries[oldest.key] = nil
        return oldest.value.name
    }
}
