import CommandKit
import JSON
import Testing

@testable import CtlCommands

@Suite struct DocumentFileTests {
    @Test func `YAML becomes the JSON that it stands for`() throws {
        let text = "a: 1\nb: '1'\nc: [true, null, 1.5, text]\nd:\n  e: {}\nf: 'null'\ng: \"true\"\n"
        #expect(
            try DocumentFile.value(text, isJSON: false, path: "f") == [
                "a": 1, "b": "1", "c": [true, .null, .real(1.5), "text"], "d": ["e": [:]], "f": "null", "g": "true",
            ])
        #expect(try DocumentFile.value("", isJSON: false, path: "f") == .null)
    }

    @Test(arguments: ["a: no", "a: {", "a: .inf", "a: 99999999999999999999999"])
    func `What nobody can read as JSON is refused`(_ text: String) throws {
        let error = #expect(throws: CommandError.self) { try DocumentFile.value(text, isJSON: false, path: "f.yaml") }
        #expect(error?.code == .usage && error?.message.hasPrefix("f.yaml") == true)
    }

    @Test func `A fault in JSON is named with its line`() throws {
        for (text, part) in [("{\n\"a\": 1,\n\"a\": 2}", "`a` is given twice, in line 3"), ("{\n]", "line 2")] {
            let error = #expect(throws: CommandError.self) {
                try DocumentFile.value(text, isJSON: true, path: "f.json")
            }
            #expect(error?.message.contains(part) == true, "\(error?.message ?? "")")
        }
    }
}
