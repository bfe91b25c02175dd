import Foundation
import Testing
import WireModel

@Suite struct WireDeliverMessageLimitsTests {
    private func message(_ text: String, _ payload: Data = Data(), _ contentType: String = "") -> WireDeliverMessage {
        var message = WireDeliverMessage()
        (message.text, message.payload, message.contentType) = (text, payload, contentType)
        return message
    }

    @Test func `Text, payload or both are delivered up to their limits`() {
        let (longest, byte) = (String(repeating: "é", count: 2048), Data([0]))
        #expect(message(longest).objection == nil)
        #expect(message("two\n\tlines").objection == nil)
        #expect(message("", Data(repeating: 0, count: 4096), "application/octet-stream").objection == nil)
        #expect(message("both", byte, "image/png").objection == nil)
        #expect(message(longest + "x").objection?.field == "text")
        #expect(message("", Data(repeating: 0, count: 4097), "image/png").objection?.field == "payload")
        #expect(message("").objection?.field == "text", "nothing is no message")
    }

    @Test(arguments: ["\u{1B}[31m", "a\r\nb", "\0", "\u{7F}", "\u{9B}"])
    func `Control characters other than line feed and tab are refused`(text: String) {
        #expect(message(text).objection?.field == "text")
    }

    @Test(arguments: [
        ("text/plain", true), ("text/plain;charset=utf-8", true), (#"text/plain; charset="utf-8"; a=b"#, true),
        ("application/vnd.example+json", true), ("text", false), ("text/", false), ("/plain", false),
        ("text/plain/x", false), ("text plain/x", false), ("text/plain;", false), ("text/plain; charset", false),
        ("text/plain; charset=", false), ("text/pläin", false), ("text/plain\r\nX: y", false),
        ("text/" + String(repeating: "x", count: 250), true), ("text/" + String(repeating: "x", count: 251), false),
    ])
    func `A payload has a media type`(contentType: String, isAllowed: Bool) {
        #expect((message("", Data([1]), contentType).objection == nil) == isAllowed)
    }

    @Test func `Payload and media type come together`() {
        #expect(message("x", Data([1])).objection?.field == "contentType")
        #expect(message("x", Data(), "text/plain").objection?.field == "contentType")
    }
}
