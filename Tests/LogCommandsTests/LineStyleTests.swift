import Testing

@testable import LogCommands

@Suite struct LineStyleTests {
    private let line = Array("2026-11-21T23:51:28.123456Z E 5000042 app.network it failed\thost=a\n".utf8)

    private func shown(_ style: LineStyle, _ line: [UInt8]) -> String {
        line.withUnsafeBytes { String(decoding: style.shown($0), as: UTF8.self) }
    }

    @Test func plainLinesAreShownAsTheyAre() {
        #expect(shown(LineStyle(isColoured: false, isLocalTime: false), line) == String(decoding: line, as: UTF8.self))
    }

    @Test func colourAddsNothingButColour() {
        let coloured = shown(LineStyle(isColoured: true, isLocalTime: false), line)
        #expect(coloured.contains("\u{1B}[31m"))
        #expect(coloured.replacing(/\u{1B}\[\d+m/, with: "") == String(decoding: line, as: UTF8.self))
    }

    @Test func aLineThatIsNotOfTheFormIsShownAsItIs() {
        #expect(shown(LineStyle(isColoured: true, isLocalTime: true), Array("odd\n".utf8)) == "odd\n")
    }

    @Test(arguments: [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (5_000_000, "5.0 MB"), (1_250_000_000, "1.3 GB")])
    func sizesAreDecimal(_ bytes: Int, _ text: String) {
        #expect(ByteText.of(bytes) == text)
    }
}
