import SQLite
import WireModel

/// The tables of `queue.sqlite`, and the steps that lead to them from earlier versions.
///
/// An opening compares the tables of the file with these. **To change a table**:
/// 1. Change its text here.
/// 2. Append a step to `steps`, which does the same to a file that exists. That raises the version.
/// 3. `SalvageRow` recognizes rows by their columns: let it accept the rows of both versions.
/// 4. `QueueSchemaTests` has an example of a step, and the digest of the present text.
/// 5. Describe the change in Documentation/disk-formats.md.
struct QueueSchema: Sendable {
    /// A line that begins with `--` is a comment and not part of a table.
    var text: String
    /// The columns of every table of records.
    var recordColumns: String
    var steps: [SchemaStep]

    static let current = QueueSchema(text: tables, recordColumns: records, steps: [])

    /// `user_version`. A file with a greater one is refused.
    var version: Int32 { Int32(1 + steps.count) }

    /// Name and text of every table, as `sqlite_schema` must show them but for the layout.
    func tables(ended: [Int64]) -> [String: String] {
        var tables: [String: String] = [:]
        let lines = text.split(separator: "\n").filter { !$0.hasPrefix("--") }
        for statement in lines.joined(separator: "\n").split(separator: ";") {
            let sql = String(statement.drop(while: \.isWhitespace))
            // CREATE TABLE <name> (
            let words = sql.split(separator: " ", maxSplits: 3)
            if words.count == 4 { tables[String(words[2])] = sql }
        }
        for stream in StreamName.allCases {
            tables[stream.description] = records(stream.description)
            for ordinal in ended {
                let name = RecordTable.ended(ordinal, stream).name
                tables[name] = endedRecords(name)
            }
        }
        return tables
    }

    /// Whether two texts make the same table. SQLite adds a column in a layout of its own.
    static func isEqual(_ first: String, _ second: String) -> Bool { withoutLayout(first) == withoutLayout(second) }

    static func withoutLayout(_ sql: String) -> String { sql.filter { !$0.isWhitespace } }

    /// The table of a stream's records.
    func records(_ name: String) -> String { "CREATE TABLE \(name) (\n\(recordColumns)\n)" }

    /// The same of an ended epoch, with the name as SQLite writes it when a table is renamed.
    func endedRecords(_ name: String) -> String { records("\"\(name)\"") }

    /// Columns that are read without the body come before it, so walking over a prefix by time reads no overflow pages.
    private static let records = """
            number INTEGER PRIMARY KEY,
            kind INTEGER NOT NULL,
            wall_time INTEGER NOT NULL,
            queue_time INTEGER NOT NULL,
            size INTEGER NOT NULL,
            key_id INTEGER NOT NULL DEFAULT 0,
            chain INTEGER NOT NULL,
            link BLOB NOT NULL,
            body BLOB NOT NULL
        """

    /// No table is WITHOUT ROWID, because salvage recognizes rows on leaf pages by their columns.
    private static let tables = """
        -- The counts of one stream of one epoch.
        CREATE TABLE ledger (
            chain INTEGER PRIMARY KEY,
            last_number INTEGER NOT NULL,
            last_link BLOB NOT NULL,
            last_queue_time INTEGER NOT NULL,
            rows INTEGER NOT NULL,
            bytes INTEGER NOT NULL,
            mark_number INTEGER NOT NULL,
            mark_link BLOB NOT NULL,
            stored INTEGER NOT NULL,
            lost_at_collector INTEGER NOT NULL,
            close_matched INTEGER,
            close_bound INTEGER,
            close_unknown INTEGER NOT NULL
        );

        -- Counts by reason. The account is a TallyAccount, the reason a number of the wire.
        CREATE TABLE tally (
            chain INTEGER NOT NULL,
            account TEXT NOT NULL,
            reason INTEGER NOT NULL,
            count INTEGER NOT NULL
        );

        -- Numbers whose records were dropped, and the link with which the chain goes on.
        CREATE TABLE gap (
            chain INTEGER NOT NULL,
            first INTEGER NOT NULL,
            last INTEGER NOT NULL,
            reason INTEGER NOT NULL,
            link BLOB NOT NULL
        );

        -- Records that were refused alone. The fate is a QuarantineFate.
        CREATE TABLE quarantine (
            id INTEGER PRIMARY KEY,
            stream INTEGER NOT NULL,
            number INTEGER NOT NULL,
            reason INTEGER NOT NULL,
            wall_time INTEGER NOT NULL,
            queue_time INTEGER NOT NULL,
            size INTEGER NOT NULL,
            key_id INTEGER NOT NULL,
            link BLOB NOT NULL,
            body BLOB NOT NULL,
            fate TEXT NOT NULL
        );

        -- Copies of files beside the queue. The id is a CopiedFile.
        CREATE TABLE file_copy (
            id INTEGER PRIMARY KEY,
            sequence INTEGER NOT NULL,
            content BLOB NOT NULL
        );

        -- The reason is an EpochEnd and the phase an EndedEpoch.Phase; the current epoch has neither.
        CREATE TABLE epoch (
            ordinal INTEGER PRIMARY KEY,
            id BLOB NOT NULL,
            reason TEXT,
            phase TEXT,
            ended_wall_time INTEGER NOT NULL,
            cause TEXT,
            file TEXT,
            salvaged INTEGER NOT NULL,
            lost INTEGER NOT NULL
        );

        -- One row.
        CREATE TABLE meta (
            id INTEGER PRIMARY KEY CHECK (id = 1),
            queue_time INTEGER NOT NULL,
            wall_time INTEGER NOT NULL,
            boot_id BLOB,
            since_boot INTEGER NOT NULL,
            divergence TEXT,
            diverged_stream INTEGER,
            diverged_wall_time INTEGER,
            collector BLOB,
            organization TEXT,
            device BLOB,
            quarantine_queue_time INTEGER,
            divergence_budget_whole_at INTEGER
        );
        """
}
