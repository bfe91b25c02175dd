import Foundation
import Glibc
import LogStore
import TestKit
import Testing

@testable import Intake

/// Real processes take in files that are written and rotated meanwhile, and are killed: the test binary starts itself,
/// and what is then `FileIntakeKillVictim` reads.
@Suite struct FileIntakeKillTests {
    static let directoryVariable = "INTAKE_KILL_DIRECTORY"
    static let reportVariable = "INTAKE_KILL_REPORT"

    static func committer(_ directory: String) -> IntakeCommitter {
        var settings = FileIntake.Configuration(patterns: ["\(directory)/a.log*"])
        settings.searchMilliseconds = 0
        var configuration = LogStore.Configuration(directory: "\(directory)/logs", applicationName: "victim")
        configuration.applicationIdentifier = "files"
        return IntakeCommitter(configuration, source: FileIntake(settings))
    }

    private static func append(_ text: String, _ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(write(descriptor, text, text.utf8.count) == text.utf8.count)
    }

    /// Starts the victim, writes while it reads, and kills it when it has said so many times that it stored something.
    /// - Parameter victim: the suite that is run there.
    static func kill(
        after commits: Int, _ directory: String, victim: String = "FileIntakeKillVictim", writing: () throws -> Void
    ) throws {
        let fifo = "\(directory)/report"
        try #require(mkfifo(fifo, 0o600) == 0)
        defer { unlink(fifo) }
        let arguments = [
            try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe"), "--testing-library",
            "swift-testing", "--filter", victim,
        ]
        var environment = ProcessInfo.processInfo.environment
        environment[directoryVariable] = directory
        environment[reportVariable] = fifo
        let process = try SpawnedProcess.start(
            arguments, environment: environment.map { "\($0.key)=\($0.value)" }, streams: [.null, .null, .null],
            hasOwnGroup: false)
        // Waits for the other end.
        let report = open(fifo, O_RDONLY | O_CLOEXEC)
        defer { close(report) }
        var byte: UInt8 = 0
        for _ in 0..<commits {
            try writing()
            guard retrying({ read(report, &byte, 1) }) == 1 else { break }
        }
        _ = Glibc.kill(process, SIGKILL)
        SpawnedProcess.waitForEnd(of: process)
    }

    private static func retrying(_ call: () -> Int) -> Int {
        while true {
            let result = call()
            if result >= 0 || errno != EINTR { return result }
        }
    }

    @Test func `A killed intake loses, doubles and tears no line`() async throws {
        let temporary = try TemporaryDirectory()
        let directory = temporary.path
        let seed = UInt64(getpid())
        let written = try await BlockingCall.run {
            var random = SplitMix64(seed: seed)
            var next = 0
            for _ in 0..<6 {
                try Self.kill(after: Int.random(in: 1...12, using: &random), directory) {
                    let lines = (0..<Int.random(in: 1...400, using: &random)).map { _ in
                        defer { next += 1 }
                        return "line \(next) \(String(repeating: "x", count: Int.random(in: 0...900, using: &random)))"
                    }
                    try Self.append(lines.map { "\($0)\n" }.joined(), "\(directory)/a.log")
                    if Int.random(in: 0..<4, using: &random) == 0 {
                        for old in (1..<9).reversed() {
                            rename("\(directory)/a.log.\(old)", "\(directory)/a.log.\(old + 1)")
                        }
                        rename("\(directory)/a.log", "\(directory)/a.log.1")
                    }
                }
            }
            let last = Self.committer(directory)
            while true {
                let step = last.step()
                if step == .idle { break }
                try #require(step == .more, "\(last.status)")
            }
            last.close()
            return next
        }
        #expect(written > 100)
        let stored = try StoredLines("\(directory)/logs")
        let numbers = stored.messages.compactMap { $0.split(separator: " ").dropFirst().first.flatMap { Int($0) } }
        #expect(numbers.count == stored.messages.count)
        #expect(numbers.sorted() == Array(0..<written), "seed \(seed)")
        #expect(stored.reports.isEmpty)
    }
}

/// What the killed process runs.
@Suite struct FileIntakeKillVictim {
    @Test(.enabled(if: ProcessInfo.processInfo.environment[FileIntakeKillTests.directoryVariable] != nil))
    func `The victim reads until it is killed`() throws {
        try Self.run { FileIntakeKillTests.committer($0) }
    }

    /// Steps an intake, and says when it stored something.
    static func run(_ committer: (String) -> IntakeCommitter) throws {
        let environment = ProcessInfo.processInfo.environment
        let committer = committer(try #require(environment[FileIntakeKillTests.directoryVariable]))
        let report = open(try #require(environment[FileIntakeKillTests.reportVariable]), O_WRONLY | O_CLOEXEC)
        var stored: UInt64 = 0
        while true {
            if case .retry = committer.step() { break }
            guard committer.status.written.total > stored else {
                sched_yield()
                continue
            }
            stored = committer.status.written.total
            // Without a reader this ends the process, should nobody kill it.
            _ = write(report, "x", 1)
        }
    }
}
