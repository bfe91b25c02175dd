import Testing

@testable import MQTTClient

@Suite struct MQTTTopicTests {
    @Test(arguments: [
        ("", "empty"), ("a+b", "+"), ("#", "#"), ("a/b", "/"), ("$SYS", "$"), ("a\0", "NUL"), ("a\u{1b}", "control"),
        (String(repeating: "a", count: 129), "129"),
    ])
    func `A name that cannot be a level is refused with the reason`(name: String, reason: String) {
        let refusal = #expect(throws: MQTTError.self) { try MQTTTopic.check(level: name, what: "mqttName") }
        #expect(refusal?.code == .configuration)
        #expect(refusal?.message.contains("mqttName") == true)
        #expect(refusal?.message.contains(reason) == true)
    }

    @Test(arguments: ["a", "device-1", "Gerät.7", "a@b:c", String(repeating: "a", count: 128)])
    func `A usual name is accepted`(name: String) throws { try MQTTTopic.check(level: name, what: "mqttName") }
}
