import Testing

@testable import Console

@Suite struct FormFieldsTests {
    @Test func `A query reads as it was written`() {
        let texts = ["plain", "a b", "a+b", "a&b=c", "100 %", "ä€😀", "\u{202E}", "#?/"]
        let fields = FormFields(texts.map { ($0, $0) })
        #expect(FormFields(encoded: fields.encoded) == fields)
        #expect(fields.encoded.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F })
    }

    @Test(arguments: [
        ("a=1&b=2", [("a", "1"), ("b", "2")]), ("a", [("a", "")]), ("a=&=b", [("a", ""), ("", "b")]),
        ("&&a=1&", [("a", "1")]), ("a=1=2", [("a", "1=2")]), ("a=%zz&b=%C3", [("a", "%zz"), ("b", "%C3")]),
        ("a=x+y", [("a", "x y")]),
    ]) func `What browsers send is read`(encoded: String, fields: [(String, String)]) {
        #expect(FormFields(encoded: encoded) == FormFields(fields))
    }

    @Test func `Fields that nobody filled in are absent`() {
        let fields: FormFields = [("q", " x "), ("state", ""), ("os", "  ")]
        #expect(fields.text("q") == "x")
        #expect(fields.text("state") == nil)
        #expect(fields.text("os") == nil)
        #expect(fields.only(["state", "q"]) == [("q", " x ")])
        #expect(fields.with("q", "y").with("os")["q"] == "y")
    }

    @Test func `Too many fields are left out`() {
        let encoded = (0..<5000).map { "f\($0)=1" }.joined(separator: "&")
        #expect(FormFields(encoded: encoded).fields.count == 4096)
    }
}
