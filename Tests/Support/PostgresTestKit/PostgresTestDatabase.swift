/// An empty database of a server. It goes with the server.
package struct PostgresTestDatabase: Sendable {
    package let server: PostgresServer
    package let name: String

    package var connectionString: String { server.connectionString(database: name) }

    /// The same database through a proxy.
    package func connectionString(port: Int) -> String { server.connectionString(database: name, port: port) }

    @discardableResult
    package func sql(_ text: String) async throws -> [String] { try await server.sql(text, database: name) }
}
