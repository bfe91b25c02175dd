import Foundation
import JSON
import Testing

@testable import CtlCommands

@Suite struct MergePatchTests {
    /// The examples of RFC 7396, appendix A.
    @Test(
        arguments: [
            (#"{"a":"b"}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"b"}"#, #"{"b":"c"}"#, #"{"a":"b","b":"c"}"#),
            (#"{"a":"b"}"#, #"{"a":null}"#, "{}"), (#"{"a":"b","b":"c"}"#, #"{"a":null}"#, #"{"b":"c"}"#),
            (#"{"a":["b"]}"#, #"{"a":"c"}"#, #"{"a":"c"}"#), (#"{"a":"c"}"#, #"{"a":["b"]}"#, #"{"a":["b"]}"#),
            (#"{"a":{"b":"c"}}"#, #"{"a":{"b":"d","c":null}}"#, #"{"a":{"b":"d"}}"#),
            (#"{"a":[{"b":"c"}]}"#, #"{"a":[1]}"#, #"{"a":[1]}"#), (#"["a","b"]"#, #"["c","d"]"#, #"["c","d"]"#),
            (#"{"a":"b"}"#, #"["c"]"#, #"["c"]"#), (#"{"a":"foo"}"#, "null", "null"),
            (#"{"a":"foo"}"#, #""bar""#, #""bar""#), (#"{"e":null}"#, #"{"a":1}"#, #"{"e":null,"a":1}"#),
            (#"[1,2]"#, #"{"a":"b","c":null}"#, #"{"a":"b"}"#),
            ("{}", #"{"a":{"bb":{"ccc":null}}}"#, #"{"a":{"bb":{}}}"#),
        ]) func `A merge patch gives what RFC 7396 says`(_ original: String, _ patch: String, _ result: String) throws
    {
        func value(_ text: String) throws -> JSONValue { try JSONValue(parsing: Data(text.utf8), limits: .own) }
        #expect(try value(original).merged(with: value(patch)) == value(result))
    }

    @Test func `Settings that go are listed before all others`() {
        let lines = ProfileChange.lines([
            ["path": "/a", "to": 1], ["path": "/b", "from": 1, "to": [2]], ["path": "/c", "from": "x"],
        ])
        #expect(lines == ["- /c: \"x\"", "~ /b: 1 -> [2]", "+ /a: 1"])
    }
}
