import Foundation
import Testing

/// Failpoints are for tests alone. `Tools/build-release` refuses a program that has them.
@Suite(.timeLimit(.minutes(1)))
struct FailpointCheckTests {
    private static let check = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Tools/checks/failpoints").standardizedFileURL.path

    @Test func `The check of shipped programs finds the failpoints of a debug build`() async throws {
        let outcome = try await Program.collector.run([], under: [Self.check])
        #expect(outcome.ending == .exited(1), "\(outcome)")
        #expect(outcome.errors.contains("has failpoints"), "\(outcome)")
    }

    @Test(arguments: [Program.agent, .log])
    func `A program without failpoints passes the check of shipped programs`(program: Program) async throws {
        let outcome = try await program.run([], under: [Self.check])
        #expect(outcome.succeeded, "\(outcome)")
    }
}
