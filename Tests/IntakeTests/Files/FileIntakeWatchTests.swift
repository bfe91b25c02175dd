import Foundation
import Glibc
import LogStore
import TestKit
import Testing

@testable import Intake

/// Which files are looked at, and when.
@Suite struct FileIntakeWatchTests {
    private final class Machine {
        let directory: TemporaryDirectory
        let clock = ManualIntakeClock()
        let source: FileIntake
        let committer: IntakeCommitter

        init(_ pattern: String = "*.log", sendsEvents: Bool = true) throws {
            let directory = try TemporaryDirectory()
            for name in ["in", "other"] { try #require(mkdir(directory.file(name), 0o700) == 0) }
            let source = FileIntake(
                FileIntake.Configuration(patterns: [directory.file("in/\(pattern)")]), clock: clock.clock,
                watch: DirectoryWatch(sendsEvents: { _ in sendsEvents }))
            var configuration = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
            configuration.applicationIdentifier = "files"
            committer = IntakeCommitter(configuration, source: source, clock: clock.clock)
            self.directory = directory
            self.source = source
        }

        func write(_ text: String, _ name: String) throws {
            let descriptor = open(directory.file(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
            try #require(descriptor >= 0)
            defer { close(descriptor) }
            try #require(Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count)
        }

        /// A second passes, and everything is read.
        func read() throws {
            clock.advance(milliseconds: 1000)
            var step = committer.step()
            while step == .more { step = committer.step() }
            try #require(step == .idle, "\(committer.status)")
        }

        var messages: [String] { get throws { try StoredLines(directory.file("logs")).messages } }
    }

    @Test func `Files that do not change are looked at once a minute, and one that does alone`() throws {
        let machine = try Machine()
        for number in 0..<1000 { try machine.write("\(number)\n", "in/\(number).log") }
        try machine.read()
        let looks = machine.source.looks
        #expect(machine.source.lag.parts == 1000)
        for _ in 0..<10 { try machine.read() }
        #expect(machine.source.looks == looks)
        try machine.write("new\n", "in/7.log")
        try machine.read()
        #expect(machine.source.looks == looks + 1)
        #expect(try machine.messages.last == "new")
        machine.clock.advance(milliseconds: 60_000)
        try machine.read()
        #expect(machine.source.looks == looks + 1001)
        #expect(machine.source.lag.parts == 1000)
    }

    @Test func `Without events each file is looked at each second, and only what changed is opened`() throws {
        let machine = try Machine(sendsEvents: false)
        for number in 0..<300 { try machine.write("\(number)\n", "in/\(number).log") }
        try machine.read()
        let (looks, opens) = (machine.source.looks, machine.source.opens)
        try machine.read()
        #expect(machine.source.looks == looks + 300)
        #expect(machine.source.opens == opens)
        for number in 0..<300 { try machine.write("new \(number)\n", "in/\(number).log") }
        try machine.read()
        #expect(try Set(machine.messages) == Set((0..<300).flatMap { ["\($0)", "new \($0)"] }))
        #expect(try machine.messages.count == 600)
    }

    @Test func `A directory that comes later is watched where the pattern has it`() throws {
        let machine = try Machine("*/*.log")
        try machine.read()
        try machine.read()
        try #require(mkdir(machine.directory.file("in/new"), 0o700) == 0)
        try machine.read()
        try machine.write("1\n", "in/new/a.log")
        try machine.read()
        try machine.write("2\n", "in/new/a.log")
        try machine.read()
        #expect(try machine.messages == ["1", "2"])
    }

    @Test(arguments: [false, true])
    func `A file that is written by a name elsewhere is read each second`(isSymbolic: Bool) throws {
        let machine = try Machine()
        try machine.write("1\n", "other/a")
        let (target, name) = (machine.directory.file("other/a"), machine.directory.file("in/a.log"))
        try #require((isSymbolic ? symlink(target, name) : link(target, name)) == 0)
        try machine.read()
        try machine.write("2\n", "other/a")
        try machine.read()
        #expect(try machine.messages == ["1", "2"])
    }

    @Test func `A renamed file is watched under its new name`() throws {
        let machine = try Machine()
        try machine.write("1\n", "in/a.log")
        try machine.read()
        try #require(rename(machine.directory.file("in/a.log"), machine.directory.file("in/a.log.1")) == 0)
        try machine.read()
        try machine.read()
        let looks = machine.source.looks
        try machine.read()
        #expect(machine.source.looks == looks)
        try machine.write("2\n", "in/a.log.1")
        try machine.read()
        #expect(try machine.messages == ["1", "2"])
    }

    @Test(arguments: [false, true])
    func `A directory that another one replaces is read within a second`(isSymbolic: Bool) throws {
        let machine = try Machine("d/log/*.log")
        for name in ["one", "one/log", "two", "two/log"] {
            try #require(mkdir(machine.directory.file("in/\(name)"), 0o700) == 0)
        }
        let path = machine.directory.file("in/d")
        if isSymbolic {
            try #require(symlink("one", path) == 0)
        } else {
            try #require(rename(machine.directory.file("in/one"), path) == 0)
        }
        try machine.write("1\n", "in/d/log/a.log")
        try machine.read()
        try machine.read()
        if isSymbolic {
            try #require(unlink(path) == 0)
            try #require(symlink("two", path) == 0)
        } else {
            try #require(rename(path, machine.directory.file("in/old")) == 0)
            try #require(rename(machine.directory.file("in/two"), path) == 0)
        }
        try machine.write("2\n", "in/d/log/a.log")
        try machine.read()
        #expect(try machine.messages == ["1", "2"])
    }
}
