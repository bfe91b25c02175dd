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
}
