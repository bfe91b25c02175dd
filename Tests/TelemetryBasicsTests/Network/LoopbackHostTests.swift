import Testing

import TelemetryBasics

@Suite struct LoopbackHostTests {
    @Test(arguments: [
        ("localhost", true), ("LocalHost", true), ("localhost.", true), ("127.0.0.1", true), ("127.9.8.7", true),
        ("::1", true),
        ("0:0:0:0:0:0:0:1", true), ("::ffff:127.0.0.1", true), ("0.0.0.0", false), ("::", false),
        ("127.0.0.256", false),
        ("127.1", false), ("127.0.0.1.example.com", false), ("localhost.example.com", false), ("mylocalhost", false),
        ("128.0.0.1", false), ("::ffff:10.0.0.1", false), ("::2", false), ("[::1]", false), ("", false), (".", false),
        ("127.0.0.1 ", false),
    ])
    func `Only this machine is this machine`(_ host: String, _ expected: Bool) {
        #expect(LoopbackHost.contains(host) == expected, "\(host)")
    }
}
