import Foundation
import Testing

@testable import CommandKit

@Suite struct PeopleTextTests {
    @Test(arguments: [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (5_000_000, "5.0 MB"), (1_250_000_000, "1.3 GB")])
    func `Sizes are decimal`(bytes: Int, text: String) {
        #expect(ByteText.of(bytes) == text)
    }

    @Test(arguments: [(-1, "0 s"), (119, "119 s"), (120, "2 min"), (7200, "2 h"), (172_800, "2 d")])
    func `A length of time is in whole units`(seconds: Double, text: String) {
        #expect(DurationText.of(seconds: seconds) == text)
    }

    @Test func `A cell of a table is on one row`() {
        var table = TextTable(["chunk", "lines"])
        table.add(["1\n2  good\u{1B}[2J", "3"])
        #expect(table.text.split(separator: "\n").count == 2 && !table.text.contains("\u{1B}"))
    }

    @Test(arguments: [
        ("", 0), ("abc", 3), ("端末の管理者", 12), ("caisse 👨‍👩‍👧", 9), ("e\u{301}a", 2), ("ｱ", 1), ("Ａ", 2),
        ("한국", 4), ("👍🏽", 2), ("🇨🇭", 2), ("Ж№", 2), ("\u{200B}a", 1), ("𠀀", 2),
    ]) func `Text takes as many columns as a terminal gives it`(text: String, columns: Int) {
        #expect(text.columns == columns)
    }

    @Test func `Columns behind wide characters are in line`() throws {
        var table = TextTable(["name", "role"])
        for name in ["plain", "端末の管理者", "caisse 👨‍👩‍👧"] { table.add([name, "viewer"]) }
        let starts = try table.text.split(separator: "\n").dropFirst().map { row in
            row[..<(try #require(row.range(of: "viewer")).lowerBound)].columns
        }
        #expect(starts == [14, 14, 14])
    }

    @Test(
        arguments: [
            (true, "xterm-256color", true), (true, "dumb", false), (true, "", false), (true, nil, false),
            (false, "xterm", false),
        ] as [(Bool, String?, Bool)])
    func `Only a terminal that obeys escape sequences gets them`(isTerminal: Bool, type: String?, obeys: Bool) {
        #expect(Terminal.obeysEscapes(isTerminal: isTerminal, type: type) == obeys)
    }
}
