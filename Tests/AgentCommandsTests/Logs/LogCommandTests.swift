import ArgumentParser
import CommandKit
import LogStore
import Testing
import WireModel

@testable import AgentCommands

@Suite struct LogCommandTests {
    private func template(_ arguments: String...) throws -> LogEntry {
        try #require(try AgentCommand.parseAsRoot(["log"] + arguments) as? LogCommand).template()
    }

    @Test(arguments: [
        ("error", LogLevel.error), ("WARNING", .warning), ("information", .information), ("info", .information),
        ("verbose", .verbose),
        ("debug", .verbose),
    ])
    func `Levels are those of everything else`(name: String, level: LogLevel) throws {
        #expect(
            try template(name, "text", "--category", "c", "--metadata", "a=b=c", "--metadata", "d=")
                == LogEntry(level, "text", category: "c", metadata: ["a": "b=c", "d": ""]))
    }

    @Test func `Without a message, standard input is read`() throws {
        #expect(try template("info") == LogEntry(.information, ""))
        #expect(try template("info", "--", "-v") == LogEntry(.information, "-v"))
    }

    @Test(arguments: [
        (["loud", "text"], "loud"), (["info", ""], "empty"), (["info", "x", "--metadata", "novalue"], "KEY=VALUE"),
        (["info", "x", "--metadata", "=v"], "KEY=VALUE"),
        (["info", "x", "--metadata", "a=1", "--metadata", "a=2"], "a is given twice"),
    ])
    func `Wrong use names what is wrong`(arguments: [String], names: String) throws {
        let command = try #require(try AgentCommand.parseAsRoot(["log"] + arguments) as? LogCommand)
        let error = #expect(throws: CommandError.self) { try command.template() }
        #expect(error?.code == .usage && error?.message.contains(names) == true)
    }
}
