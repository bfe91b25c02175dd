/// Pieces of SQL that the engines spell differently.
package struct RegistryDialect: Equatable, Sendable {
    /// The column of `meta` with numbers. In SQLite one column holds values of any type.
    package var metaNumber: String
    /// Joins a second table by an index for each row of the first, and never the other way round. PostgreSQL chooses
    /// this by itself.
    package var orderedJoin: String

    package init(metaNumber: String, orderedJoin: String) {
        self.metaNumber = metaNumber
        self.orderedJoin = orderedJoin
    }

    static let sqlite = RegistryDialect(metaNumber: "value", orderedJoin: "CROSS JOIN")

    /// `LIMIT` for all rows. SQLite allows `OFFSET` only after a limit, and PostgreSQL allows no negative one.
    static let everyRow = "LIMIT 4611686018427387903"
}
