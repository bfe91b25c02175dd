import Foundation
import TestKit
import Testing

/// The built `ws1collector` where its output cannot be written.
@Suite("Output that is lost", .timeLimit(.minutes(10)))
struct OutputTests {
    private static func run(_ arguments: [String], _ data: KeptData, outputPath: String? = nil) async throws
        -> ProgramRun
    {
        try await ProgramRun.of(
            arguments + ["--data", data.path], program: URL(fileURLWithPath: ProgramRun.ws1collectorPath),
            outputPath: outputPath)
    }

    @Test func `No command succeeds if its output cannot be written`() async throws {
        let data = try await KeptData(days: 1, devices: 1)
        let commands = [
            ["token", "create", "--role", "viewer", "--name", "lost"], ["token", "list"], ["token", "list", "--json"],
            ["balance"],
            ["balance", "--json"], ["verify"], ["backup", "--output", data.path + "-backup"], ["organization", "list"],
            ["retention", "status"],
        ]
        for command in commands {
            let run = try await Self.run(command, data, outputPath: "/dev/full")
            #expect(
                run.status == 1 && run.errors.contains("The output cannot be written"),
                "\(command): \(run.status) \(run.errors)")
        }
        try? FileManager.default.removeItem(atPath: data.path + "-backup")
        // A token that nobody has does not stay good.
        struct Row: Decodable {
            var name: String
            var revoked: String?
        }
        let rows = try JSONDecoder().decode(
            [Row].self, from: try await Self.run(["token", "list", "--json"], data).output)
        #expect(rows.filter { $0.name == "lost" }.map { $0.revoked != nil } == [true])
    }

    @Test func `A token's name steers no terminal`() async throws {
        let data = try await KeptData(days: 1, devices: 1)
        for name in ["a\nb", "a\u{1B}[2J", "a\u{9B}b"] {
            let run = try await Self.run(["token", "create", "--role", "viewer", "--name", name], data)
            #expect(run.status == 64 && run.errors.contains("control characters"), "\(run.errors)")
        }
    }
}
