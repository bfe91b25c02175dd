/// PostgreSQL's clock in SQL, which all collectors share.
enum ServerClock {
    /// Microseconds since 1970.
    static let now = "CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS bigint)"
}
