import Foundation
import Testing
import WireModel

@testable import Collector

@Suite struct FieldReaderTests {
    @Test(arguments: [#"{"a": 1, "a": 1}"#, #"{"b": [{"a": 1, "\u0061": 2}]}"#])
    func aNameThatIsThereTwiceIsNamed(document: String) {
        let problem = #expect(throws: Problem.self) { try FieldReader(body: Data(document.utf8)) }
        #expect(problem?.status == 400 && problem?.detail?.contains("`a` twice") == true)
    }
}
