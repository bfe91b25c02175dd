import CollectorStore
import FoundationEssentials
import PostgreSQL
import WireModel

/// What readers ask PostgreSQL first: the marks, which say what ClickHouse must have.
extension ChainTable {
    /// The chains of some devices; `nil` for all.
    static func chains(
        of devices: [DeviceID]?, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ChainRow] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            if let devices {
                return try session.query(
                    "SELECT \(ChainRow.columns) FROM chain WHERE stream = $1 AND device = ANY($2)", stream.rawValue,
                    devices.map(\.data))
            }
            return try session.query("SELECT \(ChainRow.columns) FROM chain WHERE stream = $1", stream.rawValue)
        }
        var chains: [ChainRow] = []
        chains.reserveCapacity(rows.count)
        for row in rows { chains.append(try ChainRow(row)) }
        return chains
    }

    /// The next chains in the order of their keys, for a walk over all.
    /// - Parameter last: from the first chain if `nil`.
    static func chains(
        after last: ChainKey?, limit: Int, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ChainRow] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT \(ChainRow.columns) FROM chain WHERE stream = $1 AND (device, epoch) > ($2, $3)
                ORDER BY device, epoch LIMIT $4
                """, stream.rawValue, last?.device.data ?? Data(), last?.epoch.data ?? Data(), limit)
        }
        var chains: [ChainRow] = []
        for row in rows { chains.append(try ChainRow(row)) }
        return chains
    }

    /// The days that some devices have slices on; `nil` for all devices.
    /// - Parameters:
    ///   - from: the first day.
    ///   - to: the last day.
    static func days(
        of devices: [DeviceID]?, from: UTCDay, to: UTCDay, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ChainDay] {
        let condition = devices == nil ? "" : " AND device = ANY($4)"
        let sql = "SELECT \(ChainDay.columns) FROM chain_day WHERE stream = $1 AND day BETWEEN $2 AND $3\(condition)"
        let rows = try StoreError.mapping { () throws(PostgresError) in
            if let devices {
                return try session.query(sql, stream.rawValue, from.number, to.number, devices.map(\.data))
            }
            return try session.query(sql, stream.rawValue, from.number, to.number)
        }
        var days: [ChainDay] = []
        days.reserveCapacity(rows.count)
        for row in rows { days.append(try ChainDay(row)) }
        return days
    }

    /// The chains that have slices on a day.
    /// - Returns: also whether the chain has none on later days.
    static func chains(
        on day: UTCDay, _ stream: StreamName, in session: PostgresSession
    ) throws(StoreError) -> [ChainKey: (row: ChainRow, endsOnDay: Bool)] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query(
                """
                SELECT \(ChainRow.columns), NOT EXISTS (
                    SELECT 1 FROM chain_day e WHERE e.stream = $1 AND e.device = c.device AND e.epoch = c.epoch
                        AND e.day > $2)
                FROM chain c WHERE stream = $1 AND EXISTS (
                    SELECT 1 FROM chain_day d WHERE d.stream = $1 AND d.device = c.device AND d.epoch = c.epoch
                        AND d.day = $2)
                """, stream.rawValue, day.number)
        }
        var chains: [ChainKey: (row: ChainRow, endsOnDay: Bool)] = [:]
        for row in rows {
            let chain = try ChainRow(row)
            let endsOnDay = try StoreError.mapping { () throws(PostgresError) in try row.bool(ChainRow.columnCount) }
            chains[chain.key] = (chain, endsOnDay)
        }
        return chains
    }

    /// The days of a stream that are not dropped, ascending.
    static func keptDays(_ stream: StreamName, in session: PostgresSession) throws(StoreError) -> [UTCDay] {
        let rows = try StoreError.mapping { () throws(PostgresError) in
            try session.query("SELECT day FROM partition WHERE stream = $1 AND state < 2 ORDER BY day", stream.rawValue)
        }
        var days: [UTCDay] = []
        for row in rows { days.append(UTCDay(number: try row.number(0))) }
        return days
    }
}
