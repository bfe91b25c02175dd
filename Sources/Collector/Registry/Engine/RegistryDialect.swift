/// Pieces of SQL that the engines spell differently.
package struct RegistryDialect: Equatable, Sendable {
    /// Joins a second table by an index for each row of the first, and never the other way round. PostgreSQL chooses
    /// this by itself.
    package var orderedJoin: String

    package init(orderedJoin: String) {
        self.orderedJoin = orderedJoin
    }

    package static let sqlite = RegistryDialect(orderedJoin: "CROSS JOIN")

    /// `LIMIT` for all rows. SQLite allows `OFFSET` only after a limit, and PostgreSQL allows no negative one.
    package static let everyRow = "LIMIT 4611686018427387903"
}
