import Foundation
import TestKit
import Testing

@testable import Intake

@Suite struct FileIntakeTests {
    @Test func `Lines of several files are stored once, over starts`() throws {
        let machine = try FileIntakeMachine()
        try machine.write("a1\na2\n", "a.log")
        try machine.write("b1\nhalf", "b.log")
        try machine.read()
        #expect(machine.lag == 4)
        machine.stop()
        try machine.write(" of it\nb3\n", "b.log")
        try machine.read()
        #expect(try machine.stored.messages == ["a1", "a2", "b1", "half of it", "b3"])
        #expect(machine.lag == 0)
    }

    @Test(arguments: [false, true])
    func `A renamed file is read to its end, also what its writer adds later`(isKilled: Bool) throws {
        let machine = try FileIntakeMachine()
        try machine.write("1\n", "a.log")
        try machine.read()
        if isKilled { machine.stop() }
        try machine.write("2\n", "a.log")
        try machine.rename("a.log", "a.log.1")
        try machine.write("4\n", "a.log")
        try machine.write("3\n", "a.log.1")
        try machine.read()
        if isKilled { machine.stop() }
        try machine.write("5\n", "a.log.1")
        try machine.read()
        #expect(try machine.stored.messages.sorted() == ["1", "2", "3", "4", "5"])
    }

    @Test(arguments: [false, true], [false, true])
    func `Of a file that was copied and truncated the rest is read in the copy`(isLonger: Bool, isKilled: Bool) throws {
        let machine = try FileIntakeMachine()
        try machine.write("old 1\nold 2\n", "a.log")
        try machine.read()
        if isKilled { machine.stop() }
        try machine.write("old 3\n", "a.log")
        try machine.copy("a.log", "a.log.1")
        try machine.truncate("a.log")
        let new = (0..<(isLonger ? 50 : 1)).map { "new \($0)" }
        try machine.write(new.map { "\($0)\n" }.joined(), "a.log")
        try machine.read()
        try machine.read()
        #expect(try machine.stored.messages.sorted() == (["old 1", "old 2", "old 3"] + new).sorted())
        #expect(try machine.stored.reports.isEmpty)
    }

