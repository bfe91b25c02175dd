import Testing

@testable import HTTPConnection

@Suite struct EndpointURLTests {
    @Test(arguments: [
        ("http://localhost", "http://localhost:80"),
        ("https://collector.test", "https://collector.test:443"),
        ("HTTPS://collector.test:8420/", "https://collector.test:8420"),
        ("http://127.0.0.1:8420/a/b//", "http://127.0.0.1:8420/a/b"),
        ("http://[::1]:8420", "http://[::1]:8420"),
    ]) func `An address is taken with its default port and without a closing slash`(text: String, expected: String)
        throws
    {
        let endpoint = try EndpointURL(collector: text)
        #expect(endpoint.description == expected)
    }

    @Test(arguments: [
        "", "localhost", "localhost:8420", "ftp://localhost", "http://", "http:///path", "http://u:secret@localhost",
        "http://localhost?x=1",
        "http://localhost#x", "http://localhost:0", "http://localhost:65536", "http://local host", "file:///etc/passwd",
    ]) func `What is no collector's address is a typed error that does not repeat it`(text: String) {
        let error = #expect(throws: ConnectionSettingsError.self) { try EndpointURL(collector: text) }
        #expect(error?.code == .invalidCollectorURL)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `A proxy is plain HTTP without a path`() throws {
        let proxy = try EndpointURL(proxy: "http://proxy.test:3128")
        #expect(proxy.authority == "proxy.test:3128")
        for text in ["https://proxy.test", "socks://proxy.test", "http://proxy.test/x"] {
            #expect(throws: ConnectionSettingsError.self) { try EndpointURL(proxy: text) }
        }
    }

    @Test func `The address of another server is called by its own name in errors`() throws {
        let server = try EndpointURL(server: "https://database.test:8443", name: "ClickHouse URL")
        #expect(server.authority == "database.test:8443")
        let error = #expect(throws: ConnectionSettingsError.self) {
            try EndpointURL(server: "ftp://u:secret@database.test", name: "ClickHouse URL")
        }
        #expect(error?.code == .invalidServerURL)
        #expect(error?.message.hasPrefix("the ClickHouse URL ") == true)
        #expect(error?.message.contains("secret") == false)
    }
}
