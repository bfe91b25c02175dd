import Foundation
import Glibc
import Testing

@testable import Intake

/// What becomes of files whose content goes.
@Suite struct FileIntakeRotationTests {
    @Test(arguments: ["a-20261129.log", "20261129-a"])
    func `A file that was renamed and compressed while nobody read is found by its content`(name: String) throws {
        let machine = try FileIntakeMachine()
        try machine.write("old\n", "a.log")
        try machine.read()
        machine.stop()
        try machine.write("rest\n", "a.log")
        try machine.rename("a.log", name)
        try machine.compress(name)
        try machine.write("new\n", "a.log")
        for _ in 0..<2 { try machine.read() }
        #expect(try machine.stored.messages.sorted() == ["new", "old", "rest"])
        #expect(try machine.stored.reports.isEmpty)
    }

    @Test(arguments: [false, true])
    func `A file that went while nobody read is told`(isTruncated: Bool) throws {
        let machine = try FileIntakeMachine()
        try machine.makeDirectory("old")
        try machine.write("old\n", "a.log")
        try machine.read()
        machine.stop()
        try machine.write("rest\n", "a.log")
        if isTruncated { try machine.truncate("a.log") } else { try machine.rename("a.log", "old/a.log.1") }
        try machine.write("new\n", "a.log")
        for _ in 0..<2 { try machine.read() }
        #expect(try machine.stored.messages == ["old", "new"])
        let reports = try machine.stored.reports
        #expect(reports.count == 1 && reports[0].contains("a.log") && reports[0].contains("from=4"), "\(reports)")
    }

    @Test func `The last line of a rotated file without its end is read when the file is quiet`() throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write("1\nlast", "a.log")
        try machine.read()
        machine.wait(milliseconds: 100_000)
        try machine.read()
        #expect(try machine.stored.messages == ["1"])
        try machine.rename("a.log", "a.log.1")
        try machine.write("2\n", "a.log")
        try machine.read()
        machine.wait(milliseconds: 61_000)
        try machine.read()
        machine.wait(milliseconds: 61_000)
        try machine.read()
        #expect(try machine.stored.messages.sorted() == ["1", "2", "last"])
        #expect(machine.lag == 0)
    }

    @Test(arguments: [(" b\ntwo\n", ["one\\n a\\n b", "two"]), ("two\n", ["one\\n a", "two"])])
    func `An event that is open when its file is renamed goes on in the new file, or ends before it`(
        new: String, expected: [String]
    ) throws {
        let machine = try FileIntakeMachine {
            $0.patterns[0] += "*"
            $0.isEventStart = { $0.first != UInt8(ascii: " ") }
        }
        try machine.write("one\n", "a.log")
        try machine.read()
        try machine.write(" a\n", "a.log")
        try machine.rename("a.log", "a.log.1")
        try machine.write(new, "a.log")
        try machine.read()
        machine.wait(milliseconds: 6_000)
        try machine.read()
        #expect(try machine.stored.messages == expected)
    }

    @Test func `An event does not end before the line that is being written`() throws {
        let machine = try FileIntakeMachine { $0.isEventStart = { $0.first != UInt8(ascii: " ") } }
        try machine.write("one\n  half", "a.log")
        try machine.read()
        machine.wait(milliseconds: 6_000)
        try machine.read()
        #expect(try machine.stored.messages.isEmpty)
        try machine.write(" of it\ntwo\n", "a.log")
        try machine.read()
        #expect(try machine.stored.messages == ["one\\n  half of it"])
    }

    @Test func `Lines of which none begins an event are kept`() throws {
        let machine = try FileIntakeMachine {
            $0.isEventStart = { _ in false }
            $0.maximumEventBytes = 100
        }
        for number in 10..<40 { try machine.write("line \(number)\n", "a.log") }
        try machine.read()
        let stored = try machine.stored.messages
        #expect(stored.count == 2)
        #expect(stored[0] == (10..<22).map { "line \($0)" }.joined(separator: "\\n"))
    }

    @Test func `The text of open lines is bounded over all files`() throws {
        let machine = try FileIntakeMachine()
        for number in 0..<300 { try machine.write(String(repeating: "x", count: 33_000), "\(number).log") }
        let source = machine.source()
        let (_, positions) = machine.read(source)
        #expect(positions.values.reduce(0) { $0 + ($1?.count ?? 0) } < 3 * FileIntake.maximumOpenBytes / 2)
        for number in 0..<300 { try machine.write("\n", "\(number).log") }
        machine.wait(milliseconds: 1_000)
        let lines = machine.read(source).messages
        #expect(lines.count == 300)
        // Each says how many bytes it has no more.
        for line in lines {
            let kept = line.prefix { $0 == "x" }.count
            #expect(line.hasSuffix("…[+\(33_000 - kept)]"))
        }
    }
}
