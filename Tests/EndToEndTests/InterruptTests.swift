import Foundation
import Testing

/// Signals that interrupt system calls on the queue's files.
@Suite(.timeLimit(.minutes(10)))
struct InterruptTests {
    /// Interrupts one system call; see interrupts.c.
    private static let library = Result { try PreloadedLibrary.build("interrupts") }

    /// Enough for every call of one command.
    private static let mostCalls = 400

    @Test func `An event is stored, although a signal interrupts any of its calls`() async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-interrupt-\(UUID())").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let (data, log, struck) = ("\(directory)/data", "\(directory)/agent.log", "\(directory)/struck")
        // An agent makes the queue; nobody answers at the collector's address.
        let agent = try ChildProcess(
            Program.agent.path,
            ["run", "--data", data, "--collector", "http://127.0.0.1:1", "--enrollment-token", "token"],
            environment: Program.environment([:]), output: log, errors: log)
        while !FileManager.default.fileExists(atPath: "\(data)/control.sock") {
            try #require(await agent.ending(within: .milliseconds(20)) == nil, "\(Program.text(log))")
        }
        agent.send(signal: SIGTERM)
        #expect(await agent.ending(within: .seconds(60)) == .exited(0), "\(Program.text(log))")

        var interrupted: [String] = []
        for call in 1...Self.mostCalls {
            try? FileManager.default.removeItem(atPath: struck)
            let outcome = try await Program.agent.run(
                ["event", "door", "open", "--data", data],
                environment: [
                    "LD_PRELOAD": try Self.library.get(), "INTERRUPT_PATH": "\(data)/queue.",
                    "INTERRUPT_AT": "\(call)", "INTERRUPT_STRUCK": struck,
                ])
            let name = Program.text(struck)
            // Whoever is not served at once may try again.
            #expect(outcome.succeeded || outcome.ending == .exited(75), "call \(call), \(name): \(outcome)")
            if name.hasPrefix("fdatasync") { #expect(outcome.succeeded, "call \(call), \(name): \(outcome)") }
            if name.isEmpty { break }
            interrupted.append(name)
        }
        #expect(interrupted.count < Self.mostCalls)
        #expect(interrupted.contains { $0.hasPrefix("fdatasync") && $0.contains("queue.sqlite-wal") })
        let balance = try await Program.agent.run(["balance", "--data", data])
        let events = balance.output.split(separator: "\n").first { $0.hasPrefix("event ") }
        // One event for each call, one for the run without an interrupt, and the launch of the agent; none twice.
        #expect(events?.split(separator: " ").dropFirst().first.map(String.init) == "\(interrupted.count + 2)")
        #expect(balance.output.contains("the balance closes"), "\(balance)")
    }
}
