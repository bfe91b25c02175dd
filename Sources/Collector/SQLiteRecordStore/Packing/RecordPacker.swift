import CollectorTunables
import FoundationEssentials
import RecordStore
import Registry
import SQLite
import WireModel

/// Packs the record file of a day that is over: makes a smaller file with the same records, and gives it the name.
///
/// ## The story
///
/// Twenty records of a device make a slice, because it sends so many at a time. Hours of one device lie in hundreds of
/// slices, and what is alike in them is stored again in each. The packed file has one slice for all of them, and its
/// records are in columns (`SliceBlocks`). Its tables are those of every record file. So readers, `verify`, retention,
/// backup, salvage and `move` know nothing of packing: they read slices.
///
///     day's file    chain a [1..20]  chain b [1..20]  chain a [21..40]  chain b [21..40]  ...
///     packed file   chain a [1 ........ 40]  chain b [1 ........ 40]
///
/// A stretch of hours is packed at a time. In it the slices of each chain are put together, up to a limit. The new
/// slices are in the order of the last receipt in each.
///
/// ## Its promises
///
/// - *The same records.* A slice is written only if its records are read back, in the way that readers read them, and
///   give its link. Slices that cannot be packed are copied. At the end the slices of each chain must lead from its
///   entry to its mark, and both files must have as many records, rejected ones, keys and chains.
/// - *Only what is whole.* A day's file that lacks slices stays as it is, so that what is missing stays visible.
/// - *One of the two files.* The packed file is complete and synced before it gets the name by a rename.
/// - *It goes on where it was.* What is packed is committed with how far the day's file was read. If the day's file has
///   changed since, because devices were erased from it or damage was mended, packing begins again. It is asked once
///   more before the rename, while no salvage can run.
/// - *Cursors lose nothing.* Ids of the new slices are above all of the day's file. So a cursor of that file is
///   recognized: who goes on from it reads the day again (`RecordReader`).
///
/// ## Argued against
///
/// - *In place, a transaction for each stretch*: readers would see a file of both halves, those who follow it would
///   count numbers twice, and at the end all would be copied once more to make the file smaller.
/// - *All of a day in one slice*: what one device sends would be far from what others sent at that time, in lists of
///   the whole fleet. And a damaged page would cost a day.
/// - *Blocks in a table of their own, slices as they were*: a slice would be read by decoding a block for each twenty
///   records, and its row alone takes five bytes a record.
///
/// Not `Sendable`: belongs to the store's keeper.
final class RecordPacker {
    let partition: Partition
    private let source: RecordFile
    private let packed: RecordFile
    private let area: PackingArea
    private let path: String
    /// The day's file as it was when its packing began.
    private let fingerprint: Int64
    /// What is left of the stretch that is packed.
    private var groups: ArraySlice<[SliceOutline]> = []
    /// The last slice of that stretch; `nil` before the first one.
    private var stretchEnd: Int64?

    /// Goes on with a day, or begins it.
    /// - Parameter leastSlices: how many slices the file had when it was last closed.
    /// - Returns: `nil` if the file is packed already, has a WAL that is in use, or is not whole: what is missing in it
    ///   would not be noticed any more when retention counts by marks.
    init?(_ partition: Partition, in directory: DataDirectory, leastSlices: Int?) throws(StoreError) {
        path = directory.path(of: partition)
        guard let source = try RecordFile(reading: partition, in: directory), try source.packedAbove() == nil,
            let fingerprint = FileStamp(path)?.fingerprint
        else { return nil }
        self.partition = partition
        self.source = source
        self.fingerprint = fingerprint
        area = PackingArea(partition, in: directory)
        if area.isBegun, let begun = try? RecordFile(writing: partition, in: area.scratch),
            try begun.counter(.packedFile) == fingerprint
        {
            packed = begun
            return
        }
        try area.discard()
        guard try source.sliceCount() >= leastSlices ?? 0, try source.strayKeyCount() == 0, try Self.isWhole(source)
        else { return nil }
        try area.begin()
        packed = try RecordFile(writing: partition, in: area.scratch)
        try packed.begin(from: source, fingerprint: fingerprint)
    }

    /// Whether the slices of each chain lead from its entry to its mark.
    private static func isWhole(_ file: RecordFile) throws(StoreError) -> Bool {
        var followed = FollowedFile(file.partition)
        return try followed.findings(file).isEmpty
    }

    /// Packs for some time, at least one group of slices, in one transaction.
    /// - Returns: whether there is more.
    func step(for time: Duration = Tunables.Packing.step) throws(StoreError) -> Bool {
        let end = ContinuousClock.now + time
        return try packed.connection.transaction(mapping: StoreError.init) { () throws(StoreError) in
            repeat {
                guard let group = try nextGroup() else { return false }
                try pack(group)
                try packed.set(.packedUpTo, to: group[group.count - 1].id)
            } while .now < end
            return true
        }
    }

    /// - Returns: `nil` at the end of the file.
    private func nextGroup() throws(StoreError) -> [SliceOutline]? {
        while groups.isEmpty {
            if let stretchEnd { try packed.set(.packedStretch, to: stretchEnd) }
            let begin = try packed.counter(.packedStretch) ?? 0
            let outlines = try source.outlines(after: begin, stretch: Tunables.Packing.stretchMicroseconds)
            guard let last = outlines.last else { return nil }
            let done = try packed.counter(.packedUpTo) ?? 0
            groups = Self.groups(outlines).filter { $0[$0.count - 1].id > done }[...]
            stretchEnd = last.id
        }
        return groups.popFirst()
    }

