import ListeningSockets
import Testing

@testable import MetricIntake

@Suite struct StatsDAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8125", SocketAddress.internet(host: "127.0.0.1", port: 8125)),
        ("localhost:1", .internet(host: "127.0.0.1", port: 1)),
        ("[::1]:8125", .internet(host: "::1", port: 8125)),
        ("/run/statsd.sock", .path("/run/statsd.sock")),
    ])
    func `Addresses of this machine are taken`(text: String, place: SocketAddress) throws {
        #expect(try StatsDAddress(text, fromOtherMachines: false).place == place)
    }

    @Test(arguments: ["0.0.0.0:8125", "[::]:8125", "192.0.2.7:8125"])
    func `An address that other machines reach needs a further word`(text: String) throws {
        let error = #expect(throws: MetricAddressError.self) { try StatsDAddress(text, fromOtherMachines: false) }
        #expect(error?.message.contains("fromOtherMachines") == true)
        #expect(try StatsDAddress(text, fromOtherMachines: true).description == text)
    }

    @Test(arguments: ["", "8125", "host.test:8125", "/" + String(repeating: "x", count: 107)])
    func `What is no address is refused`(text: String) {
        #expect(throws: MetricAddressError.self) { try StatsDAddress(text, fromOtherMachines: true) }
    }
}
