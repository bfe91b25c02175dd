import Glibc
import TestKit
import Testing

@testable import TelemetryBasics

/// Files that people make with editors of other systems.
@Suite struct PlainTextTests {
    private static let text = "token: grüße 🙂\nlast"

    private func units(_ text: String, swapped: Bool) -> [UInt8] {
        ("\u{FEFF}" + text).utf16.flatMap { unit in
            let (low, high) = (UInt8(unit & 0xFF), UInt8(unit >> 8))
            return swapped ? [high, low] : [low, high]
        }
    }

    @Test(arguments: ["\n", "\r\n", "\r"])
    func `Marks and line ends of every editor give the same text`(end: String) {
        let written = "token: grüße 🙂\(end)last"
        let forms = [
            Array(written.utf8), [0xEF, 0xBB, 0xBF] + Array(written.utf8), units(written, swapped: false),
            units(written, swapped: true),
        ]
        for form in forms { #expect(PlainText.normalized(form) == Array(Self.text.utf8)) }
    }

    @Test func `Empty lines and a last line's end stay`() {
        #expect(PlainText.normalized(Array("\r\na\r\n\r\nb\r\n".utf8)) == Array("\na\n\nb\n".utf8))
        #expect(PlainText.normalized([]) == [])
        #expect(PlainText.normalized([0xFF, 0xFE]) == [])
        // Half a unit at the end is no text.
        #expect(PlainText.normalized([0xFF, 0xFE, 0x61]) == [])
    }

    @Test func `A file is read as its text, and a missing one has its reason`() throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/token"
        try Files<FileError>.write(([0xEF, 0xBB, 0xBF, 0x61, 0x0D, 0x0A] as [UInt8]).span.bytes, to: path, sync: .none)
        #expect(try PlainText.read(path) == [0x61, 0x0A])
        let missing = #expect(throws: FileError.self) { try PlainText.read(path + "s") }
        #expect(missing?.systemError == ENOENT)
    }
}
