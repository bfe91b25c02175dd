import Foundation
import JSON
import Testing

@testable import Console

@Suite struct DisplayTextTests {
    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1234, "1.23 kB"), (999_499, "999.5 kB"), (999_500, "1.000 MB"),
            (5_000_000, "5 MB"), (123_456_789, "123.5 MB"), (2_000_000_000_000_000, "2 PB"),
        ] as [(Double, String)]) func bytes(value: Double, text: String)
    { #expect(DisplayText.bytes(value) == text) }

    @Test(
        arguments: [
            (0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567"), (0.1234, "0.123"), (12.34, "12.3"),
            (.infinity, "-"),
        ] as [(Double, String)]) func numbers(value: Double, text: String)
    {
        #expect(DisplayText.number(value) == text)
    }

    @Test(
        arguments: [
            (1, "1 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 days"),
        ] as [(Double, String)]) func durations(value: Double, text: String)
    {
        #expect(DisplayText.duration(value) == text)
    }

    @Test(arguments: [
        ("non-compliant", "non compliant"), ("lostAtCollector", "lost at collector"), ("reporting", "reporting"),
    ]) func words(word: String, text: String) { #expect(DisplayText.words(word) == text) }

    @Test func timesAreShownToTheSecond() {
        #expect(DisplayText.time("2026-01-31T12:00:59.999999Z") == "2026-01-31 12:00:59 UTC")
        #expect(DisplayText.time("yesterday") == "yesterday")
    }

    /// A device may send any text as its name.
    @Test func hiddenCharactersAreShown() {
        #expect(JSONValue.text("a\u{202E}b\u{1B}[31m\u{0}").renderText == #"a\u{202E}b\u{1B}[31m\u{0}"#)
    }

    @Test func aTableQuotesAndComputesNothing() {
        let rows = [["name", "note"], ["a,b", "say \"hi\""], ["=1+1", "-5"], ["@x", "two\nlines"]]
        let text = "name,note\r\n\"a,b\",\"say \"\"hi\"\"\"\r\n'=1+1,-5\r\n'@x,\"two\nlines\"\r\n"
        #expect(String(decoding: CSV.text(rows), as: UTF8.self) == text)
    }
}
