import FoundationEssentials
import RecordStore
import Registry
import SQLite
import WireModel

/// Makes whole chains of the rows that a salvage found. Rows that cannot be proved are removed, and numbers without a
/// row are lost at the collector.
///
/// Numbers lost before a slice are its `lost_before`, as if a device's part began beyond the mark. Numbers lost at the
/// end of a chain, up to the mark that was reported to its device, have no slice after them. They become a slice of
/// their own that contains one gap, with a reason no device can give.
///
/// A key of an item stays only with its slice. A record whose key is lost may be stored a second time. A key without
/// its record would keep the record from coming back.
struct ChainMend {
    private let file: RecordFile
    private let before: [ChainKey: ChainState]
    private let after: [ChainKey: StreamMark]
    private let known: [ChainKey: ChainState]

    private(set) var keptRecords: UInt64 = 0
    private(set) var keptChains = 0
    private(set) var lostNumbers: UInt64 = 0
    private(set) var lostChains = 0
    private(set) var ownerlessRecords: UInt64 = 0

    private static let chainsPerTransaction = 256

    /// - Parameters:
    ///   - before: each chain's state before the file.
    ///   - after: the mark with which each chain enters the next file that contains it.
    ///   - known: states in the running process's memory, of chains whose newest row is in this file.
    init(
        _ file: RecordFile, before: [ChainKey: ChainState], after: [ChainKey: StreamMark], known: [ChainKey: ChainState]
    ) {
        self.file = file
        self.before = before
        self.after = after
        self.known = known
    }

    private struct Chain {
        var id: Int64
        var key: ChainKey
        /// `nil` if its row is lost.
        var state: ChainState?
    }

    mutating func run(_ fill: SalvageFill) throws(StoreError) {
        var rest = try chains(fill)[...]
        while !rest.isEmpty {
            try file.connection.transaction(mapping: StoreError.init) { () throws(StoreError) in
                for chain in rest.prefix(Self.chainsPerTransaction) { try mend(chain) }
            }
            rest = rest.dropFirst(Self.chainsPerTransaction)
        }
        try file.connection.transaction(mapping: StoreError.init) { () throws(StoreError) in try removeOwnerless() }
    }

    /// Every chain that is mentioned anywhere, once.
    private func chains(_ fill: SalvageFill) throws(StoreError) -> [Chain] {
        var chains: [Chain] = []
        var keys: Set<ChainKey> = []
        // If two rows claim one chain, the greater mark is the newer.
        for row in fill.chains.values.sorted(by: { ($1.state.mark.number, $0.id) < ($0.state.mark.number, $1.id) })
        where keys.insert(row.key).inserted { chains.append(Chain(id: row.id, key: row.key, state: row.state)) }
        var ids = Set(fill.chains.keys)
        for (id, key) in fill.keys.sorted(by: { $0.key < $1.key })
        where !ids.contains(id) && keys.insert(key).inserted {
            ids.insert(id)
            chains.append(Chain(id: id, key: key))
        }
        for (id, key) in try adopted(otherThan: ids) where keys.insert(key).inserted {
            ids.insert(id)
            chains.append(Chain(id: id, key: key))
        }
        var next = max(ids.max() ?? 0, try greatestChain()) + 1
        let beyond = after.filter { $0.value.number > before[$0.key]?.mark.number ?? 0 }
        for key in Set(known.keys).union(beyond.keys).subtracting(keys).sorted(by: { "\($0)" < "\($1)" }) {
            chains.append(Chain(id: next, key: key))
            next += 1
        }
        return chains
    }

