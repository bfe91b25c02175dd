import Foundation
import Testing

/// A process that may have too few files or too little memory hears so, and does not crash.
@Suite(.timeLimit(.minutes(3)))
struct ProcessLimitTests {
    struct Case: Sendable, CustomTestStringConvertible {
        let program: Program
        let arguments: [String]
        let limit: String
        let names: String

        var testDescription: String { "\(program.rawValue) \(arguments.first ?? ""), \(limit)" }
    }

    private static let cases: [Case] = [
        ("-n 32", ["run", "--collector", "http://127.0.0.1:1"], Program.agent),
        ("-n 16", ["event", "a", "b"], .agent), ("-n 16", ["stats"], .log),
        ("-n 8", ["fetch", "--output", "chunks"], .log), ("-n 16", ["verify"], .collector),
        ("-v 150000", ["run", "--collector", "http://127.0.0.1:1"], .agent), ("-v 150000", ["status"], .agent),
        ("-v 150000", ["stats"], .log), ("-v 150000", ["verify"], .collector),
    ].map { limit, arguments, program in
        Case(
            program: program, arguments: arguments, limit: limit,
            names: limit.hasPrefix("-n") ? "open files" : "address space")
    }

    @Test(arguments: cases)
    func `Too low a limit is an error that names it`(_ given: Case) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-limits-\(UUID().uuidString)")
            .path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let limited = ["/bin/bash", "-c", "ulimit -c 0; ulimit \(given.limit); exec \"$@\"", "limited"]
        let outcome = try await given.program.run(given.arguments + ["--data", directory], under: limited)
        #expect(outcome.ending == .exited(1), "\(outcome)")
        #expect(outcome.errors.contains(given.names) && outcome.errors.contains("ulimit"), "\(outcome)")
        #expect(!FileManager.default.fileExists(atPath: directory))
    }
}