    /// Completes the packed file. It can replace the day's file then.
    /// - Throws: `.internalFault` if it has not all that the day's file has.
    /// - Returns: how many slices it has.
    func finish() throws(StoreError) -> Int {
        let (wanted, found) = (try source.totals(), try packed.totals())
        guard wanted == found, try Self.isWhole(packed) else {
            try area.discard()
            throw StoreError(
                .internalFault, "\(partition.name) was packed to \(found) and has \(wanted). It stays as it is.")
        }
        for counter in [RecordFile.Counter.packedFile, .packedStretch, .packedUpTo] {
            try packed.set(counter, to: nil)
        }
        let slices = try packed.sliceCount()
        try packed.seal()
        return slices
    }

    /// Whether the day's file is still the one that was packed: nobody has changed or replaced it.
    var isSourceUnchanged: Bool { source.isInPlace && FileStamp(path)?.fingerprint == fingerprint }

    // MARK: Groups

    /// Slices of one chain that follow each other without a loss, up to a limit. In the order of their ends.
    private static func groups(_ outlines: [SliceOutline]) -> [[SliceOutline]] {
        var groups: [[SliceOutline]] = []
        var group: [SliceOutline] = []
        var (records, bytes) = (0, 0)
        for slice in outlines.sorted(by: { ($0.chain, $0.first) < ($1.chain, $1.first) }) {
            // (Rows that cannot be have been refused.)
            records += slice.recordCount
            bytes += slice.bytes
            if let last = group.last,
                last.chain != slice.chain || slice.first != last.last + 1 || slice.lostBefore > 0
                    || records > Tunables.Packing.records || bytes > Tunables.Packing.storedBytes
            {
                groups.append(group)
                group = []
                (records, bytes) = (slice.recordCount, slice.bytes)
            }
            group.append(slice)
        }
        if !group.isEmpty { groups.append(group) }
        return groups.sorted { $0[$0.count - 1].id < $1[$1.count - 1].id }
    }

    private func pack(_ group: [SliceOutline]) throws(StoreError) {
        var rows: [SliceRow] = []
        for slice in group { rows.append(try source.row(ofSlice: slice.id)) }
        let chain = group[0].chain
        var places: [Int64: (id: Int64, link: Data)] = [:]
        if let joined = try joined(rows), let id = try insertProved(joined) {
            for slice in group { places[slice.id] = (id, joined.lastLink) }
        } else {
            for (slice, row) in zip(group, rows) { places[slice.id] = (try packed.insert(row), row.lastLink) }
        }
        guard try StoreError.mapping(source.hasKeys()) else { return }
        for key in try source.keys(of: chain, slices: group[0].id...group[group.count - 1].id) {
            guard let place = places[key.slice] else { continue }
            try StoreError.mapping(packed.insert(key.range, chain: chain, slice: place.id, lastLink: place.link))
        }
    }

    /// - Returns: `nil` if the rows cannot be packed, or are not smaller then.
    private func joined(_ rows: [SliceRow]) throws(StoreError) -> SliceRow? {
        guard rows.contains(where: { $0.recordCount > 0 }), let key = try source.key(ofChain: rows[0].chain) else {
            return nil
        }
        let slices = rows.map { (records: source.blob.records($0.records), receivedAt: $0.receivedAt) }
        guard let blocks = SliceBlocks.pack(slices, of: key, partition.stream),
            blocks.count < rows.reduce(0, { $0 + $1.records.count + Tunables.Packing.rowBytes })
        else { return nil }
        return SliceRow(joining: rows, records: blocks)
    }

    /// - Returns: the id; `nil`, with nothing inserted, if the records do not come back and give the link.
    private func insertProved(_ row: SliceRow) throws(StoreError) -> Int64? {
        let id = try packed.insert(row)
        if let slice = try packed.slice(chain: row.chain, from: UInt64(row.first)), slice.id == id,
            (try? slice.walk { _, _, _ in }) != nil
        {
            return id
        }
        try packed.remove(slice: id)
        return nil
    }
}

extension RecordFile {
    /// Gets all that is not a slice or a key, and remembers what is packed.
    fileprivate func begin(from source: RecordFile, fingerprint: Int64) throws(StoreError) {
        let hasKeys = try StoreError.mapping(source.hasKeys())
        try StoreError.mapping { () throws(SQLiteError) in
            try connection.run("ATTACH ? AS source", source.path)
            try connection.transaction { () throws(SQLiteError) in
                for table in ["chain", "rejected"] {
                    try connection.execute("INSERT INTO main.\(table) SELECT * FROM source.\(table)")
                }
                try connection.execute(
                    "INSERT INTO main.counter SELECT * FROM source.counter WHERE id = \(Counter.lastChain.rawValue)")
                if hasKeys { try makeKeyTable() }
            }
            try connection.run("DETACH source")
        }
        let last = try source.lastSlice()
        try set(.packedAbove, to: last)
        // The id in between is that of a cursor behind all of this file.
        try set(.lastSlice, to: last + 1)
        try set(.packedFile, to: fingerprint)
    }
}
