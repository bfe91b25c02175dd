import Foundation
import Glibc
import Testing

/// A program that is the first process of a container, as in our images.
@Suite(.timeLimit(.minutes(3)), .enabled(if: geteuid() == 0, "only root can make a process namespace"))
struct FirstProcessTests {
    private static let container = ["/usr/bin/unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]

    private static func children(of process: pid_t) -> [pid_t] {
        Program.text("/proc/\(process)/task/\(process)/children").split(separator: " ").compactMap { pid_t($0) }
    }

    @Test func `An agent in a container leaves no zombies and stops in order`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-first-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let command =
            Self.container + [
                Program.agent.path, "run", "--data", "\(directory)/data", "--collector", "http://127.0.0.1:1",
                "--enrollment-token", "token",
            ]
        let log = "\(directory)/agent.log"
        let outer = try ChildProcess(
            command[0], Array(command.dropFirst()), environment: Program.environment([:]), output: log, errors: log)
        let socket = "\(directory)/data/control.sock"
        try await Self.until("the agent answers", while: outer) { FileManager.default.fileExists(atPath: socket) }
        let first = try #require(Self.children(of: outer.processID).first)
        let own = Self.children(of: first)

        // As `docker exec` does: the shell ends before what it started, and the first process becomes its parent.
        let nsenter = ["/usr/bin/nsenter", "--target", "\(first)", "--pid", "/bin/sh", "-c", "sleep 0.3 & exit 0"]
        for _ in 0..<3 {
            let shell = try ChildProcess(
                nsenter[0], Array(nsenter.dropFirst()), environment: Program.environment([:]), output: log, errors: log)
            #expect(await shell.ending(within: .seconds(30)) == .exited(0))
        }
        try await Self.until("nothing is left of what others started", while: outer) { Self.children(of: first) == own }

        kill(first, SIGTERM)
        #expect(await outer.ending(within: .seconds(60)) == .exited(0), "\(Program.text(log))")
    }

    @Test func `The first process ends with the exit code of its program`() async throws {
        let outcome = try await Program.agent.run(["status", "--nonsense"], under: Self.container)
        #expect(outcome.ending == .exited(64) && outcome.errors.contains("--nonsense"), "\(outcome)")
    }

    /// Looks again and again while the process runs.
    private static func until(_ what: String, while process: ChildProcess, _ holds: () -> Bool) async throws {
        let end = ContinuousClock.now + .seconds(60)
        while !holds() {
            guard ContinuousClock.now < end else { throw EndToEndError("never: \(what)") }
            if let ending = await process.ending(within: .milliseconds(20)) {
                throw EndToEndError("ended with \(ending) before \(what)")
            }
        }
    }
}
