import TelemetryBasics
import Testing
import WireModel

@testable import LogCommands

@Suite struct LineStyleTests {
    private let line = Array("2026-11-21T23:51:28.123456Z E 5000042 app.network it failed\thost=a\n".utf8)

    private func shown(_ style: LineStyle, _ line: [UInt8]) -> String {
        line.withUnsafeBytes { String(decoding: style.shown($0), as: UTF8.self) }
    }

    @Test func `Plain lines are shown as they are`() {
        #expect(shown(LineStyle(isColoured: false, isLocalTime: false), line) == String(decoding: line, as: UTF8.self))
    }

    @Test func `Colour adds nothing but colour`() {
        let coloured = shown(LineStyle(isColoured: true, isLocalTime: false), line)
        #expect(coloured.contains("\u{1B}[31m"))
        #expect(coloured.replacing(/\u{1B}\[\d+m/, with: "") == String(decoding: line, as: UTF8.self))
    }

    @Test func `A line that is not of the form is shown as it is`() {
        #expect(shown(LineStyle(isColoured: true, isLocalTime: true), Array("odd\n".utf8)) == "odd\n")
    }

    /// What a device logged, and how a terminal gets it; a pipe gets the bytes.
    @Test(arguments: [
        ("E 5000042 app \u{1B}]0;x\u{7}\thost=\u{1B}[2J", #"E 5000042 app \u{1B}]0;x\u{7}\#thost=\u{1B}[2J"#),
        ("E 5000042 app a\rb\u{7F}\u{9B}c\u{8}", #"E 5000042 app a\u{D}b\u{7F}\u{9B}c\u{8}"#),
        ("E 5000042 app grüße 😀\ta=b", "E 5000042 app grüße 😀\ta=b"),
    ])
    func `Nothing of a line steers a terminal`(_ logged: String, _ shownThere: String) {
        let line = Array("2026-11-21T23:51:28.123456Z \(logged)\n".utf8)
        let plain = LineStyle(isColoured: false, isLocalTime: false, isForTerminal: true)
        #expect(shown(plain, line) == "2026-11-21T23:51:28.123456Z \(shownThere)\n")
        let coloured = shown(LineStyle(isColoured: true, isLocalTime: true, isForTerminal: true), line)
        #expect(
            !coloured.replacing(/\u{1B}\[\d+m/, with: "").dropLast().contains {
                $0 != "\t" && $0.unicodeScalars.contains { $0.isControl }
            })
        #expect(shown(LineStyle(isColoured: false, isLocalTime: false), line) == String(decoding: line, as: UTF8.self))
        #expect(
            !shown(LineStyle(isColoured: false, isLocalTime: false, isJSON: true), line).dropLast().hasControlCharacters
        )
    }

    @Test(arguments: [
        (
            #"app it failed\#thost=a reason=no\u{20}route\u{20}to\u{20}host"#,
            #"app it failed\#thost=a reason="no route to host""#
        ),
        (#"app m\#tquery=a\u{3D}b the\u{20}key=say\u{20}"x""#, #"app m\#tquery="a=b" "the key"="say \"x\"""#),
        // Other escapes stay, and a backslash that was logged makes none.
        (#"app m\#tpath=C:\\u{20}d text=a\nb\u{1B}"#, #"app m\#tpath=C:\\u{20}d text=a\nb\u{1B}"#),
        (#"app in\u{20}a message\#ta="#, #"app in\u{20}a message\#ta="#), ("app no metadata", "app no metadata"),
    ])
    func metadataIsReadableOnATerminal(_ logged: String, _ shownThere: String) {
        let line = Array("2026-11-21T23:51:28.123456Z E 5000042 \(logged)\n".utf8)
        let style = LineStyle(isColoured: false, isLocalTime: false, isForTerminal: true)
        #expect(shown(style, line) == "2026-11-21T23:51:28.123456Z E 5000042 \(shownThere)\n")
        let coloured = shown(LineStyle(isColoured: true, isLocalTime: false, isForTerminal: true), line)
        #expect(coloured.replacing(/\u{1B}\[\d+m/, with: "") == "2026-11-21T23:51:28.123456Z E 5000042 \(shownThere)\n")
        // A pipe gets what is on disk.
        #expect(
            shown(LineStyle(isColoured: true, isLocalTime: false), line).contains(logged.split(separator: "\t").last!))
    }

    @Test func `A time on a terminal is local with its offset`() {
        let time: Int64 = 1_795_305_088_123_456
        let local = LineStyle.localTime(time)
        #expect(local.wholeMatch(of: /2026-11-2\dT\d\d:\d\d:\d\d\.123[+-]\d\d:\d\d/) != nil, "\(local)")
        #expect(Timestamp.parse(local) == 1_795_305_088_123_000)
        #expect(Timestamp.parse(LineStyle.localTime(time, digits: 0)) == 1_795_305_088_000_000)
        for (seconds, offset) in [(0, "+00:00"), (19_800, "+05:30"), (-12_600, "-03:30"), (50_400, "+14:00")] {
            #expect(LineStyle.offset(seconds: seconds) == offset)
        }
    }

    @Test func `Bytes that are not UTF-8 are no control characters on a terminal`() {
        let style = LineStyle(isColoured: false, isLocalTime: false, isForTerminal: true)
        #expect(shown(style, [0x61, 0x9B, 0x62, 0x0A]) == "a\u{FFFD}b\n")
    }
}
