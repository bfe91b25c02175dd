import Testing

@testable import DataSampler

@Suite struct GPSDAddressTests {
    @Test func `An address is a port of this machine or the path of a socket`() throws {
        #expect(try GPSDAddress("127.0.0.1:2947").place == .loopback(isIPv6: false, port: 2947))
        #expect(try GPSDAddress("localhost:1").place == .loopback(isIPv6: false, port: 1))
        #expect(try GPSDAddress("[::1]:65535").place == .loopback(isIPv6: true, port: 65535))
        #expect(try GPSDAddress("/run/gpsd.sock").place == .path("/run/gpsd.sock"))
        #expect("\(try GPSDAddress("localhost:2947"))" == "localhost:2947")
    }

    @Test(arguments: [
        "", "2947", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:x", "::1:2947",
        "192.0.2.1:2947", "gps.example:2947", "127.0.0.1.example:2947", "/" + String(repeating: "x", count: 107),
        "/run/\u{0}",
    ])
    func `What is not on this machine, or no address, is refused`(text: String) {
        let error = #expect(throws: DataSamplerError.self) { try GPSDAddress(text) }
        #expect(error?.code == .invalidConfiguration && error?.message.hasPrefix("gpsd '") == true)
    }

    @Test func `A configuration with an address that cannot be is refused`() {
        var configuration = SamplerBench.configuration("/nonexistent")
        configuration.gpsd = "gps.example:2947"
        let error = #expect(throws: DataSamplerError.self) { try configuration.validate() }
        #expect(error?.message.contains("gpsd does not encrypt") == true)
    }
}
