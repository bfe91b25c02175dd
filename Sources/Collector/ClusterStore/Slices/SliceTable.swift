import ClickHouse
import FoundationEssentials
import RecordStore
import TelemetryBasics
import WireModel

/// Rows of the tables of slices: how they are written and read.
struct SliceTable: Sendable {
    let client: ClickHouseClient
    private let quorum: Int
    private let settings: ClickHouseInsertSettings
    /// Whether the engine accepts quorum inserts into one table from several collectors at a time.
    let takesParallelInserts: Bool

    init(client: ClickHouseClient, quorum: Int, engine: ClickHouseEngineVersion) {
        self.client = client
        self.quorum = quorum
        settings = ClickHouseInsertSettings(quorum: quorum, engine: engine)
        takesParallelInserts = quorum < 2 || engine >= .init(major: 20, minor: 10)
    }

    // MARK: Writing

    static let columns = [
        "day", "device", "epoch", "key", "generation", "attempt", "position", "mark_before", "mark", "totals",
        "part_last", "above_part", "closed", "closed_last", "closed_reason", "closed_at", "first", "last",
        "lost_before", "prior_link", "last_link", "received_at", "earliest", "latest", "kinds", "record_count",
        "record_bytes", "closing", "gap_first", "gap_last", "gap_reason", "gap_link", "rejected_number",
        "rejected_reason",
        "rejected_size", "rejected_link", "rejected_kept", "rejected_bytes", "records", SliceSchema.keys,
    ]

    /// Writes all slices of one day in one insert, which is stored whole or not at all.
    func insert(_ slices: [NewSlice], of stream: StreamName) async -> InsertOutcome {
        var rows = RowBinaryWriter()
        for slice in slices { Self.append(slice, to: &rows) }
        return await client.insert(
            into: SliceSchema.table(of: stream), columns: Self.columns, rows: rows,
            settings: settings.values)
    }

    private static func append(_ slice: NewSlice, to rows: inout RowBinaryWriter) {
        rows.date(UInt16(clamping: slice.day.number))
        rows.uuid(slice.chain.device)
        rows.uuid(slice.chain.epoch)
        rows.uint64(slice.before.number)
        rows.uint64(slice.version.generation)
        rows.uint64(slice.version.attempt)
        rows.int64(slice.position)
        rows.string(EncodedMark(slice.before).bytes)
        rows.state(ChainColumns(slice.after))
        let content = slice.content
        rows.uint64(content?.first ?? slice.before.number)
        rows.uint64(content?.last ?? slice.before.number)
        rows.uint64(content?.lostBefore ?? 0)
        rows.fixedString((content?.priorLink ?? slice.before.link).data, count: ChainLink.byteCount)
        rows.fixedString((content?.lastLink ?? slice.before.link).data, count: ChainLink.byteCount)
        rows.int64(slice.receivedAt)
        rows.int64(slice.bounds.earliest)
        rows.int64(slice.bounds.latest)
        rows.uint64(slice.bounds.kinds)
        rows.uint64(content?.recordCount ?? 0)
        rows.uint64(UInt64(content?.records.count ?? 0))
        rows.uint8(content == nil ? 1 : 0)
        append(content?.gaps ?? [], to: &rows)
        append(content?.rejected ?? [], to: &rows)
        rows.string(content?.records ?? Data())
        rows.string(slice.keys.packed)
        rows.rowEnded()
    }

    private static func append(_ gaps: [Gap], to rows: inout RowBinaryWriter) {
        rows.array(gaps) { $0.uint64($1.first) }
        rows.array(gaps) { $0.uint64($1.last) }
        rows.array(gaps) { $0.uint32(UInt32(clamping: $1.reason.rawValue)) }
        rows.array(gaps) { $0.fixedString($1.link.data, count: ChainLink.byteCount) }
    }

    private static func append(_ rejected: [RejectedRecord], to rows: inout RowBinaryWriter) {
        rows.array(rejected) { $0.uint64($1.number) }
        rows.array(rejected) { $0.uint32(UInt32(clamping: $1.reason.rawValue)) }
        rows.array(rejected) { $0.uint64(UInt64($1.size)) }
        rows.array(rejected) { $0.fixedString($1.link.data, count: ChainLink.byteCount) }
        rows.array(rejected) { $0.uint8($1.bytes == nil ? 0 : 1) }
        rows.array(rejected) { $0.string($1.bytes ?? Data()) }
    }

