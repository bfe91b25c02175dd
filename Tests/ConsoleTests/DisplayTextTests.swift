import CollectorAPI
import Foundation
import JSON
import Testing

@testable import Console

@Suite struct DisplayTextTests {
    @Test(
        arguments: [
            (0, "0 B"), (999, "999 B"), (1000, "1 kB"), (1234, "1.23 kB"), (999_499, "999.5 kB"), (999_500, "1.000 MB"),
            (5_000_000, "5 MB"), (123_456_789, "123.5 MB"), (2_000_000_000_000_000, "2 PB"),
        ] as [(Double, String)]) func `Bytes are written for people`(value: Double, text: String)
    { #expect(DisplayText.bytes(value) == text) }

    @Test(
        arguments: [
            (0, "0"), (999, "999"), (1000, "1,000"), (-1_234_567, "-1,234,567"), (0.1234, "0.123"), (12.34, "12.3"),
            (.infinity, "-"),
        ] as [(Double, String)]) func `Numbers are written for people`(value: Double, text: String)
    {
        #expect(DisplayText.number(value) == text)
    }

    @Test(
        arguments: [
            (1, "1 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 days"),
        ] as [(Double, String)]) func `Durations are written for people`(value: Double, text: String)
    {
        #expect(DisplayText.duration(value) == text)
    }

    @Test(
        arguments: [
            ("plain <b>", ["plain <b>"]), ("", []),
            ("`GET /api/v1/devices` shows `verdicts`.", ["[GET /api/v1/devices]", " shows ", "[verdicts]", "."]),
            ("one ` alone", ["one ", "` alone"]), ("``x", ["[]", "x"]),
            ("since 2026-11-28T02:07:00.000000Z, or later", ["since 2026-11-28 02:07:00 UTC, or later"]),
            ("31214 bytes of text", ["31.2 kB of text"]), ("take 750 of 1000 bytes", ["take 750 of 1 kB"]),
            ("take 30000000 of 40000000 bytes.", ["take 30 MB of 40 MB."]),
            ("`as 2026-11-28T02:07:00Z`", ["[as 2026-11-28T02:07:00Z]"]), ("at most 512 bytes", ["at most 512 bytes"]),
        ] as [(String, [String])]) func `Texts of the API are for people`(text: String, parts: [String])
    {
        let shown = DisplayText.prose(text).map { part in part["text"].text ?? "[\(part["code"].text ?? "")]" }
        #expect(shown == parts)
    }

    @Test func `One is not a plural`() {
        #expect(DisplayText.devices(1) == "1 device" && DisplayText.devices(0) == "0 devices")
        #expect(JSONValue(1).transform("files") as? String == "1 file")
        #expect(JSONValue(2).transform("files") as? String == "2 files")
        #expect(DisplayText.counted(1, "day") == "1 day" && DisplayText.counted(2, "day") == "2 days")
        #expect(DisplayText.counted(1234, "record") == "1,234 records" && DisplayText.testDevices(0) == nil)
    }

    /// A device may send any number.
    @Test(
        arguments: [
            (.integer(-1), "-1"), (.unsigned(1 << 53), "9,007,199,254,740,992"),
            (.unsigned(1 << 63), "9,223,372,036,854,775,808"), (.integer(.min), "-9,223,372,036,854,775,808"),
            (.unsigned(.max), "1.84e+19"), (.real(-1e300), "-1.00e+300"), (.real(.leastNonzeroMagnitude), "0"),
            (.real(.nan), "-"), (.real(-.infinity), "-"),
        ] as [(JSONValue, String)]) func `Any number is counted`(value: JSONValue, text: String)
    {
        #expect(value.transform("count") as? String == text)
        for name in ["bytes", "number", "percent", "seconds", "raw", "segment", "json"] {
            #expect((value.transform(name) as? String)?.isEmpty == false, "\(name)")
        }
        #expect(!value.renderText.isEmpty)
    }

    @Test(arguments: [
        ("non-compliant", "non compliant"), ("lostAtCollector", "lost at collector"), ("reporting", "reporting"),
    ]) func `Words are written for people`(word: String, text: String) { #expect(DisplayText.words(word) == text) }

    @Test func `Times are shown to the second`() {
        #expect(DisplayText.time("2026-01-31T12:00:59.999999Z") == "2026-01-31 12:00:59 UTC")
        #expect(DisplayText.time("yesterday") == "yesterday")
    }

    /// A device may send any text as its name.
    @Test func `Hidden characters are shown`() {
        #expect(JSONValue.text("a\u{202E}b\u{1B}[31m\u{0}").renderText == #"a\u{202E}b\u{1B}[31m\u{0}"#)
    }

    @Test func `A table quotes and computes nothing`() {
        let rows = [["name", "note"], ["a,b", "say \"hi\""], ["=1+1", "-5"], ["@x", "two\nlines"]]
        let text = "name,note\r\n\"a,b\",\"say \"\"hi\"\"\"\r\n'=1+1,-5\r\n'@x,\"two\nlines\"\r\n"
        #expect(String(decoding: CSV.text(rows), as: UTF8.self) == text)
    }

    /// Spreadsheets of many countries split at semicolons, and then ignore quotes inside a cell.
    @Test(arguments: [
        ("a;=1+1", "\"a;'=1+1\""), ("a; =1+1", "\"a; '=1+1\""), ("a\t@x", "\"a\t'@x\""), ("a\r+x", "\"a\r'+x\""),
        ("a\n-x", "\"a\n'-x\""), ("a;\"=x", "\"a;\"\"'=x\""), (" =1+1", " '=1+1"), ("\u{FF1D}1", "'\u{FF1D}1"),
        ("\t=1", "\"'\t'=1\""), ("a=b", "a=b"), ("1;-5;2", "\"1;-5;2\""),
    ])
    func `A table computes nothing, also where cells end at semicolons`(field: String, text: String) {
        #expect(String(decoding: CSV.text([[field]]), as: UTF8.self) == text + "\r\n")
    }
}
