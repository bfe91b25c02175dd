import Foundation
import Testing
import WireModel

@testable import Collector

@Suite struct JSONParserTests {
    private static let documents = [
        "null", " true ", "false", "0", "-7", "9223372036854775807", "18446744073709551615", "1.5", "-2.5e-3", #""""#, #""a""#,
        #""\"\\\/\b\f\n\r\t""#, #""\u00e9\u0041\ud83d\ude00x""#, #""grüße 😀 \u0000""#, "[]", "[1, [2, []], {}]", "{}",
        #"{"a": 1, "b": {"c": ["d", null, true]}, "": 0.25}"#, "\t{ \"a\" :\n[ 1 ,2 ] }\r\n",
    ]

    @Test(arguments: documents) func itReadsWhatJSONDecoderReads(document: String) throws {
        let bytes = Data(document.utf8)
        #expect(try JSONValue(parsing: bytes) == JSONDecoder().decode(JSONValue.self, from: bytes))
    }

    @Test func whatIsCutAnywhereIsAFaultAndNothingElse() {
        for document in Self.documents.filter({ $0.hasPrefix("[") || $0.hasPrefix("{") || $0.hasPrefix("\"") }) {
            let bytes = Data(document.utf8)
            for length in 0..<bytes.count {
                #expect(throws: JSONParser.Fault.self, "\(document) cut to \(length)") { try JSONValue(parsing: bytes.prefix(length)) }
            }
        }
    }

    @Test(arguments: [#"{"a": 1, "a": 1}"#, #"{"b": [{"a": 1, "\u0061": 2}]}"#])
    func aNameThatIsThereTwiceIsNamed(document: String) throws {
        let fault = #expect(throws: JSONParser.Fault.self) { try JSONValue(parsing: Data(document.utf8)) }
        #expect(fault?.repeatedName == "a")
        let problem = #expect(throws: Problem.self) { try FieldReader(body: Data((document.hasPrefix("{") ? document : "{}").utf8)) }
        #expect(problem?.status == 400 && problem?.detail?.contains("`a` twice") == true)
    }

    @Test(arguments: [
        "", " ", "nul", "tru", "[1,]", "[1 2]", #"{"a"}"#, #"{"a":}"#, #"{"a": 1,}"#, "{1: 2}", #""\x""#, #""\u12""#, #""\ud800""#,
        #""\ud800\u0041""#, #""\udc00""#, "1 2", "-", "1.2.3", "]", String(repeating: "[", count: 100_000),
    ]) func whatIsNoJSONIsAFault(document: String) {
        #expect(throws: JSONParser.Fault.self) { try JSONValue(parsing: Data(document.utf8)) }
    }
}
