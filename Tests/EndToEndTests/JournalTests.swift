import Foundation
import Glibc
import Testing

/// What our programs write into the system's log.
@Suite(.timeLimit(.minutes(3)), .enabled(if: geteuid() == 0, "only root can become another user"))
struct JournalTests {
    /// Writes what goes to the system's log into a file; see journal.c.
    private static let library = Result { try PreloadedLibrary.build("journal") }

    /// The user, as in the unit: an ordinary one, with a priority that it cannot raise.
    private static let user = [
        "/usr/bin/nice", "-n", "10", "/usr/bin/setpriv", "--reuid=65534", "--regid=65534", "--clear-groups",
    ]

    @Test func `Quiet work writes nothing into the system's log`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-journal-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        try #require(chown(directory, 65_534, 65_534) == 0)
        let (log, journal, data) = ("\(directory)/agent.log", "\(directory)/journal", "\(directory)/data")
        let environment = ["LD_PRELOAD": try Self.library.get(), "JOURNAL_FILE": journal]
        let command =
            Self.user + [
                Program.agent.path, "run", "--data", data, "--collector", "http://127.0.0.1:1", "--enrollment-token",
                "token", "--sample-interval", "1",
            ]
        let agent = try ChildProcess(
            command[0], Array(command.dropFirst()), environment: Program.environment(environment), output: log,
            errors: log)
        while !FileManager.default.fileExists(atPath: "\(data)/control.sock") {
            try #require(await agent.ending(within: .milliseconds(20)) == nil, "\(Program.text(log))")
        }
        for (program, arguments) in [(Program.agent, ["status"]), (.agent, ["beacon"]), (.log, ["show"])] {
            let outcome = try await program.run(
                arguments + ["--data", data], environment: environment, under: Self.user)
            #expect(outcome.succeeded, "\(outcome)")
        }
        agent.send(signal: SIGTERM)
        #expect(await agent.ending(within: .seconds(60)) == .exited(0), "\(Program.text(log))")
        #expect(Program.text(journal) == "")
    }
}
