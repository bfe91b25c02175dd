import Foundation
import Testing

@testable import LogCommands

@Suite struct LineJSONTests {
    private static let head = "2026-11-21T23:51:28.123456Z E 5000042 app.network "
    private static let fields =
        #"{"time":"2026-11-21T23:51:28.123456Z","level":"error","number":5000042,"category":"app.network","#

    @Test(arguments: [
        ("it failed", #""message":"it failed","metadata":{}}"#),
        ("it failed\thost=a port=80", #""message":"it failed","metadata":{"host":"a","port":"80"}}"#),
        (#"say "hi" \\ \n\r\t\u{1B}[0m"#, #""message":"say \"hi\" \\ \n\r\t\u001b[0m","metadata":{}}"#),
        ("é\ta\\u{20}b=c\\u{3D}d", #""message":"é","metadata":{"a b":"c=d"}}"#),
        (#"odd \x \u{ \u{ZZ} \"#, #""message":"odd \\x \\u{ \\u{ZZ} \\","metadata":{}}"#),
    ])
    func fieldsAreAsTheyWereLogged(_ rest: String, _ expected: String) throws {
        let object = LineJSON.shown(Self.head + rest + "\n")
        #expect(object == Self.fields + expected + "\n")
        #expect(throws: Never.self) { try JSONSerialization.jsonObject(with: Data(object.utf8)) }
    }

    @Test func `A line of another form has its text alone`() {
        #expect(LineJSON.shown("at 0x1 in main\n") == #"{"message":"at 0x1 in main"}"# + "\n")
        #expect(LineJSON.shown("") == #"{"message":""}"# + "\n")
    }
}

extension LineJSON {
    fileprivate static func shown(_ line: String) -> String {
        Array(line.utf8).withUnsafeBytes { String(decoding: object($0), as: UTF8.self) }
    }
}