    /// Finds the owners of slices whose chain has neither a row nor a key. A link belongs to one chain alone, so the
    /// link at either end of them shows it.
    private func adopted(otherThan ids: Set<Int64>) throws(StoreError) -> [(id: Int64, key: ChainKey)] {
        var ends: [EpochClose.Point: ChainKey] = [:]
        for (key, state) in known { ends[EpochClose.Point(number: state.mark.number, link: state.mark.link)] = key }
        for (key, mark) in after { ends[EpochClose.Point(number: mark.number, link: mark.link)] = key }
        var starts: [EpochClose.Point: ChainKey] = [:]
        for (key, state) in before where state.mark.number > 0 {
            starts[EpochClose.Point(number: state.mark.number, link: state.mark.link)] = key
        }
        var found: [(id: Int64, key: ChainKey)] = []
        try StoreError.mapping { () throws(SQLiteError) in
            let statement = try file.connection.cached(
                """
                SELECT c.chain, f.first - 1 AS prior, f.prior_link, l.last, l.last_link
                FROM (SELECT chain, min(first) AS least, max(first) AS greatest FROM slice GROUP BY chain) AS c
                JOIN slice AS f ON f.chain = c.chain AND f.first = c.least
                JOIN slice AS l ON l.chain = c.chain AND l.first = c.greatest
                """)
            defer { statement.reset() }
            while try statement.step() {
                let row = statement.row
                let chain = try row.int64("chain")
                let (before, last) = (try row.uint64("prior"), try row.uint64("last"))
                guard !ids.contains(chain), let priorLink = try ChainLink(row.data("prior_link")),
                    let lastLink = try ChainLink(row.data("last_link")),
                    let key = starts[EpochClose.Point(number: before, link: priorLink)]
                        ?? ends[EpochClose.Point(number: last, link: lastLink)]
                else { continue }
                found.append((chain, key))
            }
        }
        return found
    }

    private func greatestChain() throws(StoreError) -> Int64 {
        try StoreError.mapping(file.connection.first("SELECT coalesce(max(chain), 0) FROM slice") { $0.int64(0) } ?? 0)
    }

    private mutating func mend(_ chain: Chain) throws(StoreError) {
        let entry = before[chain.key] ?? ChainState()
        var state = (chain.state ?? entry).merged(with: entry)
        if let known = known[chain.key] { state = known.merged(with: state) }
        if let later = after[chain.key], later.number > state.mark.number {
            (state.mark.number, state.mark.link) = (later.number, later.link)
        }
        var mark = entry.mark
        var lost: UInt64 = 0
        var from: UInt64 = 0
        while let slice = try file.slice(chain: chain.id, from: from) {
            from = slice.first + 1
            var next = mark
            guard continues(mark, slice, upTo: state.mark), (try? slice.count(into: &next)) != nil else {
                try execute("DELETE FROM slice WHERE id = ?", slice.id)
                continue
            }
            let hole = slice.first - 1 - mark.number
            if hole != slice.lostBefore {
                try execute("UPDATE slice SET lost_before = ? WHERE id = ?", Int64(hole), slice.id)
            }
            lost.addSaturating(hole.subtractingSaturating(slice.lostBefore))
            next.lostAtCollector.addSaturating(hole)
            (next.number, next.link) = (slice.last, slice.lastLink)
            mark = next
            keptRecords += slice.recordCount
        }
        try execute(
            """
            DELETE FROM rejected WHERE chain = ?
            AND NOT EXISTS (SELECT 1 FROM slice WHERE slice.chain = rejected.chain
            AND rejected.number BETWEEN slice.first AND slice.last)
            """, chain.id)
        if mark.number < state.mark.number {
            let gap = Gap(
                first: mark.number + 1, last: state.mark.number, reason: .lostAtCollector, link: state.mark.link)
            try StoreError.mapping(file.insert(lost: gap, chain: chain.id, priorLink: mark.link))
            mark.add(.gap(gap))
            (mark.number, mark.link) = (gap.last, gap.link)
            lost.addSaturating(gap.count)
        }
        state.mark = mark
        try StoreError.mapping { () throws(SQLiteError) in
            let id = try file.enter(chain.key, state: entry, id: chain.id)
            try file.update(chain: id, state: state, bounds: try file.boundsOfSlices(chain: id))
        }
        keptChains += 1
        lostNumbers.addSaturating(lost)
        if lost > 0 { lostChains += 1 }
    }