    /// Writes rows of a small table.
    /// - Throws: `.unavailable` unless the rows certainly are stored.
    func insertSurely(into table: String, columns: [String], rows: RowBinaryWriter) async throws(StoreError) {
        switch await client.insert(into: table, columns: columns, rows: rows, settings: settings.values) {
        case .stored: return
        case .notStored(let error), .unknown(let error):
            throw StoreError(.unavailable, "ClickHouse: \(error.message)")
        }
    }

    /// Writes a slice again under a new generation, so that no late write of an older one outranks it.
    /// - Parameter replica: one that has the slice.
    /// - Throws: unless the new row certainly is stored.
    func writeAgain(
        _ head: SliceHead, generation: UInt64, _ stream: StreamName, on replica: ClickHouseReplica
    ) async throws(StoreError) {
        let table = SliceSchema.table(of: stream)
        let copied = Self.columns.map { name in
            switch name {
            case "generation": "toUInt64(\(generation)) AS new_generation"
            case "attempt": "toUInt64(\(SliceVersion.attemptOfRecovery)) AS new_attempt"
            default: name
            }
        }
        do throws(ClickHouseError) {
            try await client.execute(
                """
                INSERT INTO \(table) (\(Self.columns.joined(separator: ", ")))
                SELECT \(copied.joined(separator: ", ")) FROM \(table)
                WHERE day = '\(head.day)' AND (device, epoch, key, generation, attempt) IN (\(head.id.literal)) LIMIT 1
                """, settings: settings.values, on: replica)
        } catch { throw StoreError(.unavailable, "ClickHouse: \(error.message)") }
    }

    /// How long a replica may take to say whether it accepts inserts. A question for readiness takes no longer,
    /// whatever is frozen.
    private static let conditionSeconds = 2

