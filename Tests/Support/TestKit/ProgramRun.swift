import Foundation

/// One run of a program to its end, in an empty directory, with nobody at its standard input.
package struct ProgramRun: Sendable {
    package let status: Int32
    package let output: Data
    package let errors: String

    package var text: String { String(decoding: output, as: UTF8.self) }

    /// Runs the `ws1log` built beside this test bundle.
    package static func ws1log(_ arguments: [String], environment: [String: String] = [:]) async throws -> ProgramRun {
        try await of(arguments, environment: environment, program: URL(fileURLWithPath: ws1logPath))
    }

    package static let ws1logPath = path("ws1log")
    package static let ws1collectorPath = path("ws1collector")

    private static func path(_ program: String) -> String {
        URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath().deletingLastPathComponent()
            .appendingPathComponent(program)
            .path
    }

    /// - Parameter outputPath: where its standard output goes, instead of into the result.
    package static func of(
        _ arguments: [String], environment: [String: String] = [:], program: URL, outputPath: String? = nil
    ) async throws -> ProgramRun {
        try await BlockingCall.run { try run(arguments, environment, program, outputPath) }
    }

    private static func run(
        _ arguments: [String], _ environment: [String: String], _ program: URL, _ outputPath: String?
    ) throws -> ProgramRun {
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
        process.standardOutput = try FileHandle(forWritingTo: outputPath.map { URL(fileURLWithPath: $0) } ?? files[0])
        process.standardError = try FileHandle(forWritingTo: files[1])
        try process.run()
        process.waitUntilExit()
        return ProgramRun(
            status: process.terminationStatus, output: try Data(contentsOf: files[0]),
            errors: String(decoding: try Data(contentsOf: files[1]), as: UTF8.self))
    }
}
