import Foundation
import Glibc
import Gzip
import LogStore
import TestKit
import Testing
import WireModel

@testable import Intake

@Suite struct FileIntakeTests {
    /// Files, and the intake that reads them.
    private final class Machine {
        private let directory: TemporaryDirectory
        private let clock = ManualIntakeClock()
        private let settings: FileIntake.Configuration
        private var committer: IntakeCommitter?
        /// Called once, when a piece was read and compared, before its lines are taken.
        var onPiece: (() throws -> Void)?

        init(_ change: (inout FileIntake.Configuration) -> Void = { _ in }) throws {
            directory = try TemporaryDirectory()
            var settings = FileIntake.Configuration(patterns: [directory.file("*.log")])
            change(&settings)
            self.settings = settings
        }

        func path(_ name: String) -> String { directory.file(name) }

        func write(_ text: String, _ name: String) throws { try write(Array(text.utf8), name) }

        func write(_ bytes: [UInt8], _ name: String) throws {
            let descriptor = open(path(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
        }

        func rename(_ name: String, _ new: String) throws { try #require(Glibc.rename(path(name), path(new)) == 0) }
        func remove(_ name: String) throws { try #require(unlink(path(name)) == 0) }
        func truncate(_ name: String) throws { try #require(Glibc.truncate(path(name), 0) == 0) }
        func copy(_ name: String, _ new: String) throws {
            try FileManager.default.copyItem(atPath: path(name), toPath: path(new))
        }

        /// As rotation does: the new file is whole before the old one goes.
        func compress(_ name: String, leavingOut bytes: Int = 0) throws {
            let content = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
            try write([UInt8](GzipCodec.compress(content).dropLast(bytes)), "\(name).gz")
            try remove(name)
        }

        func step() throws -> IntakeCommitter.Step { try #require(committer).step() }

        /// Reads until nothing is left.
        func read() throws {
            if committer == nil {
                var configuration = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
                configuration.applicationIdentifier = "files"
                let source = FileIntake(settings, clock: clock.clock)
                source.onPiece = { [unowned self] in
                    guard let call = onPiece else { return }
                    onPiece = nil
                    #expect(throws: Never.self) { try call() }
                }
                committer = IntakeCommitter(configuration, source: source, clock: clock.clock)
            }
            for _ in 0..<2 {
                clock.advance(milliseconds: 1000)
                while true {
                    let step = committer!.step()
                    if step == .more { continue }
                    try #require(step == .idle, "\(committer!.status)")
                    break
                }
            }
        }

        func wait(milliseconds: Int64) { clock.advance(milliseconds: milliseconds) }

        /// As after a kill: nothing is closed.
        func stop() { committer = nil }

        var lag: Int? { committer?.status.lag.bytes }
        var stored: StoredLines { get throws { try StoredLines(directory.file("logs")) } }
    }

    @Test func `Lines of several files are stored once, over starts`() throws {
        let machine = try Machine()
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
        let machine = try Machine()
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
        let machine = try Machine()
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
        let machine = try Machine { $0.patterns[0] += "*" }
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
        let machine = try Machine()
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
        let machine = try Machine()
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
        let machine = try Machine()
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
        let machine = try Machine()
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
        let machine = try Machine()
        try machine.write("\n", "a.log")
        try machine.write("x\n", "b.log")
        try machine.read()
        #expect(try machine.stored.messages == ["", "x"])
    }

    @Test(arguments: [false, true])
    func `An event of many lines goes on over a start and a rotation`(isKilled: Bool) throws {
        let machine = try Machine { $0.isEventStart = { $0.first != UInt8(ascii: " ") } }
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
        let machine = try Machine { $0.maximumEventBytes = 1000 }
        try machine.write(String(repeating: "x", count: 700_000) + "\nnext\r\n", "a.log")
        try machine.read()
        #expect(
            try machine.stored.messages == [String(repeating: "x", count: 1000) + "…[+699000]", "next"])
    }

    @Test func `Bytes that are no text are replaced`() throws {
        let machine = try Machine()
        try machine.write([0x61, 0xFF, 0x62, 0x0A], "a.log")
        try machine.read()
        #expect(try machine.stored.messages == ["a\u{FFFD}b"])
    }

    @Test func `A start with now leaves what is there, and takes a line that is being written whole`() throws {
        let machine = try Machine { $0.start = .now }
        try machine.write("old\nbeing ", "a.log")
        try machine.read()
        try machine.write("written\nnew\n", "a.log")
        try machine.write("b is new\n", "b.log")
        try machine.read()
        #expect(try machine.stored.messages.sorted() == ["b is new", "being written", "new"])
    }

    @Test func `A removed file is read to its end, and then forgotten`() throws {
        let machine = try Machine()
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
        let machine = try Machine()
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
        let machine = try Machine { $0.patterns[0] += "*" }
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
