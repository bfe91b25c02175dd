import CommandKit
import Foundation
import Glibc
import LogStore
import TelemetryBasics
import TestKit
import Testing
import WireModel

@testable import LogCommands

/// The built `ws1log` on a pseudo-terminal.
@Suite(.timeLimit(.minutes(5))) struct TerminalTests {
    private let folder: StoreFolder

    init() throws { folder = try StoreFolder() }

    /// What appears on the terminal; the other output is thrown away.
    private func run(_ arguments: [String], terminalIs stream: Int32, environment: [String: String] = [:]) async throws
        -> String
    {
        let terminal = try Terminal()
        let process = Process()
        process.executableURL = URL(fileURLWithPath: ProgramRun.ws1logPath)
        process.arguments = arguments + ["--data", folder.path]
        process.environment = ["PATH": "/usr/bin:/bin", "TZ": "UTC-3:30", "TERM": "xterm"].merging(environment) { $1 }
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = stream == STDOUT_FILENO ? terminal.end : FileHandle.nullDevice
        process.standardError = stream == STDERR_FILENO ? terminal.end : FileHandle.nullDevice
        try process.run()
        let shown = try await terminal.read()
        await BlockingCall.run { process.waitUntilExit() }
        #expect(process.terminationStatus == 0, "\(shown)")
        return shown
    }

    @Test func `Lines are coloured by level and in local time`() async throws {
        let shown = try await run(["show"], terminalIs: STDOUT_FILENO)
        let lines = shown.components(separatedBy: "\r\n").filter { !$0.isEmpty }
        #expect(lines.count == folder.text(1, 2, 3, 5).count { $0 == UInt8(ascii: "\n") })
        let times = Dictionary(
            uniqueKeysWithValues: String(decoding: folder.text(1, 2, 3, 5), as: UTF8.self).split(separator: "\n").map {
                line in
                (line.split(separator: " ")[2], line.prefix(23))
            })
        for line in lines.prefix(200) {
            let plain = line.replacing(#/\u{1B}\[\d+m/#, with: "")
            // Local time to the millisecond, with its offset from UTC.
            let head = try #require(
                plain.firstMatch(of: #/^\d{4}-(\d\d-\d\d)T(\d\d:\d\d:\d\d\.\d{3})\+03:30 ([EWIV]) (\d+) /#), "\(plain)")
            let level = head.3
            let utc = try #require(times[head.4].flatMap { TimeArgument(argument: "\($0)Z") }?.microseconds(now: 0))
            let colour = ["E": "\u{1B}[31m", "W": "\u{1B}[33m", "I": "\u{1B}[0m", "V": "\u{1B}[2m"][String(level)]
            #expect(line.contains(" \(try #require(colour))\(level) "), "\(line)")
            let local = Timestamp.text(utc + (3 * 60 + 30) * 60_000_000)
            #expect(local.dropFirst(5).prefix(18) == "\(head.1)T\(head.2)")
        }
    }

    @Test func `Whoever wants no colour gets none`() async throws {
        for arguments in [["tail", "--no-color", "--utc"], ["tail", "--utc"]] {
            let shown = try await run(
                arguments, terminalIs: STDOUT_FILENO, environment: arguments.count == 2 ? ["NO_COLOR": "1"] : [:])
            let tail = String(decoding: folder.text(1, 2, 3, 5), as: UTF8.self).split(separator: "\n").suffix(10)
            #expect(shown == tail.map { "\($0)\r\n" }.joined())
        }
    }

    @Test func `Long work shows how far it is and cleans up behind itself`() async throws {
        let output = folder.path + "/chunks"
        let shown = try await run(["fetch", "--chunks", "--output", output], terminalIs: STDERR_FILENO)
        #expect(shown.contains("[##############################] "), "\(shown.debugDescription)")
        #expect(shown.hasSuffix("\r\u{1B}[K"), "\(shown.debugDescription)")
        // A script that wants JSON has no bar beside it, nor has a pipe.
        #expect(
            try await run(["fetch", "--chunks", "--json", "--force", "--output", output], terminalIs: STDERR_FILENO)
                == "")
        #expect(
            try await ProgramRun.ws1log(["fetch", "--chunks", "--force", "--output", output, "--data", folder.path])
                .errors == "")
    }
}
