import Foundation
import Glibc
import LogStore
import TestKit
import Testing

@testable import Intake

/// Real processes take in a ring that is written and overruns meanwhile, and are killed.
@Suite struct KernelIntakeKillTests {
    /// A ring in a file, which other processes write: the newest records, a line each.
    private final class FileRing: KernelRing {
        private let path: String
        private var next: UInt64?

        init(_ path: String) { self.path = path }

        func read(into buffer: UnsafeMutableRawBufferPointer) -> KernelReading {
            let text = (try? String(contentsOfFile: path, encoding: .utf8)) ?? ""
            let records = text.split(separator: "\n").compactMap { line in
                line.split(separator: ",").dropFirst().first.flatMap { UInt64($0) }.map { (number: $0, line: line) }
            }
            guard let oldest = records.first?.number else { return .end }
            let wanted = next ?? oldest
            if oldest > wanted {
                next = oldest
                return .overrun
            }
            guard let record = records.first(where: { $0.number == wanted }) else { return .end }
            next = wanted + 1
            buffer.copyBytes(from: record.line.utf8)
            return .record(record.line.utf8.count)
        }
    }

    static func committer(_ directory: String) -> IntakeCommitter {
        var settings = KernelIntake.Configuration()
        settings.start = .all
        var configuration = LogStore.Configuration(directory: "\(directory)/logs", applicationName: "victim")
        configuration.applicationIdentifier = "kernel"
        let source = KernelIntake(settings, clock: .system, bootID: { "boot" }) { () throws(IntakeFailure) in
            FileRing("\(directory)/ring")
        }
        return IntakeCommitter(configuration, source: source)
    }

    private static func write(_ next: Int, room: Int, _ directory: String) throws {
        let records = (max(0, next - room)..<next).map { "6,\($0),\($0),-;line \($0)\n" }.joined()
        try Data(records.utf8).write(to: URL(filePath: "\(directory)/ring.new"))
        try #require(rename("\(directory)/ring.new", "\(directory)/ring") == 0)
    }

    @Test func `A killed intake of the kernel's ring loses nothing untold and doubles nothing`() async throws {
        let temporary = try TemporaryDirectory()
        let directory = temporary.path
        let seed = UInt64(getpid())
        let written = try await BlockingCall.run {
            var random = SplitMix64(seed: seed)
            var next = 1
            try Self.write(next, room: 40, directory)
            for _ in 0..<6 {
                try FileIntakeKillTests.kill(
                    after: Int.random(in: 1...10, using: &random), directory, victim: "KernelIntakeKillVictim"
                ) {
                    next += Int.random(in: 1...60, using: &random)
                    try Self.write(next, room: 40, directory)
                }
            }
            let last = Self.committer(directory)
            while last.step() == .more {}
            last.close()
            return next
        }
        let stored = try StoredLines("\(directory)/logs")
        var numbers = stored.messages.compactMap { Int($0.dropFirst(5)) }
        #expect(numbers.count == stored.messages.count)
        for report in stored.reports {
            let words = report.split(separator: " ")
            let from = try #require(words.first { $0.hasPrefix("from=") }.flatMap { Int($0.dropFirst(5)) })
            let to = try #require(words.first { $0.hasPrefix("to=") }.flatMap { Int($0.dropFirst(3)) })
            numbers += from...to
        }
        numbers.sort()
        // Nothing was promised of what was overwritten before the first reading.
        #expect(numbers == Array((numbers.first ?? written)..<written), "seed \(seed)")
    }
}

/// What the killed process runs.
@Suite struct KernelIntakeKillVictim {
    @Test(.enabled(if: ProcessInfo.processInfo.environment[FileIntakeKillTests.directoryVariable] != nil))
    func `The victim reads until it is killed`() throws {
        try FileIntakeKillVictim.run { KernelIntakeKillTests.committer($0) }
    }
}
