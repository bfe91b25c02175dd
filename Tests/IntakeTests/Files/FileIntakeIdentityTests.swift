import Glibc
import Testing

@testable import Intake

/// Which file a file is.
@Suite struct FileIntakeIdentityTests {
    /// More than is summed of a file's beginning.
    private static let lines = (0..<200).map { "line \($0)" }
    private static let text = lines.map { "\($0)\n" }.joined()

    @Test func `A file that begins like another one is read whole`() throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write("# format 1\n", "job.log")
        try machine.read()
        try machine.write("# format 1\nwork 1\nwork 2\n", "job.log-2")
        try machine.read()
        #expect(try machine.stored.messages == ["# format 1", "# format 1", "work 1", "work 2"])
        try machine.write("work 3\n", "job.log-2")
        try machine.read()
        #expect(try machine.stored.messages.last == "work 3")
    }

    @Test(arguments: [false, true])
    func `What looks like a copy and grows otherwise is read whole`(isKilled: Bool) throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write("# format 1\n", "job.log")
        try machine.read()
        try machine.write("# format 1\n", "job.log-2")
        try machine.read()
        #expect(try machine.stored.messages == ["# format 1"])
        if isKilled { machine.stop() }
        try machine.write("work 1\n", "job.log-2")
        try machine.write("more\n", "job.log")
        try machine.read()
        #expect(try machine.stored.messages.sorted() == ["# format 1", "# format 1", "more", "work 1"])
    }

    @Test(arguments: ["a.1.log", "a-20261129.log", "a.log.1"], [false, true])
    func `A copy is known by its content, where rotation puts the number`(copy: String, isKilled: Bool) throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write(Self.text, "a.log")
        try machine.read()
        if isKilled { machine.stop() }
        try machine.write("rest\n", "a.log")
        try machine.copy("a.log", copy)
        try machine.truncate("a.log")
        try machine.write("new\n", "a.log")
        try machine.read()
        try machine.read()
        #expect(try machine.stored.messages.sorted() == (Self.lines + ["new", "rest"]).sorted())
        #expect(try machine.stored.reports.isEmpty)
    }

    @Test(arguments: [false, true])
    func `Of several copies one is read on`(isRemoved: Bool) throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write(Self.text, "a.log")
        try machine.read()
        try machine.copy("a.log", "a.log.1")
        try machine.copy("a.log", "a.log.bak")
        try machine.read()
        try machine.write("rest\n", "a.log")
        try machine.copy("a.log", "a.log.2")
        try machine.copy("a.log", "a.log.3")
        if isRemoved { try machine.remove("a.log") } else { try machine.truncate("a.log") }
        try machine.write("new\n", "a.log")
        for _ in 0..<3 {
            try machine.read()
            machine.wait(milliseconds: 61_000)
        }
        // Each is looked at again.
        for name in ["a.log.1", "a.log.2", "a.log.3", "a.log.bak"] {
            try #require(chmod(machine.path(name), 0o640) == 0)
        }
        try machine.read()
        try machine.remove("a.log.2")
        try machine.read()
        machine.wait(milliseconds: 61_000)
        try machine.read()
        #expect(try machine.stored.messages.sorted() == (Self.lines + ["new", "rest"]).sorted())
        #expect(try machine.stored.reports.isEmpty)
    }

    @Test(arguments: [false, true])
    func `A copy that is seen while it is empty is known when it is filled`(isKilled: Bool) throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write(Self.text, "a.log")
        try machine.write("", "a.log.1")
        try machine.read()
        if isKilled { machine.stop() }
        try machine.write(Self.text, "a.log.1")
        try machine.truncate("a.log")
        try machine.write("new\n", "a.log")
        try machine.read()
        try machine.read()
        #expect(try machine.stored.messages == Self.lines + ["new"])
    }

    @Test func `A new file of the same content at the same path goes on`() throws {
        let machine = try FileIntakeMachine()
        try machine.write(Self.text, "a.log")
        try machine.read()
        try machine.replace("a.log", Self.text)
        try machine.read()
        try machine.write("more\n", "a.log")
        try machine.read()
        machine.stop()
        try machine.replace("a.log", Self.text + "more\nand more\n")
        try machine.read()
        #expect(try machine.stored.messages == Self.lines + ["more", "and more"])
        try machine.replace("a.log", "other\n")
        try machine.read()
        #expect(try machine.stored.messages.last == "other")
        #expect(try machine.stored.reports.isEmpty)
    }

    @Test(arguments: [Int64(1_000), 200_000], [false, true])
    func `A file that was moved away and comes back goes on`(milliseconds: Int64, isKilled: Bool) throws {
        let machine = try FileIntakeMachine()
        try machine.makeDirectory("aside")
        try machine.write(Self.text, "a.log")
        try machine.read()
        try machine.rename("a.log", "aside/a.log")
        for _ in 0..<3 {
            try machine.read()
            machine.wait(milliseconds: milliseconds)
        }
        if isKilled { machine.stop() }
        try machine.write("more\n", "aside/a.log")
        try machine.rename("aside/a.log", "a.log")
        try machine.read()
        #expect(try machine.stored.messages == Self.lines + ["more"])
    }

    /// As after a boot that gives the disk another number.
    @Test(arguments: [false, true])
    func `Files of a disk that has another number go on`(isRotated: Bool) throws {
        let machine = try FileIntakeMachine { $0.patterns[0] += "*" }
        try machine.write(Self.text, "a.log")
        try machine.write("b\n", "b.log")
        try machine.copy("a.log", "a.log.copy")
        var positions: [String: [UInt8]] = [:]
        for (key, value) in machine.read(machine.source()).positions {
            let fields = key.split(separator: " ")
            positions[fields.count == 3 ? "file 99\(fields[1]) \(fields[2])" : key] = value
        }
        #expect(positions.count == 4)
        try machine.write("more\n", "a.log")
        if isRotated {
            try machine.rename("a.log", "a.log.1")
            try machine.write("new\n", "a.log")
        }
        let source = machine.source(at: positions)
        var messages: [String] = []
        for _ in 0..<3 {
            machine.wait(milliseconds: 1_000)
            messages += machine.read(source).messages
        }
        #expect(messages.sorted() == (isRotated ? ["more", "new"] : ["more"]))
        #expect(source.lag.parts == (isRotated ? 4 : 3))
    }
}
