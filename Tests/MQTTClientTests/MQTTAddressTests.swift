import Testing

@testable import MQTTClient

@Suite struct MQTTAddressTests {
    @Test func `An address has a port of its scheme and a prefix`() throws {
        let secured = try MQTTAddress("mqtts://broker.example/ws1/site-1/", what: "collector URL")
        #expect(secured.isTLS && secured.port == 8883 && secured.prefix == "ws1/site-1")
        #expect("\(secured)" == "mqtts://broker.example:8883/ws1/site-1")
        let plain = try MQTTAddress("mqtt://[::1]:1884/ws1", what: "collector URL")
        #expect(!plain.isTLS && plain.port == 1884 && plain.host == "::1" && plain.isLoopback)
    }

    @Test(arguments: [
        "mqtts://broker", "mqtts://broker/", "mqtts://broker/a//b", "mqtts://broker/a+", "mqtts://broker/%23",
        "mqtts://broker/a#b", "mqtts://broker/a?b", "mqtts://user:s3cret@broker/a", "mqtts:///a", "mqtts://broker:0/a",
        "https://broker/a", "broker/a", "mqtts://broker/$SYS", "mqtts://broker/a%00",
    ])
    func `An address that is none is refused, and its text is not repeated`(text: String) {
        let refusal = #expect(throws: MQTTError.self) { try MQTTAddress(text, what: "collector URL") }
        #expect(refusal?.code == .configuration)
        #expect(refusal?.message.contains("collector URL") == true)
        #expect(refusal?.message.contains("s3cret") == false)
    }
}
