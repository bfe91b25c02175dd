import Foundation
import Testing
import WireModel

@Suite struct ControlCharactersTests {
    /// What a device may have said, and what a person reads of it.
    @Test(arguments: [
        ("kiosk 1", "kiosk 1"), ("grüße 😀", "grüße 😀"), ("a\nb\t", #"a\u{A}b\u{9}"#), ("\u{1B}[2J", #"\u{1B}[2J"#),
        ("a\u{7F}", #"a\u{7F}"#),
        // C1: one character of some terminals is what two are elsewhere.
        ("\u{9B}2J\u{85}", #"\u{9B}2J\u{85}"#),
        // What is shown would be another order than what is there.
        ("invoice\u{202E}gpj.exe", #"invoice\u{202E}gpj.exe"#),
        ("\u{2066}x\u{2069}\u{200F}\u{61C}", #"\u{2066}x\u{2069}\u{200F}\u{61C}"#),
        ("one\u{2028}two", #"one\u{2028}two"#),
    ])
    func `Nothing of a text steers a terminal`(_ text: String, _ shown: String) {
        #expect(text.escapingControlCharacters == shown)
        #expect(!shown.unicodeScalars.contains { $0.isHidden })
    }

    @Test func `A program keeps its own line ends`() {
        #expect("a\nb\u{9B}".escapingControlCharacters(keeping: "\n") == "a\nb\\u{9B}")
    }

    @Test(arguments: ["plain", "é â ‹ ؜x", "\u{9B}2J\u{202E}", "\u{7F}\u{1B}\n\"\\", "😀\u{2069}"])
    func `Escaped JSON has the same value and hides nothing`(_ text: String) throws {
        let json = try JSONEncoder().encode([text: [text]])
        let escaped = json.escapingHiddenCharactersInJSON
        #expect(try JSONDecoder().decode([String: [String]].self, from: escaped) == [text: [text]])
        #expect(!String(decoding: escaped, as: UTF8.self).unicodeScalars.contains { $0.isHidden })
    }

    /// Names that were accepted before are accepted on.
    @Test func `Text that is shown escaped is still a name`() {
        #expect(!"a\u{200F}b".hasControlCharacters && "a\u{9B}b".hasControlCharacters)
    }
}
