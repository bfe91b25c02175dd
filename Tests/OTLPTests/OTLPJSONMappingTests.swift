import Foundation
import OTLP
import Testing

@Suite struct OTLPJSONMappingTests {
    private func record(_ fields: String) throws -> OTLPLogRecord {
        let body = #"{"resourceLogs":[{"scopeLogs":[{"logRecords":[{\#(fields)}]}]}]}"#
        return try OTLPLogsRequest.decode(Array(body.utf8), as: .json).resourceLogs[0].scopeLogs[0].logRecords[0]
    }

    private func refusal(_ fields: String) -> String? {
        #expect(throws: OTLPError.self) { try record(fields) }?.message
    }

    @Test func `Identifiers are hex of any length, in either case`() throws {
        for length in 0...40 {
            let bytes = (0..<length).map { UInt8($0 * 37 & 255) }
            let lower = bytes.map { String(format: "%02x", $0) }.joined()
            for text in [lower, lower.uppercased()] {
                let found = try record(#""traceId":"\#(text)","spanId" : "\#(text)" ,"severityText":"after""#)
                #expect(found.traceID == Data(bytes))
                #expect(found.spanID == Data(bytes))
                #expect(found.severityText == "after")
            }
        }
    }

    @Test(arguments: ["a", "abc", "0g", "AP/+", "AQIDBAUGBwgJCgsMDQ4PEA==", " 00", #"\u0030\u0030"#])
    func `An identifier that is not hex is refused, and the message says so`(text: String) {
        #expect(refusal(#""traceId":"\#(text)""#)?.contains("hex") == true)
    }

    @Test func `Other bytes stay base64`() throws {
        let found = try record(#""attributes":[{"key":"b","value":{"bytesValue":"AP/+"}}]"#)
        #expect(found.attributes[0].value.bytesValue == Data([0, 255, 254]))
    }

    @Test func `An enum is a number, and its name is refused`() throws {
        #expect(try record(#""severityNumber":13"#).severityNumber == .warn)
        #expect(refusal(#""severityNumber":"SEVERITY_NUMBER_WARN""#)?.contains("enums as numbers") == true)
        #expect(refusal(#""severityNumber":"13""#) != nil)
    }

    @Test func `The schema's own names are unknown keys`() throws {
        let found = try record(
            #""severity_text":"no","time_unix_nano":[1,{"a":2}],"trace_id":"no hex","severityText":"yes","_":1"#)
        #expect(found.severityText == "yes")
        #expect(found.timeUnixNano == 0)
        #expect(found.traceID.isEmpty)
    }

    @Test func `What an unknown key holds is not read`() throws {
        let found = try record(
            #""future":{"severityNumber":"X","traceId":"no hex","body":[[[]]]},"severityNumber":9,"#
                + #""futures":[{"traceId":"-"},"severityNumber","x"],"severityText":"after""#)
        #expect(found.severityNumber == .info)
        #expect(found.severityText == "after")
    }

    @Test func `A key keeps its escapes, and a text its braces`() throws {
        let found = try record(#""severity\u0054ext":"}]\",{","body":{"stringValue":"\\"}"#)
        #expect(found.severityText == #"}]",{"#)
        #expect(found.body.stringValue == "\\")
    }

    @Test func `Integers of 64 bits are texts or numbers`() throws {
        for text in [#""9223372036854775807""#, "9223372036854775807"] {
            let found = try record(#""attributes":[{"key":"n","value":{"intValue":\#(text)}}]"#)
            #expect(found.attributes[0].value.intValue == .max)
        }
        #expect(refusal(#""timeUnixNano":"18446744073709551616""#) != nil)
        #expect(refusal(#""timeUnixNano":1.5"#) != nil)
    }

    @Test func `What an unknown key holds has a depth too, and closing brackets alone are no JSON`() {
        let deep = String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000)
        #expect(refusal(#""future":\#(deep)"#)?.contains("deep") == true)
        for body in ["]", "}", "{}}", "[", "\"", "\"\\", ",", "{,}", ""] {
            let error = #expect(throws: OTLPError.self, "\(body)") {
                try OTLPLogsRequest.decode(Array(body.utf8), as: .json)
            }
            #expect(error?.code == .malformed)
        }
    }
}
