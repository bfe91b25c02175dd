import Foundation

/// One of our programs or tools, as built beside the running tests.
enum Program: String {
    case agent = "ws1agent"
    case collector = "ws1collector"
    case log = "ws1log"
    case ctl = "ws1ctl"
    case simulator = "fleet-simulator"

    /// What a finished run said.
    struct Outcome: CustomStringConvertible, Sendable {
        let ending: ChildProcess.Ending
        let output: String
        let errors: String

        var succeeded: Bool { ending == .exited(0) }
        var description: String { "\(ending)\n\(output)\(errors)" }
    }

    var path: String {
        let tests = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath()
        return tests.deletingLastPathComponent().appendingPathComponent(rawValue).path
    }

    /// Runs to the end; one that does not end within `limit` is killed and recognized by its `.killed(signal:
    /// SIGKILL)`.
    /// - Parameter wrapper: what runs it, with the program's path and arguments after its own.
    func run(
        _ arguments: [String], environment: [String: String] = [:], under wrapper: [String] = [],
        limit: Duration = .seconds(60)
    ) async throws -> Outcome {
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("ws1-\(UUID().uuidString)").path
        let (output, errors) = (scratch + ".out", scratch + ".err")
        defer { [output, errors].forEach { try? FileManager.default.removeItem(atPath: $0) } }
        let command = wrapper + [path] + arguments
        let child = try ChildProcess(
            command[0], Array(command.dropFirst()), environment: Program.environment(environment), output: output,
            errors: errors)
        var ending = await child.ending(within: limit)
        if ending == nil {
            await child.killAndReap()
            ending = .killed(signal: SIGKILL)
        }
        return Outcome(ending: ending!, output: Program.text(output), errors: Program.text(errors))
    }

    /// This process's environment without what would configure our programs, and with `additions`.
    static func environment(_ additions: [String: String]) -> [String: String] {
        ProcessInfo.processInfo.environment.filter { !$0.key.hasPrefix("WS1_") }.merging(additions) { _, new in new }
    }

    static func text(_ path: String) -> String {
        String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
    }
}
