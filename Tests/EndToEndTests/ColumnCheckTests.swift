import Foundation
import TestKit
import Testing

/// `Tools/checks/columns` finds lines that pass column 120. The formatter wraps neither comments nor texts.
@Suite(.timeLimit(.minutes(1)))
struct ColumnCheckTests {
    private static let check = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .appendingPathComponent("../../Tools/checks/columns").standardizedFileURL

    private func check(_ lines: String...) async throws -> ProgramRun {
        let directory = try TemporaryDirectory()
        let file = directory.file("Planted.swift")
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(fileURLWithPath: file))
        return try await ProgramRun.of([file], program: Self.check)
    }

    @Test(arguments: [
        "// \(String(repeating: "c", count: 118))", "let text = \"\(String(repeating: "t", count: 108))\"",
    ])
    func `A comment or a text that passes column 120 is found with its line`(planted: String) async throws {
        #expect(planted.count == 121)
        let run = try await check("let one = 1", planted)
        #expect(run.status == 1, "\(run.errors)")
        #expect(run.errors.contains("Planted.swift:2:"), "\(run.errors)")
    }

    @Test func `A line of 120 characters passes, whatever its bytes`() async throws {
        let run = try await check("// \(String(repeating: "ä", count: 117))", "let one = 1")
        #expect(run.status == 0, "\(run.errors)")
    }

    @Test func `A file that cannot be read is no success`() async throws {
        let run = try await ProgramRun.of(["/nowhere/Planted.swift"], program: Self.check)
        #expect(run.status != 0)
    }
}