    @Test func `A copy that the pattern matches is not read twice`() throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write("1\n2\n", "a.log")
        try machine.read()
        try machine.copy("a.log", "a.log.1")
        try machine.read()
        try machine.write("3\n", "a.log")
        try machine.read()
        try machine.truncate("a.log")
        try machine.write("new 4\n", "a.log")
        try machine.read()
        try machine.read()
        #expect(try machine.stored.messages == ["1", "2", "3", "new 4"])
    }

    @Test func `What was truncated away unread is counted`() throws {
        let machine = try FileIntakeMachine()
        try machine.write("1\nhalf", "a.log")
        try machine.read()
        try machine.truncate("a.log")
        try machine.write("x\n", "a.log")
        try machine.read()
        #expect(try machine.stored.messages == ["1", "x"])
        let reports = try machine.stored.reports
        #expect(reports.count == 1 && reports[0].contains("bytes=4"))
    }

    @Test(arguments: [0, 1, 40, 2000])
    func `A file that is truncated and filled again while it is read begins anew`(linesBefore: Int) throws {
        let machine = try FileIntakeMachine()
        let before = (0..<linesBefore).map { "old \($0)" }
        try machine.write(before.map { "\($0)\n" }.joined(), "a.log")
        if linesBefore > 0 { try machine.read() }
        try machine.write("old last\n", "a.log")
        // Longer than the offset to which the old content was read.
        let new = (0..<3000).map { "new \($0)" }
        machine.onPiece = {
            try machine.truncate("a.log")
            try machine.write(new.map { "\($0)\n" }.joined(), "a.log")
        }
        try machine.read()
        try machine.read()
        let wasCalled = machine.onPiece == nil
        #expect(wasCalled)
        #expect(try machine.stored.messages == before + ["old last"] + new)
        #expect(try machine.stored.reports.isEmpty)
    }

    @Test func `An inode that another file has now is another file`() throws {
        let machine = try FileIntakeMachine()
        try machine.write("old 1\n", "a.log")
        try machine.read()
        machine.stop()
        // The same inode with other content is what a removed file and a new one can look like.
        try machine.rename("a.log", "b.log")
        try machine.truncate("b.log")
        try machine.write("other 1\nother 2\n", "b.log")
        try machine.read()
        #expect(try machine.stored.messages == ["old 1", "other 1", "other 2"])
    }

    @Test func `A hundred files with the same header are a hundred files`() throws {
        let machine = try FileIntakeMachine()
        let header = String(repeating: "#", count: 2000)
        for number in 0..<100 { try machine.write("\(header)\n", "\(number).log") }
        try machine.read()
        machine.stop()
        for number in 0..<100 { try machine.write("line \(number)\n", "\(number).log") }
        try machine.read()
        let messages = try machine.stored.messages
        #expect(messages.count { $0 == header } == 100)
        #expect(Set(messages.filter { $0 != header }) == Set((0..<100).map { "line \($0)" }))
        #expect(messages.count == 200)
    }

    @Test func `A small file is read at once`() throws {
        let machine = try FileIntakeMachine()
        try machine.write("\n", "a.log")
        try machine.write("x\n", "b.log")
        try machine.read()
        #expect(try machine.stored.messages == ["", "x"])
    }

    @Test(arguments: [false, true])
    func `An event of many lines goes on over a start and a rotation`(isKilled: Bool) throws {
        let machine = try FileIntakeMachine { $0.isEventStart = { $0.first != UInt8(ascii: " ") } }
        try machine.write("one\n a\n", "a.log")
        try machine.read()
        #expect(try machine.stored.messages.isEmpty)
        if isKilled { machine.stop() }
        try machine.write(" b\n", "a.log")
        try machine.copy("a.log", "a.log.1")
        try machine.truncate("a.log")
        try machine.write("two, which is new\n", "a.log")
        try machine.read()
        machine.wait(milliseconds: 6_000)
        try machine.read()
        #expect(try Set(machine.stored.messages) == ["one\\n a\\n b", "two, which is new"])
    }

    @Test func `A line over the limit is cut and marked, and the next one is whole`() throws {
        let machine = try FileIntakeMachine { $0.maximumEventBytes = 1000 }
        try machine.write(String(repeating: "x", count: 700_000) + "\nnext\r\n", "a.log")
        try machine.read()
        #expect(
            try machine.stored.messages == [String(repeating: "x", count: 1000) + "…[+699000]", "next"])
    }

    @Test func `Bytes that are no text are replaced`() throws {
        let machine = try FileIntakeMachine()
        try machine.write([0x61, 0xFF, 0x62, 0x0A], "a.log")
        try machine.read()
        #expect(try machine.stored.messages == ["a\u{FFFD}b"])
    }

    @Test func `A start with now leaves what is there, and takes a line that is being written whole`() throws {
        let machine = try FileIntakeMachine { $0.start = .now }
        try machine.write("old\nbeing ", "a.log")
        try machine.read()
        try machine.write("written\nnew\n", "a.log")
        try machine.write("b is new\n", "b.log")
        try machine.read()
        #expect(try machine.stored.messages.sorted() == ["b is new", "being written", "new"])
    }

    @Test func `A removed file is read to its end, and then forgotten`() throws {
        let machine = try FileIntakeMachine()
        try machine.write("1\n", "a.log")
        try machine.read()
        try machine.write("2\nlast", "a.log")
        try machine.remove("a.log")
        try machine.read()
        #expect(try machine.stored.messages == ["1", "2"])
        machine.wait(milliseconds: 61_000)
        try machine.read()
        #expect(try machine.stored.messages == ["1", "2", "last"])
        #expect(machine.lag == 0)
    }

    @Test(arguments: [1, 40_000])
    func `A file that was compressed before its end was read is read on in the compressed one`(lines: Int) throws {
        let machine = try FileIntakeMachine()
        try machine.write("old\n", "a.log")
        try machine.read()
        machine.stop()
        let rest = (0..<lines).map { "rest \($0)" }
        try machine.write(rest.map { "\($0)\n" }.joined() + "last", "a.log")
        try machine.rename("a.log", "a.log.1")
        try machine.write("new\n", "a.log")
        try machine.compress("a.log.1")
        // A file may be missed while it is renamed, so it is looked for twice.
        try machine.read()
        let step = try machine.step()
        #expect((step == .more) == (lines > 1))
        machine.stop()
        try machine.read()
        #expect(try machine.stored.messages.sorted() == (["old", "last", "new"] + rest).sorted())
        #expect(try machine.stored.reports.isEmpty)
    }

    @Test func `A damaged compressed file is named and left, and what is not of the file is not read`() throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write("old\n", "a.log")
        try machine.read()
        machine.stop()
        try machine.write("other\nother\n", "a.log.0")
        try machine.compress("a.log.0")
        try machine.write("rest\n", "a.log")
        try machine.rename("a.log", "a.log.1")
        // Without its sum and length.
        try machine.compress("a.log.1", leavingOut: 8)
        try machine.read()
        try machine.read()
        #expect(try machine.stored.messages == ["old", "rest"])
        let reports = try machine.stored.reports
        #expect(reports.count == 1 && reports[0].contains("a.log.1.gz"), "\(reports)")
        #expect(FileManager.default.fileExists(atPath: machine.path("a.log.1.gz")))
        machine.stop()
        try machine.read()
        #expect(try machine.stored.messages == ["old", "rest"])
    }
}