    /// Whether a slice may follow the mark of the slices before it.
    private func continues(_ mark: StreamMark, _ slice: StoredSlice, upTo reported: StreamMark) -> Bool {
        guard slice.first > mark.number, slice.first > mark.number + 1 || slice.priorLink == mark.link else {
            return false
        }
        return slice.last != reported.number || slice.lastLink == reported.link
    }

    /// Removes slices and rejections whose chain is unknown.
    private mutating func removeOwnerless() throws(StoreError) {
        ownerlessRecords = try StoreError.mapping(
            file.connection.first(
                "SELECT coalesce(sum(record_count), 0) FROM slice WHERE chain NOT IN (SELECT id FROM chain)"
            ) { statement throws(SQLiteError) in try statement.uint64(0) } ?? 0)
        for table in ["slice", "rejected"] {
            try execute("DELETE FROM \(table) WHERE chain NOT IN (SELECT id FROM chain)")
        }
        try file.removeStrayKeys()
    }

    private func execute(_ sql: String, _ values: Int64...) throws(StoreError) {
        try StoreError.mapping(file.connection.bound(sql, values).run())
    }

    // MARK: Later files

    /// Recounts the chains of a later file from their state before it. Numbers and links stay. Doing it twice changes
    /// nothing.
    /// - Parameter marks: each chain's mark before the file and, on return, after it. Chains that enter the file at
    ///   another mark are left out.
    static func recount(_ marks: inout [ChainKey: StreamMark], in file: RecordFile) throws(StoreError) {
        var next = marks
        try file.connection.transaction(mapping: StoreError.init) { () throws(StoreError) in
            for (key, mark) in marks {
                guard let row = try file.chain(key) else { continue }
                next[key] = nil
                guard row.entryNumber == mark.number, let counted = try file.count(row, from: mark) else { continue }
                next[key] = counted
                guard counted != row.state.mark else { continue }
                var state = row.state
                state.mark = counted
                try StoreError.mapping(file.update(chain: row.id, state: state, bounds: row.bounds))
            }
        }
        marks = next
    }
}

extension RecordFile {
    /// The sum of the chain's rows.
    /// - Parameter mark: the mark with which it entered the file.
    /// - Returns: `nil` if they cannot be proved or do not lead to the mark in the row.
    fileprivate func count(_ row: ChainRow, from mark: StreamMark) throws(StoreError) -> StreamMark? {
        var mark = mark
        while let slice = try slice(chain: row.id, from: mark.number + 1) {
            guard (try? slice.count(into: &mark)) != nil else { return nil }
            mark.lostAtCollector.addSaturating(slice.lostBefore)
            (mark.number, mark.link) = (slice.last, slice.lastLink)
        }
        return mark.number == row.state.mark.number && mark.link == row.state.mark.link ? mark : nil
    }

    /// Inserts a slice that contains only a loss. It gets the date of the newest slice.
    fileprivate func insert(lost gap: Gap, chain: Int64, priorLink: ChainLink) throws(SQLiteError) {
        try connection.run(
            """
            INSERT INTO slice (chain, first, last, lost_before, prior_link, last_link, received_at, earliest,
                latest, record_count, kinds, gaps, records)
            SELECT ?, ?, ?, 0, ?, ?, coalesce((SELECT max(received_at) FROM slice), ?), 0, 0, 0, 0, ?, x''
            """, chain, gap.first, gap.last, priorLink.data, gap.link.data, partition.day.start, Self.encoded([gap]))
    }

    /// Bounds of a chain's records, from the columns of its slices.
    fileprivate func boundsOfSlices(chain: Int64) throws(SQLiteError) -> RecordBounds {
        let statement = try connection.cached(
            "SELECT earliest, latest, kinds FROM slice WHERE chain = ? AND record_count > 0")
        try statement.bind(chain, at: 1)
        defer { statement.reset() }
        var bounds = RecordBounds.none
        while try statement.step() {
            bounds.include(try RecordBounds(statement.row))
        }
        return bounds
    }
}
