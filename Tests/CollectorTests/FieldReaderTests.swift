import Foundation
import JSON
import Testing
import WireModel

@testable import Collector

@Suite struct FieldReaderTests {
    @Test func `A file of another system's editor is accepted`() throws {
        var reader = try FieldReader(body: Data("\u{FEFF}{\r\n  \"a\": true\r\n}\r\n".utf8))
        #expect(reader.value("a") == .boolean(true))
        #expect(throws: Problem.self) { try FieldReader(body: Data("\u{FEFF}\u{FEFF}{}".utf8)) }
    }

    @Test(arguments: [#"{"a": 1, "a": 1}"#, #"{"b": [{"a": 1, "\u0061": 2}]}"#])
    func `A name that is there twice is named`(document: String) {
        let problem = #expect(throws: Problem.self) { try FieldReader(body: Data(document.utf8)) }
        #expect(problem?.status == 400 && problem?.detail?.contains("`a` twice") == true)
    }
}
