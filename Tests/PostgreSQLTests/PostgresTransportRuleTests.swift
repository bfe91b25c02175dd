import Testing

@testable import PostgreSQL

@Suite struct PostgresTransportRuleTests {
    /// Each connection string with the host of another machine that it reaches without verified TLS.
    @Test(arguments: [
        ("host=db.example", "db.example"), ("host=10.0.0.21 sslmode=disable", "10.0.0.21"),
        ("host=10.0.0.21 sslmode=require", "10.0.0.21"), ("postgresql://ws1@10.0.0.21/ws1?sslmode=prefer", "10.0.0.21"),
        ("host=127.0.0.1,db.example sslmode=require", "db.example"),
        // libpq connects to the address, and uses the name only to verify.
        ("host=localhost hostaddr=10.0.0.21 sslmode=require", "10.0.0.21"), ("service=cluster", "cluster"),
    ])
    func `A server on another machine is refused without verified TLS`(connection: String, host: String) throws {
        let error = try #require(throws: PostgresError.self) { try Fixture.client(connection) }
        #expect(error.code == .configuration && error.message.contains(host), "\(error)")
        _ = try Fixture.client(connection) { $0.allowsPlaintext = true }
    }

    @Test(arguments: [
        "host=db.example sslmode=verify-full", "postgresql://ws1@10.0.0.21/ws1?sslmode=verify-ca",
        "host=127.0.0.1 sslmode=disable", "host=localhost", "host=/run/postgresql", "postgresql:///ws1",
        "host=db.example hostaddr=127.0.0.1", "host=a.example,b.example sslmode=verify-full",
    ])
    func `This machine and verified TLS need no word`(connection: String) throws {
        _ = try Fixture.client(connection)
    }
}
