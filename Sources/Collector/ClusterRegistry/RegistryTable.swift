import FoundationEssentials
import PostgreSQL
import RecordStore
import Registry

/// A table that both engines have, with its columns in PostgreSQL.
struct RegistryTable: Sendable {
    enum Kind: String, Sendable {
        case integer = "bigint"
        case text
        case bytes = "bytea"

        /// The type of an array parameter.
        var arrayType: String { self == .integer ? "int8[]" : "\(rawValue)[]" }
    }

    struct Column: Sendable {
        var name: String
        var kind: Kind
        /// PostgreSQL gives numbers by itself.
        var isIdentity: Bool
    }

    let name: String
    let columns: [Column]
    /// The columns of the primary key in SQLite.
    let key: [String]
    /// Whether SQLite remembers the greatest number that it ever gave.
    let hasSequence: Bool

    // MARK: What both have

    /// All tables, in an order in which they can be filled.
    /// - Throws: `.internalFault` if one engine has a column that the other lacks.
    static func common(_ source: any RegistrySession, _ session: PostgresSession) throws(StoreError) -> [RegistryTable]
    {
        let sequences = Set(try source.rows("SELECT name FROM sqlite_sequence") { $0.string(0) })
        var tables: [RegistryTable] = []
        for name in RegistryCopy.ordered(RegistrySchema.current.tableNames) {
            tables.append(try RegistryTable(name, source, session, hasSequence: sequences.contains(name)))
        }
        return tables
    }

    private init(
        _ name: String, _ source: any RegistrySession, _ session: PostgresSession, hasSequence: Bool
    ) throws(StoreError) {
        self.name = name
        self.hasSequence = hasSequence
        let found = try source.rows("SELECT name, pk FROM pragma_table_info(?)", name) { ($0.string(0), $0.int(1)) }
        key = found.filter { $0.1 > 0 }.sorted { $0.1 < $1.1 }.map(\.0)
        var columns: [Column] = []
        do throws(PostgresError) {
            let rows = try session.query(
                """
                SELECT column_name::text, data_type::text, is_identity = 'YES' FROM information_schema.columns
                WHERE table_schema = current_schema() AND table_name = $1 ORDER BY ordinal_position
                """, name)
            for row in rows {
                guard let kind = Kind(rawValue: try row.string(1)) else {
                    throw PostgresError(
                        .configuration, "the column \(name).\(try row.string(0)) has the type \(try row.string(1)).")
                }
                columns.append(Column(name: try row.string(0), kind: kind, isIdentity: try row.bool(2)))
            }
        } catch { throw StoreError(error) }
        self.columns = columns
        let own = Set(columns.map(\.name))
        guard own == Set(found.map(\.0)) else {
            let odd = own.symmetricDifference(found.map(\.0)).sorted().joined(separator: ", ")
            throw StoreError(
                .internalFault, "only one of SQLite and PostgreSQL has these columns of \(name): \(odd).")
        }
    }

    // MARK: Rows

    /// All rows in the order of the primary key, with the columns in their order.
    var selection: String {
        "SELECT \(columns.map(\.name).joined(separator: ", ")) FROM \(name) ORDER BY \(key.joined(separator: ", "))"
    }

    /// - Parameter progress: gets the rows so far.
    /// - Returns: how many rows were copied.
    func copy(
        _ source: any RegistrySession, _ session: PostgresSession, progress: (Int) -> Void
    ) throws(StoreError) -> Int {
        var chunk = RegistryRows(columns)
        var count = 0
        try source.query(selection, [], isKept: false) { row throws(StoreError) in
            chunk.append(row)
            count += 1
            if RegistryCopy.isFull(rows: chunk.count, bytes: chunk.bytes) {
                try insert(&chunk, session)
                progress(count)
            }
            return true
        }
        try insert(&chunk, session)
        for column in columns where column.isIdentity { try raise(column, source, session) }
        return count
    }

    private func insert(_ chunk: inout RegistryRows, _ session: PostgresSession) throws(StoreError) {
        if chunk.count == 0 { return }
        let arrays = columns.enumerated().map { "$\($0 + 1)::\($1.kind.arrayType)" }.joined(separator: ", ")
        do throws(PostgresError) {
            try session.execute(
                """
                INSERT INTO \(name) (\(columns.map(\.name).joined(separator: ", "))) SELECT * FROM unnest(\(arrays))
                """, parameters: chunk.parameters)
        } catch { throw StoreError(error) }
        chunk = RegistryRows(columns)
    }

    /// New numbers continue above all that were ever given.
    private func raise(
        _ column: Column, _ source: any RegistrySession, _ session: PostgresSession
    ) throws(StoreError) {
        var greatest = try source.first("SELECT coalesce(max(\(column.name)), 0) FROM \(name)") { $0.int64(0) } ?? 0
        if hasSequence {
            let given = try source.first("SELECT seq FROM sqlite_sequence WHERE name = ?", name) { $0.int64(0) }
            greatest = max(greatest, given ?? 0)
        }
        guard greatest > 0 else { return }
        do throws(PostgresError) {
            _ = try session.query("SELECT setval(pg_get_serial_sequence($1, $2), $3)", name, column.name, greatest)
        } catch { throw StoreError(error) }
    }
}

/// Rows that are inserted together: an array for each column.
struct RegistryRows {
    private enum Values {
        case integers([Int64?])
        case texts([String?])
        case blobs([Data?])
    }

    private var columns: [Values]
    private(set) var count = 0
    /// The bytes of texts and blobs.
    private(set) var bytes = 0

    init(_ columns: [RegistryTable.Column]) {
        self.columns = columns.map { column in
            switch column.kind {
            case .integer: .integers([])
            case .text: .texts([])
            case .bytes: .blobs([])
            }
        }
    }

    mutating func append(_ row: RegistryRow) {
        for place in columns.indices {
            let column = Int32(place)
            switch columns[place] {
            case .integers(var values):
                columns[place] = .integers([])
                values.append(row.optionalInt64(column))
                columns[place] = .integers(values)
            case .texts(var values):
                columns[place] = .texts([])
                let text = row.optionalString(column).map(PostgresRegistrySession.storable)
                bytes += text?.utf8.count ?? 0
                values.append(text)
                columns[place] = .texts(values)
            case .blobs(var values):
                columns[place] = .blobs([])
                let blob = row.optionalData(column)
                bytes += blob?.count ?? 0
                values.append(blob)
                columns[place] = .blobs(values)
            }
        }
        count += 1
    }

    var parameters: [any PostgresEncodable] {
        columns.map { values in
            switch values {
            case .integers(let values): values
            case .texts(let values): values
            case .blobs(let values): values
            }
        }
    }
}
