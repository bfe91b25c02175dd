import Glibc
import Synchronization
import TestKit
import Testing

@testable import Intake

/// Which files are found.
@Suite struct FileIntakeSearchTests {
    @Test(arguments: [false, true])
    func `Old lines of a file that could not be read at the first start stay out`(isKilled: Bool) throws {
        let machine = try FileIntakeMachine { $0.start = .now }
        try machine.write("old\n", "a.log")
        machine.unreadable = [machine.path("a.log")]
        try machine.read()
        #expect(machine.problems.count == 1 && machine.problems[0].contains("a.log"), "\(machine.problems)")
        if isKilled { machine.stop() }
        try machine.write("new\n", "a.log")
        machine.unreadable = []
        try machine.read()
        #expect(try machine.stored.messages == ["new"])
        #expect(machine.problems.isEmpty)
    }

    /// Runs as another user for the file system. That holds for this thread alone.
    private func withUser(_ user: UInt32, _ body: () -> Void) throws {
        let address = try #require(dlsym(nil, "setfsuid"))
        let setUser = unsafeBitCast(address, to: (@convention(c) (UInt32) -> Int32).self)
        _ = setUser(user)
        defer { _ = setUser(geteuid()) }
        body()
    }

    @Test(.enabled(if: geteuid() == 0)) func `A directory without rights is a problem with its name`() throws {
        let machine = try FileIntakeMachine { $0.patterns[0] = $0.patterns[0].replacing("*.log", with: "closed/*.log") }
        try machine.makeDirectory("closed")
        try machine.write("1\n", "closed/a.log")
        let source = machine.source()
        try withUser(65_534) { #expect(machine.read(source).messages.isEmpty) }
        #expect(source.lag.problems.count == 1, "\(source.lag.problems)")
        #expect(source.lag.problems.first?.contains(machine.path("closed")) == true, "\(source.lag.problems)")
    }

    @Test func `A name that is no UTF-8 is a problem, and others are read`() throws {
        let machine = try FileIntakeMachine()
        let name =
            Array(machine.path("f").utf8CString.dropLast()) + [CChar(bitPattern: 0xE9)] + Array(".log".utf8CString)
        let descriptor = open(name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        close(descriptor)
        try machine.write("fine\n", "ok.log")
        try machine.read()
        #expect(try machine.stored.messages == ["fine"])
        #expect(machine.problems.count == 1 && machine.problems[0].contains("f\u{FFFD}.log"), "\(machine.problems)")
    }

    @Test func `Files of the log store are not read, by whatever path they are named`() throws {
        let machine = try FileIntakeMachine {
            let directory = $0.patterns[0].replacing("/*.log", with: "")
            $0.storeDirectory = directory + "/own"
            $0.patterns = [directory + "/o*/*.log", directory + "//own/../own/./a.log", directory + "/link.log"]
        }
        for name in ["own", "other"] {
            try machine.makeDirectory(name)
            try machine.write("\(name)\n", "\(name)/a.log")
        }
        try #require(symlink(machine.path("own/a.log"), machine.path("link.log")) == 0)
        try machine.read()
        #expect(try machine.stored.messages == ["other"])
        #expect(machine.problems.count == 1 && machine.problems[0].contains("the agent's own"), "\(machine.problems)")
    }

    @Test func `A file with two names that match keeps the first one`() throws {
        let machine = try FileIntakeMachine()
        try machine.write("1\n", "b.log")
        try machine.read()
        try #require(link(machine.path("b.log"), machine.path("a.log")) == 0)
        let source = machine.source()
        // That it was started, and one position.
        #expect(machine.read(source).positions.count == 2)
        for _ in 0..<5 {
            machine.wait(milliseconds: 1_000)
            #expect(machine.read(source).positions.isEmpty)
        }
    }

    @Test func `A thousand files that go cost a listing and not one each`() throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        for number in 0..<1000 { try machine.write("header\nline \(number)\n", "\(number).log") }
        let source = machine.source()
        #expect(machine.read(source).messages.count == 2000)
        let opens = source.opens
        for number in 0..<500 { try machine.remove("\(number).log") }
        for _ in 0..<4 {
            machine.wait(milliseconds: 61_000)
            #expect(machine.read(source).messages.isEmpty)
        }
        #expect(source.lag.parts == 500)
        #expect(source.opens < opens + 1000)
        for number in 0..<500 { try machine.write("header\nnew \(number)\n", "\(number).log") }
        machine.wait(milliseconds: 1_000)
        #expect(machine.read(source).messages.count == 1000)
    }

    @Test func `An interrupted source returns between files, and goes on later`() throws {
        let machine = try FileIntakeMachine()
        for number in 0..<20 { try machine.write("\(number)\n", "\(number).log") }
        let questions = Mutex(0)
        let source = machine.source {
            questions.withLock {
                $0 += 1
                return $0 > 10
            }
        }
        var batch = FileIntakeMachine.batch()
        // In the search.
        #expect(source.read(into: &batch))
        #expect(batch.lines.isEmpty)
        // The search asks twice of each file.
        questions.withLock { $0 = -40 }
        #expect(source.read(into: &batch))
        #expect(batch.lines.count == 10)
        questions.withLock { $0 = -1000 }
        while source.read(into: &batch) {}
        #expect(batch.lines.count == 20)
    }
}
