import Testing

@testable import ListeningSockets

@Suite struct SocketAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8125", SocketAddress.internet(host: "127.0.0.1", port: 8125), "127.0.0.1:8125"),
        ("LocalHost:1", .internet(host: "127.0.0.1", port: 1), "127.0.0.1:1"),
        ("[::1]:8125", .internet(host: "::1", port: 8125), "[::1]:8125"),
        ("0.0.0.0:65535", .internet(host: "0.0.0.0", port: 65535), "0.0.0.0:65535"),
        ("/run/a:5.sock", .path("/run/a:5.sock"), "/run/a:5.sock"),
    ])
    func `Addresses and paths are read, and written as they are read`(
        text: String, address: SocketAddress, description: String
    ) {
        #expect(SocketAddress(text) == address)
        #expect(address.description == description && SocketAddress(description) == address)
    }

    @Test(arguments: [
        "", ":", "8125", "127.0.0.1", "127.0.0.1:", "127.0.0.1:70000", "127.0.0.1:-1", "127.1:5", "host.test:8125",
        "::1:8125", "[127.0.0.1]:8125", "[::1]", "[]:5", "127.0.0.1:x", "relative/path", "/with\0zero",
        "/" + String(repeating: "x", count: 107),
    ])
    func `What is no address is refused`(text: String) { #expect(SocketAddress(text) == nil) }

    @Test(arguments: [
        ("127.0.0.1:1", true), ("127.8.8.8:1", true), ("[::1]:1", true), ("[::ffff:127.0.0.1]:1", true), ("/a", true),
        ("0.0.0.0:1", false), ("[::]:1", false), ("192.0.2.7:1", false),
    ])
    func `Whether other machines reach it is known`(text: String, isLocal: Bool) {
        #expect(SocketAddress(text)?.isLocal == isLocal)
    }
}
