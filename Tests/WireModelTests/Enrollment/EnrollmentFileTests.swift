import Foundation
import Testing

@testable import WireModel

@Suite struct EnrollmentFileTests {
    private static let file = EnrollmentFile(
        collector: "https://collector.example:8420/telemetry",
        certificatePins: [Data(repeating: 1, count: 32), Data(repeating: 2, count: 32)], token: "enroll-me",
        expires: 1_798_718_400_000_000)

    private func refusal(_ text: String) -> String? {
        let error = #expect(throws: WireError.self, "\(text)") { _ = try EnrollmentFile(Data(text.utf8)) }
        return error?.message
    }

    @Test func `What is written is read`() throws {
        #expect(try EnrollmentFile(Data(try Self.file.text.utf8)) == Self.file)
        var plain = Self.file
        plain.certificatePins = []
        let text = try plain.text
        #expect(!text.contains("certificatePins") && text.hasSuffix("}\n"))
        #expect(try EnrollmentFile(Data(text.utf8)) == plain)
    }

    @Test func `The text is that of the format's version`() throws {
        #expect(
            try Self.file.text == """
                {
                  "certificatePins" : [
                    "AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=",
                    "AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="
                  ],
                  "collector" : "https://collector.example:8420/telemetry",
                  "expires" : "2026-12-31T12:00:00.000000Z",
                  "token" : "enroll-me",
                  "version" : 1
                }

                """)
    }

    @Test func `Cut off anywhere it is refused`() throws {
        let bytes = Data(try Self.file.text.utf8)
        // Without its last newline it is whole.
        for count in 0..<(bytes.count - 1) {
            let error = #expect(throws: WireError.self, "\(count) bytes") {
                _ = try EnrollmentFile(bytes.prefix(count))
            }
            #expect(error?.message.contains("cut off") == true)
        }
    }

    @Test func `Another file is named as one`() throws {
        #expect(refusal("enrollment-token-of-a-line\n")?.contains("another file") == true)
        #expect(refusal("{}")?.contains("version is missing") == true)
        #expect(refusal(#"{"version": 1, "content": {}, "digest": ""}"#)?.contains("collector is missing") == true)
        #expect(refusal(#"{"version": "one"}"#)?.contains("another type") == true)
        #expect(refusal("[1]")?.contains("no enrollment file") == true)
        #expect(refusal(String(repeating: " ", count: EnrollmentFile.maximumBytes + 1))?.contains("bytes") == true)
    }

    @Test(arguments: [
        (#""version" : 1"#, #""version" : 2"#, "update"), ("enroll-me", "enroll me", "token"),
        ("enroll-me", "", "token"), ("2026-12-31T12", "2026-12-32T12", "expires"),
        ("2026-12-31T12:00:00.000000Z", "31.12.2026", "expires"), ("AQEB", "AQ", "certificatePins[0]"),
    ]) func `A wrong member is named`(old: String, new: String, expected: String) throws {
        let text = try Self.file.text.replacingOccurrences(of: old, with: new)
        #expect(refusal(text)?.contains(expected) == true)
    }

    @Test func `A member of a later program does not disturb`() throws {
        let text = try Self.file.text.replacingOccurrences(of: "{\n", with: "{\n  \"note\" : \"later\",\n")
        #expect(try EnrollmentFile(Data(text.utf8)) == Self.file)
    }

    @Test func `The URL has what the file has`() throws {
        let url = Self.file.url
        #expect(
            url == "https://collector.example:8420/telemetry#pin=AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE%3D"
                + "&pin=AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI%3D&token=enroll-me"
                + "&expires=2026-12-31T12:00:00.000000Z&version=1")
        #expect(try EnrollmentFile(url: url) == Self.file)
        var odd = Self.file
        odd.certificatePins = []
        odd.token = String(decoding: 0x21...0x7E as ClosedRange<UInt8>, as: UTF8.self)
        #expect(try EnrollmentFile(url: odd.url) == odd)
    }

    @Test func `File and URL hold certificate authorities, and at most eight`() throws {
        var file = Self.file
        file.certificateAuthorities = [Data([0x30, 0xFB, 0xEF]), Data(repeating: 0xFF, count: 900)]
        #expect(try EnrollmentFile(Data(try file.text.utf8)) == file)
        #expect(try EnrollmentFile(url: file.url) == file)
        let text = try file.text
        #expect(
            refusal(text.replacingOccurrences(of: "MPvv", with: "M"))?.contains("certificateAuthorities[0]") == true)
        file.certificateAuthorities = Array(repeating: Data([1]), count: 9)
        #expect(refusal(try file.text)?.contains("at most 8") == true)
    }

    /// A URL without its last pin would be accepted, were the pins last.
    @Test func `A URL that is cut off is refused`() {
        let url = Self.file.url
        for count in 0..<url.count {
            let error = #expect(throws: WireError.self, "\(count) letters") {
                _ = try EnrollmentFile(url: String(url.prefix(count)))
            }
            #expect(error?.message.contains("enroll-me") == false)
        }
    }
}