    /// Why an insert cannot succeed now, as far as the replicas say; `nil` if it can. It asks all of them at once.
    /// - Throws: if fewer than the quorum answer.
    func fault() async throws(StoreError) -> String? {
        let conditions = await withTaskGroup(of: Result<String?, StoreError>.self) { group in
            for replica in client.replicas { group.addTask { await condition(of: replica) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let answers = conditions.compactMap { try? $0.get() as String?? }
        // The killed ones count as active for a while.
        if answers.count < min(quorum, client.replicas.count) {
            for case .failure(let error) in conditions { throw error }
        }
        return answers.contains(nil) ? nil : answers.compactMap(\.self).first
    }

    /// Why a replica accepts no inserts; `nil` if it does.
    private func condition(of replica: ClickHouseReplica) async -> Result<String?, StoreError> {
        do throws(ClickHouseError) {
            var rows = try await client.query(
                """
                SELECT table, toUInt64(is_readonly), toUInt64(active_replicas) FROM system.replicas
                WHERE database = currentDatabase()
                """, on: replica, timeoutSeconds: Self.conditionSeconds)
            // One that was replaced by an empty one has none.
            var missing = Set(StreamName.allCases.map(SliceSchema.table))
            while rows.next() {
                let (table, isReadOnly, active) = (try rows.string(), try rows.uint64() != 0, try rows.uint64())
                missing.remove(table)
                guard isReadOnly || active < UInt64(quorum) else { continue }
                return .success(
                    """
                    the replica \(replica) of ClickHouse takes no inserts into \(table): \
                    \(CountText.of(active, "replica")) active, \(quorum) needed.
                    """)
            }
            guard let table = missing.min() else { return .success(nil) }
            return .success(
                "the replica \(replica) of ClickHouse has no table \(table). Run `ws1collector cluster init`.")
        } catch { return .failure(StoreError(error)) }
    }

    // MARK: Reading

    /// The chains that a replica has slices of, and how many.
    func chains(of stream: StreamName, on replica: ClickHouseReplica) async throws(StoreError) -> [ChainKey: UInt64] {
        let rows = try await rows(
            "SELECT device, epoch, count() FROM \(SliceSchema.table(of: stream)) GROUP BY device, epoch", on: replica
        ) { row throws(ClickHouseError) in
            (ChainKey(device: try row.uuid(), epoch: try row.uuid()), try row.uint64())
        }.rows
        return Dictionary(rows, uniquingKeysWith: max)
    }

    /// How many slices of some chains a replica has on a day, those included that do not count.
    func counts(
        of chains: some Collection<ChainKey>, on day: UTCDay, _ stream: StreamName
    ) async throws(StoreError) -> [ChainKey: UInt64] {
        if chains.isEmpty { return [:] }
        let rows = try await rows(
            """
            SELECT device, epoch, count() FROM \(SliceSchema.table(of: stream))
            WHERE day = '\(day)' AND (device, epoch) IN (\(chains.map(\.literal).joined(separator: ", ")))
            GROUP BY device, epoch
            """
        ) { row throws(ClickHouseError) in
            (ChainKey(device: try row.uuid(), epoch: try row.uuid()), try row.uint64())
        }.rows
        return Dictionary(rows, uniquingKeysWith: max)
    }

    private static let headColumns = """
        device, epoch, key, generation, attempt, day, position, mark_before, mark, totals, part_last, above_part,
        closed, closed_last, closed_reason, closed_at, last, received_at, earliest, latest, kinds,
        record_count, record_bytes, closing
        """

    /// The heads of all slices on some days, those that never became part of their chain included.
    /// - Parameters:
    ///   - days: `nil` for all.
    ///   - replica: asks this one alone; `nil` for the first that answers.
    /// - Returns: also the replica that answered.
    func heads(
        of chains: some Collection<ChainKey>, days: ClosedRange<UTCDay>?, stream: StreamName,
        on replica: ClickHouseReplica?
    ) async throws(StoreError) -> (heads: [SliceHead], replica: ClickHouseReplica?) {
        try await heads(of: chains, where: days.map(Self.condition), stream, on: replica)
    }

    /// The heads of those slices of each chain that end at a number.
    func heads(
        endingAt ends: [(key: ChainKey, number: UInt64)], days: ClosedRange<UTCDay>, stream: StreamName,
        on replica: ClickHouseReplica?
    ) async throws(StoreError) -> (heads: [SliceHead], replica: ClickHouseReplica?) {
        let literals = ends.map { "('\($0.key.device)', '\($0.key.epoch)', \($0.number))" }
        return try await heads(
            of: ends.map(\.key),
            where: "\(Self.condition(days)) AND (device, epoch, last) IN (\(literals.joined(separator: ", ")))", stream,
            on: replica)
    }

    /// The keys of slices that are known by their heads, as far as they have any.
    /// - Parameter replica: one that has the slices.
    func keys(
        of heads: [SliceHead], _ stream: StreamName, on replica: ClickHouseReplica
    ) async throws(StoreError) -> [ItemKeyTable.Entry] {
        guard let days = heads.map(\.day).bounds else { return [] }
        let rows = try await rows(
            """
            SELECT device, epoch, key, generation, attempt, \(SliceSchema.keys)
            FROM \(SliceSchema.table(of: stream))
            PREWHERE \(Self.condition(heads.map(\.id))) WHERE \(Self.condition(days)) AND \(SliceSchema.keys) != ''
            """, on: replica
        ) { row throws(ClickHouseError) in
            (
                SliceID(
                    chain: ChainKey(device: try row.uuid(), epoch: try row.uuid()), key: try row.uint64(),
                    version: SliceVersion(generation: try row.uint64(), attempt: try row.uint64())), try row.data()
            )
        }.rows
        let packed = Dictionary(rows) { first, _ in first }
        var entries: [ItemKeyTable.Entry] = []
        for head in heads {
            guard let keys = packed[head.id] else { continue }
            entries.append(
                ItemKeyTable.Entry(device: head.chain.device, day: head.day, keys: try [KeyRange](packed: keys)))
        }
        return entries
    }

    private static func condition(_ days: ClosedRange<UTCDay>) -> String {
        "day BETWEEN '\(days.lowerBound)' AND '\(days.upperBound)'"
    }

    private func heads(
        of chains: some Collection<ChainKey>, where condition: String?, _ stream: StreamName,
        on replica: ClickHouseReplica?
    ) async throws(StoreError) -> (heads: [SliceHead], replica: ClickHouseReplica?) {
        let literals = chains.map(\.literal).joined(separator: ", ")
        let (heads, answering) = try await rows(
            """
            SELECT \(Self.headColumns) FROM \(SliceSchema.table(of: stream))
            PREWHERE (device, epoch) IN (\(literals)) \(condition.map { "WHERE \($0)" } ?? "")
            """, on: replica
        ) { row throws(ClickHouseError) in
            SliceHead(
                chain: ChainKey(device: try row.uuid(), epoch: try row.uuid()), key: try row.uint64(),
                version: SliceVersion(generation: try row.uint64(), attempt: try row.uint64()),
                day: UTCDay(number: Int(try row.uint16())), position: try row.int64(),
                before: EncodedMark(bytes: try row.data()), state: try row.state(),
                lastNumber: try row.uint64(), receivedAt: try row.int64(),
                bounds: RecordBounds(
                    earliest: try row.int64(), latest: try row.int64(), kinds: try row.uint64()),
                recordCount: try row.uint64(), byteCount: try row.uint64(), isClosing: try row.uint8() != 0)
        }
        return (heads, answering)
    }

    /// The columns that are read of slices.
    enum Content {
        case whole
        /// The slice without gaps and rejected records. The bytes of rejected records may be far more than all others.
        case records

        fileprivate var columns: String {
            let records = """
                device, epoch, key, generation, attempt, mark, first, last, lost_before, prior_link, last_link,
                received_at, record_count, records
                """
            let rest = """
                gap_first, gap_last, gap_reason, gap_link, rejected_number, rejected_reason, rejected_size,
                rejected_link, rejected_kept, rejected_bytes
                """
            return self == .whole ? "\(records), \(rest)" : records
        }
    }

    /// Slices that are known by their heads.
    /// - Throws: `.unavailable` if the replica does not have them all.
    func slices(
        _ summaries: some Collection<SliceSummary>, _ content: Content, of stream: StreamName,
        on replica: ClickHouseReplica?
    ) async throws(StoreError) -> [SlicePlace: StoredSlice] {
        guard let days = summaries.map(\.day).bounds else { return [:] }
        let (found, answering) = try await slices(summaries.map(\.id), content, days: days, of: stream, on: replica)
        var slices: [SlicePlace: StoredSlice] = [:]
        for summary in summaries {
            guard let slice = found[summary.id]?.slice else {
                let name = answering.map { " \($0)" } ?? ""
                throw StoreError(.unavailable, "the replica\(name) of ClickHouse lacks a slice that it should have.")
            }
            slices[summary.place] = slice
        }
        return slices
    }

    /// Selects these slices, and perhaps other versions of them.
    private static func condition(_ ids: some Collection<SliceID>) -> String {
        let chains = Set(ids.map(\.chain))
        // Tuples cost the engine far more than numbers: 0.1 ms each.
        if let chain = chains.first, chains.count == 1 {
            let keys = ids.map { "\($0.key)" }.joined(separator: ", ")
            return "(device, epoch) IN (\(chain.literal)) AND key IN (\(keys))"
        }
        return "(device, epoch, key, generation, attempt) IN (\(ids.map(\.literal).joined(separator: ", ")))"
    }

    /// Slices with the mark after each, as far as the replica has them. It may also return other versions of them.
    /// - Returns: also the replica that answered.
    func slices(
        _ ids: some Collection<SliceID>, _ content: Content, days: ClosedRange<UTCDay>, of stream: StreamName,
        on replica: ClickHouseReplica?
    ) async throws(StoreError) -> (slices: [SliceID: MarkedSlice], replica: ClickHouseReplica?) {
        let (rows, answering) = try await rows(
            """
            SELECT \(content.columns) FROM \(SliceSchema.table(of: stream))
            PREWHERE \(Self.condition(ids)) WHERE \(Self.condition(days))
            """, on: replica
        ) { row throws(ClickHouseError) in
            let chain = ChainKey(device: try row.uuid(), epoch: try row.uuid())
            let id = SliceID(
                chain: chain, key: try row.uint64(),
                version: SliceVersion(generation: try row.uint64(), attempt: try row.uint64()))
            return (id, MarkedSlice(after: EncodedMark(bytes: try row.data()), slice: try StoredSlice(&row, content)))
        }
        return (Dictionary(rows) { first, _ in first }, answering)
    }

    /// The rows of a query.
    /// - Returns: also the replica that answered.
    func rows<Row>(
        _ sql: String, on replica: ClickHouseReplica? = nil,
        _ read: (inout ClickHouseRows) throws(ClickHouseError) -> Row
    ) async throws(StoreError) -> (rows: [Row], replica: ClickHouseReplica?) {
        do throws(ClickHouseError) {
            // A list of many chains is longer than the default of 256 KiB.
            var rows = try await client.query(sql, settings: ["max_query_size": "\(64 << 20)"], on: replica)
            var found: [Row] = []
            while rows.next() { found.append(try read(&rows)) }
            return (found, rows.replica)
        } catch { throw StoreError(error) }
    }
}

/// Names one insert's slice.
struct SliceID: Hashable, Sendable {
    var chain: ChainKey
    var key: UInt64
    var version: SliceVersion

    /// The value as a tuple in SQL.
    fileprivate var literal: String {
        "('\(chain.device)', '\(chain.epoch)', \(key), \(version.generation), \(version.attempt))"
    }
}

/// A slice and the mark after it.
struct MarkedSlice: Sendable {
    var after: EncodedMark
    var slice: StoredSlice
}

extension ChainKey {
    /// The value as a tuple in SQL.
    var literal: String { "('\(device)', '\(epoch)')" }
}

extension SliceHead {
    var id: SliceID { SliceID(chain: chain, key: key, version: version) }
}

extension Collection where Element: Comparable {
    /// The bounds from the least to the greatest; `nil` if empty.
    var bounds: ClosedRange<Element>? {
        guard let least = self.min(), let greatest = self.max() else { return nil }
        return least...greatest
    }
}

extension StoredSlice {
    /// Reads the rest of the columns.
    fileprivate init(_ row: inout ClickHouseRows, _ content: SliceTable.Content) throws(ClickHouseError) {
        self.init(
            id: 0, first: try row.uint64(), last: try row.uint64(), lostBefore: try row.uint64(),
            priorLink: try row.link(), lastLink: try row.link(), receivedAt: try row.int64(),
            recordCount: try row.uint64(), gaps: [], records: try row.data(), rejected: [])
        guard content == .whole else { return }
        let first = try row.array { row throws(ClickHouseError) in try row.uint64() }
        let last = try row.array { row throws(ClickHouseError) in try row.uint64() }
        let reason = try row.array { row throws(ClickHouseError) in try row.uint32() }
        let link = try row.array { row throws(ClickHouseError) in try row.link() }
        guard last.count == first.count, reason.count == first.count, link.count == first.count else {
            throw .uneven("gap")
        }
        gaps = first.indices.map {
            Gap(first: first[$0], last: last[$0], reason: DropReason(rawValue: Int(reason[$0])), link: link[$0])
        }
        try readRejected(&row)
    }

    private mutating func readRejected(_ row: inout ClickHouseRows) throws(ClickHouseError) {
        let number = try row.array { row throws(ClickHouseError) in try row.uint64() }
        let reason = try row.array { row throws(ClickHouseError) in try row.uint32() }
        let size = try row.array { row throws(ClickHouseError) in try row.uint64() }
        let link = try row.array { row throws(ClickHouseError) in try row.link() }
        let kept = try row.array { row throws(ClickHouseError) in try row.uint8() }
        let bytes = try row.array { row throws(ClickHouseError) in try row.data() }
        guard [reason.count, size.count, link.count, kept.count, bytes.count].allSatisfy({ $0 == number.count }) else {
            throw .uneven("rejected")
        }
        rejected = number.indices.map {
            RejectedRecord(
                number: number[$0], reason: RejectReason(rawValue: Int(reason[$0])), size: Int(clamping: size[$0]),
                link: link[$0], bytes: kept[$0] == 0 ? nil : bytes[$0])
        }
    }
}

extension ClickHouseError {
    fileprivate static func uneven(_ columns: String) -> ClickHouseError {
        ClickHouseError(.protocolViolation, "the columns \(columns)_* of a slice have different lengths")
    }
}

extension RowBinaryWriter {
    mutating func uuid<Subject>(_ id: Identifier<Subject>) {
        uint64(id.high)
        uint64(id.low)
    }

    mutating func array<Element>(_ elements: [Element], _ append: (inout RowBinaryWriter, Element) -> Void) {
        array(count: elements.count)
        for element in elements { append(&self, element) }
    }
}

extension ClickHouseRows {
    mutating func uuid<Subject>() throws(ClickHouseError) -> Identifier<Subject> {
        Identifier(high: try uint64(), low: try uint64())
    }

    mutating func link() throws(ClickHouseError) -> ChainLink {
        guard let link = ChainLink(try fixedBytes(ChainLink.byteCount)) else {
            throw ClickHouseError(.protocolViolation, "a link does not have 16 bytes")
        }
        return link
    }

    mutating func array<Element>(
        _ read: (inout ClickHouseRows) throws(ClickHouseError) -> Element
    ) throws(ClickHouseError) -> [Element] {
        let count = try arrayCount()
        var elements: [Element] = []
        for _ in 0..<count { elements.append(try read(&self)) }
        return elements
    }
}

extension StoreError {
    /// ClickHouse's error, as what it means to a caller of the store.
    init(_ error: ClickHouseError) {
        let code: Code =
            switch error.code {
            case .unavailable, .readOnly: .unavailable
            case .refused, .configuration: .internalFault
            case .protocolViolation, .answerTooLarge: .corrupt
            case .shutDown: .shuttingDown
            }
        self.init(code, "ClickHouse: \(error.message)")
    }
}
