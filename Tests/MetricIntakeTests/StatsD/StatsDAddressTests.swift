import Testing

@testable import MetricIntake

@Suite struct StatsDAddressTests {
    @Test(arguments: [
        ("127.0.0.1:8125", StatsDAddress.Place.udp(host: "127.0.0.1", isIPv6: false, port: 8125)),
        ("localhost:1", .udp(host: "127.0.0.1", isIPv6: false, port: 1)),
        ("[::1]:8125", .udp(host: "::1", isIPv6: true, port: 8125)),
        ("/run/statsd.sock", .path("/run/statsd.sock")),
    ])
    func `Addresses of this machine are taken`(text: String, place: StatsDAddress.Place) throws {
        #expect(try StatsDAddress(text, fromOtherMachines: false).place == place)
    }

    @Test(arguments: ["0.0.0.0:8125", "[::]:8125", "192.0.2.7:8125"])
    func `An address that other machines reach needs a further word`(text: String) throws {
        let error = #expect(throws: MetricAddressError.self) { try StatsDAddress(text, fromOtherMachines: false) }
        #expect(error?.message.contains("fromOtherMachines") == true)
        #expect(try StatsDAddress(text, fromOtherMachines: true).description == text)
    }

    @Test(arguments: ["", "8125", "127.0.0.1", "127.0.0.1:70000", "host.test:8125", "::1:8125", "127.0.0.1:x"])
    func `What is no address is refused`(text: String) {
        #expect(throws: MetricAddressError.self) { try StatsDAddress(text, fromOtherMachines: true) }
    }

    @Test func `A path that no socket can have is refused`() {
        #expect(throws: MetricAddressError.self) {
            try StatsDAddress("/" + String(repeating: "x", count: 107), fromOtherMachines: false)
        }
    }
}
