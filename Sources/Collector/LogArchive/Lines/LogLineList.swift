/// The lines of a page while it is made: those that come first of all that were offered, each once, within a number of
/// lines and of bytes.
struct LogLineList {
    private let order: LogLineOrder
    private let limit: Int
    private let maximumBytes: Int
    /// The lines in their order.
    private(set) var lines: [LogLineRow] = []
    private var bytes = 0
    /// Lines behind the last one were left out. So none may be added there.
    private(set) var isCut = false

    init(_ order: LogLineOrder, limit: Int, maximumBytes: Int) {
        (self.order, self.limit, self.maximumBytes) = (order, limit, maximumBytes)
    }

    /// Only lines before it can still be added; `nil`: any.
    var end: LogLineID? { isCut || lines.count >= limit ? lines.last?.id : nil }

    /// Whether a line would be added. One that would not be counts as left out.
    mutating func wants(_ id: LogLineID) -> Bool {
        guard let end, !order.precedes(id, end) else { return true }
        // The last one itself, out of another chunk, is not left out.
        if id != end { isCut = true }
        return false
    }

    /// Adds lines that it wants, in any order.
    mutating func add(_ found: [LogLineRow]) {
        guard !found.isEmpty else { return }
        let sorted = found.sorted { order.precedes($0.id, $1.id) }
        var merged: [LogLineRow] = []
        merged.reserveCapacity(lines.count + sorted.count)
        var (left, right) = (lines[...], sorted[...])
        bytes = 0
        while let next = Self.next(&left, &right, order) {
            guard merged.last?.id != next.id else { continue }
            guard merged.count < limit, merged.isEmpty || bytes + next.bytes <= maximumBytes else {
                isCut = true
                break
            }
            bytes += next.bytes
            merged.append(next)
        }
        lines = merged
    }

    private static func next(
        _ left: inout ArraySlice<LogLineRow>, _ right: inout ArraySlice<LogLineRow>, _ order: LogLineOrder
    ) -> LogLineRow? {
        guard let first = left.first else { return right.popFirst() }
        guard let second = right.first, order.precedes(second.id, first.id) else { return left.popFirst() }
        return right.popFirst()
    }

    /// Leaves only lines whose rank is less. Lines that come first among those left out may not have been offered yet.
    mutating func cut(atRank rank: Int64) {
        lines.removeAll { order.rank($0.id.time) >= rank }
    }
}

extension LogLineRow {
    /// The approximate size in an answer.
    var bytes: Int { 256 + text.utf8.count + metadata.utf8.count + (unformatted?.utf8.count ?? 0) }
}
