import Testing

@testable import HTTPConnection

@Suite struct ProxyEnvironmentTests {
    private func proxy(_ environment: [String: String], for server: String = "https://collector.test:8420") throws
        -> EndpointURL?
    {
        try ProxyEnvironment(environment).proxy(for: try EndpointURL(collector: server))
    }

    @Test(
        arguments: [
            (["HTTPS_PROXY": "http://a:3128"], "https://collector.test", "a:3128"),
            (["https_proxy": "http://a:3128/"], "https://collector.test", "a:3128"),
            (["https_proxy": "http://a:1", "HTTPS_PROXY": "http://b:2"], "https://collector.test", "a:1"),
            (["https_proxy": "", "HTTPS_PROXY": "http://b:2"], "https://collector.test", "b:2"),
            (["HTTPS_PROXY": "a:3128"], "https://collector.test", "a:3128"),
            (["HTTP_PROXY": "http://a:3128"], "https://collector.test", nil),
            (["HTTP_PROXY": "http://a:3128"], "http://collector.test", "a:3128"),
            (["HTTPS_PROXY": "http://a:3128"], "http://collector.test", nil),
            (["HTTPS_PROXY": ""], "https://collector.test", nil),
            (["HTTPS_PROXY": "http://a:3128"], "https://localhost:8420", nil),
            (["HTTPS_PROXY": "http://a:3128"], "https://127.0.0.1:8420", nil),
            (["HTTPS_PROXY": "http://a:3128"], "https://[::1]:8420", nil),
            (["HTTPS_PROXY": "http://a:3128"], "https://127.0.0.53:8420", "a:3128"),
            (["HTTPS_PROXY": "http://a:3128"], "https://127.0.0.1.test:8420", "a:3128"),
            ([:], "https://collector.test", nil),
        ] as [([String: String], String, String?)])
    func `The variable of the server's scheme names the proxy`(
        environment: [String: String], server: String, expected: String?
    ) throws {
        #expect(try proxy(environment, for: server)?.authority == expected)
    }

    @Test(
        arguments: [
            ("*", "https://collector.test", true), ("collector.test", "https://collector.test", true),
            ("test", "https://collector.test", true), (".test", "https://collector.test", true),
            ("*.test", "https://collector.test", true), ("COLLECTOR.TEST.", "https://collector.test", true),
            ("other, collector.test", "https://collector.test", true),
            ("a collector.test", "https://collector.test", true),
            ("llector.test", "https://collector.test", false), ("x.collector.test", "https://collector.test", false),
            ("collector.test:8420", "https://collector.test:8420", true),
            ("collector.test:443", "https://collector.test:8420", false), (",", "https://collector.test", false),
            (".", "https://collector.test", false),
            ("10.1.2.3", "https://10.1.2.3", true), ("10.1.2.3:443", "https://10.1.2.3", true),
            ("10.0.0.0/8", "https://10.1.2.3", true), ("10.1.2.0/23", "https://10.1.3.9", true),
            ("10.1.2.0/24", "https://10.1.3.9", false), ("0.0.0.0/0", "https://10.1.3.9", true),
            ("10.0.0.0/33", "https://10.1.2.3", false), ("10.0.0.0/", "https://10.1.2.3", false),
            ("10.1.2", "https://10.1.2.3", false), ("2.3", "https://10.1.2.3", false),
            ("2001:db8::/32", "https://[2001:db8:0:0::7]", true), ("2001:db8::7", "https://[2001:db8:0:0::7]", true),
            ("[2001:db8::7]:443", "https://[2001:db8::7]", true), ("[2001:db8::7]:1", "https://[2001:db8::7]", false),
            ("10.0.0.0/8", "https://collector.test", false), ("2001:db8::/32", "https://10.1.2.3", false),
        ]) func `A server that NO_PROXY lists is reached directly`(list: String, server: String, isDirect: Bool) throws
    {
        for name in ["NO_PROXY", "no_proxy"] {
            let found = try proxy(["https_proxy": "http://a:3128", name: list], for: server)
            #expect((found == nil) == isDirect, "\(list)")
        }
    }

    @Test func `A proxy of the environment may ask for a password, which no message shows`() throws {
        let found = try #require(try proxy(["HTTPS_PROXY": "http://user:p%40ss@proxy.test:3128"]))
        #expect(found.credentials == .init(user: "user", password: "p@ss"))
        #expect(found.description == "http://proxy.test:3128")
        var settings = ConnectionSettings(collector: try EndpointURL(collector: "https://collector.test"))
        try settings.applyProxy(from: ProxyEnvironment(["HTTPS_PROXY": "http://user:p%40ss@proxy.test:3128"]))
        #expect(settings.peer == "proxy proxy.test:3128")

    }

    @Test(arguments: [
        "socks5://user:secret@proxy.test", "https://user:secret@proxy.test", "http://", "http://a/secret",
    ])
    func `What is no HTTP proxy is an error that names the variable and not its value`(text: String) {
        let error = #expect(throws: ConnectionSettingsError.self) { _ = try proxy(["HTTPS_PROXY": text]) }
        #expect(error?.code == .invalidProxyURL && error?.message.contains("HTTPS_PROXY") == true)
        #expect(error?.message.contains("secret") == false)
    }

    @Test func `A proxy that is set counts before one of the environment`() throws {
        var settings = ConnectionSettings(
            collector: try EndpointURL(collector: "https://collector.test"),
            proxy: try EndpointURL(proxy: "http://given:1"))
        try settings.applyProxy(from: ProxyEnvironment(["HTTPS_PROXY": "http://other:2"]))
        #expect(settings.proxy?.authority == "given:1")
    }
}
