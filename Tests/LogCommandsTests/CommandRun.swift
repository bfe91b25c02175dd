import Foundation
import TelemetryTestKit

/// One run of the built `ws1log`.
struct CommandRun: Sendable {
    let status: Int32
    let output: Data
    let errors: String

    var text: String { String(decoding: output, as: UTF8.self) }

    /// The built program beside this test bundle.
    static let program = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
        .appendingPathComponent("ws1log")

    static func of(_ arguments: [String], environment: [String: String] = [:], program: URL = program) async throws -> CommandRun {
        try await BlockingCall.run { try run(arguments, environment, program) }
    }

    private static func run(_ arguments: [String], _ environment: [String: String], _ program: URL) throws -> CommandRun {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("ws1log-run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: folder) }
        let files = ["output", "errors"].map { folder.appendingPathComponent($0) }
        for file in files { try Data().write(to: file) }
        let process = Process()
        process.executableURL = program
        process.arguments = arguments
        process.environment = ["PATH": "/usr/bin:/bin", "TZ": "UTC", "HOME": folder.path].merging(environment) { $1 }
        process.currentDirectoryURL = folder
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = try FileHandle(forWritingTo: files[0])
        process.standardError = try FileHandle(forWritingTo: files[1])
        try process.run()
        process.waitUntilExit()
        return CommandRun(
            status: process.terminationStatus, output: try Data(contentsOf: files[0]),
            errors: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self))
    }
}
