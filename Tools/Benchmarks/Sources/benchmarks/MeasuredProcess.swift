import Foundation
import Glibc

/// A program that is measured while it runs, with a directory of its own; ended with SIGTERM.
final class MeasuredProcess {
    let name: String
    private let process = Process()
    private let log: String

    init(_ name: String, binary: String, arguments: [String], log: String) throws {
        self.name = name
        self.log = log
        try Data().write(to: URL(fileURLWithPath: log))
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: log)
        process.standardError = FileHandle(forWritingAtPath: log)
        try Self.runHearingSignals(process)
    }

    deinit { stop() }

    /// A child inherits what signals the thread that starts it blocks, and the runtime's threads block SIGTERM:
    /// collectd would never end.
    private static func runHearingSignals(_ process: Process) throws {
        var none = sigset_t()
        var former = sigset_t()
        sigemptyset(&none)
        pthread_sigmask(SIG_SETMASK, &none, &former)
        defer { pthread_sigmask(SIG_SETMASK, &former, nil) }
        try process.run()
    }

    var identifier: pid_t { process.processIdentifier }

    /// Reads what it has used so far.
    func figures() throws -> ProcessFigures {
        guard process.isRunning else {
            let text = (try? String(contentsOfFile: log, encoding: .utf8)) ?? ""
            throw BenchmarkError("\(name) has ended. Its log ends:\n\(text.suffix(2000))")
        }
        return try ProcessFigures(of: process.processIdentifier)
    }

    /// Asks it to end, and waits.
    func stop() {
        guard process.isRunning else { return }
        process.terminate()
        process.waitUntilExit()
    }

    /// Runs a program to its end and returns what it printed.
    static func output(_ binary: String, _ arguments: [String]) throws -> Data {
        let process = Process()
        let pipe = Pipe()
        process.executableURL = URL(fileURLWithPath: binary)
        process.arguments = arguments
        process.standardOutput = pipe
        try process.run()
        let output = pipe.fileHandleForReading.readDataToEndOfFile()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw BenchmarkError(
                "\(binary) \(arguments.joined(separator: " ")) ended with \(process.terminationStatus)")
        }
        return output
    }

    /// Bytes of a copy without symbols and debugging information.
    static func strippedBytes(_ binary: String, in directory: String) throws -> Int {
        let copy = "\(directory)/stripped-\(URL(fileURLWithPath: binary).lastPathComponent)"
        try FileManager.default.copyItem(
            atPath: URL(fileURLWithPath: binary).resolvingSymlinksInPath().path, toPath: copy)
        defer { try? FileManager.default.removeItem(atPath: copy) }
        _ = try output("/usr/bin/strip", [copy])
        return try FileManager.default.attributesOfItem(atPath: copy)[.size] as? Int ?? 0
    }
}
