import ClickHouse
import WireModel

/// The tables in ClickHouse that people ask with SQL and Grafana. `Documentation/tables.md` explains their columns.
///
///     metric    stream `sample`: one row for each value of a metric
///     event     stream `event`: one row for each event
///     beacon    stream `status`: one row for each beacon
///
/// A stream has one table, and a row is in the partition of its slice's day. So a day of a stream is dropped here as it
/// is among the slices. The sorting key names the organization first, then what people ask by, then the record. A row
/// that a repeated fill has written again has the same key, so that merges and `FINAL` leave one of them.
enum PeopleSchema {
    static func table(of stream: StreamName) -> String {
        switch stream {
        case .sample: "metric"
        case .event: "event"
        case .status: "beacon"
        }
    }

    /// The columns of a table in their order, with their types.
    static func columns(of stream: StreamName) -> [(name: String, type: String)] {
        switch stream {
        case .sample: parsed(common) + parsed(metric)
        case .event: parsed(common) + parsed(event)
        case .status: parsed(common) + parsed(beacon)
        }
    }

    private static func parsed(_ columns: String) -> [(name: String, type: String)] {
        columns.split(separator: "\n").map { line in
            let words = line.split(separator: " ", maxSplits: 1)
            return (String(words[0]), String(words[1]))
        }
    }

    static func tables(in database: String) -> [(name: String, statement: String)] {
        StreamName.allCases.map { stream in
            let name = table(of: stream)
            let columns = columns(of: stream).map { "\($0.name) \($0.type)" }.joined(separator: ", ")
            return (
                name,
                """
                CREATE TABLE IF NOT EXISTS \(ClickHouseSQL.identifier(database)).\(name) (\(columns))
                ENGINE = ReplicatedReplacingMergeTree('/clickhouse/tables/\(database)/\(name)', '{replica}')
                PARTITION BY day ORDER BY (\(sortingKey(of: stream)))
                """
            )
        }
    }

    private static func sortingKey(of stream: StreamName) -> String {
        switch stream {
        case .sample: "organization, name, device, time, epoch, record, attributes, repetition"
        case .event: "organization, name, device, time, epoch, record"
        case .status: "organization, device, time, epoch, record"
        }
    }

    /// A line for each column: its name, then its type.
    private static let common = """
        day Date
        organization String
        device UUID
        time DateTime('UTC')
        time_microseconds Int64
        received_at DateTime('UTC')
        application String
        is_test UInt8
        epoch UUID
        record UInt64
        """

    private static let metric = """
        name String
        attributes String
        value Float64
        unit String
        kind String
        module String
        repetition UInt16
        start_microseconds Nullable(Int64)
        """

    private static let event = """
        name String
        type String
        value String
        value_type String
        value_number Nullable(Float64)
        attributes String
        session String
        succeeded Nullable(UInt8)
        duration_seconds Nullable(Float64)
        """

    private static let beacon = """
        trigger String
        device_name String
        organization_group String
        application_version String
        library_version String
        os_distribution String
        os_version String
        model String
        enrollment String
        device_compliance String
        application_compliance String
        compromised String
        managed String
        network String
        consent String
        battery_level Nullable(Float64)
        uptime_seconds UInt64
        profile_revision UInt64
        next_beacon_seconds UInt32
        """
}
