import LogStore

/// Gathers lines into requests that fit into a frame of the control socket. Pure.
struct LogBatches {
    /// Of texts in a request; with what is around them it stays under a frame's bound. A line that is larger goes alone.
    private static let maximumBytes = 600_000
    private static let bytesAroundLine = 64

    private var entries: [LogEntry] = []
    private var bytes = 0

    /// - Returns: a batch that is full before the line; `nil`: it goes with those that wait.
    mutating func add(_ entry: LogEntry) -> [LogEntry]? {
        let size =
            Self.bytesAroundLine + entry.message.utf8.count + entry.category.utf8.count
            + entry.metadata.reduce(0) { $0 + $1.key.utf8.count + $1.value.utf8.count + Self.bytesAroundLine }
        let full = !entries.isEmpty && bytes + size > Self.maximumBytes ? take() : nil
        entries.append(entry)
        bytes += size
        return full
    }

    /// What waits.
    mutating func take() -> [LogEntry] {
        defer { (entries, bytes) = ([], 0) }
        return entries
    }
}
