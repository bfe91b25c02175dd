import Foundation
import Glibc
import Gzip
import LogStore
import TestKit
import Testing

@testable import Intake

/// Files, and the intake that reads them.
final class FileIntakeMachine {
    private let directory: TemporaryDirectory
    let clock = ManualIntakeClock()
    let settings: FileIntake.Configuration
    private var committer: IntakeCommitter?
    /// The files that cannot be opened.
    var unreadable: Set<String> = []
    /// Called once, when a piece was read and compared, before its lines are taken.
    var onPiece: (() throws -> Void)?

    init(_ change: (inout FileIntake.Configuration) -> Void = { _ in }) throws {
        directory = try TemporaryDirectory()
        var settings = FileIntake.Configuration(patterns: [directory.file("*.log")])
        change(&settings)
        self.settings = settings
    }

    func path(_ name: String) -> String { directory.file(name) }

    func write(_ text: String, _ name: String) throws { try write(Array(text.utf8), name) }

    func write(_ bytes: [UInt8], _ name: String) throws {
        let descriptor = open(path(name), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        try #require(descriptor >= 0)
        defer { close(descriptor) }
        try #require(Glibc.write(descriptor, bytes, bytes.count) == bytes.count)
    }

    func rename(_ name: String, _ new: String) throws { try #require(Glibc.rename(path(name), path(new)) == 0) }
    func remove(_ name: String) throws { try #require(unlink(path(name)) == 0) }
    func truncate(_ name: String) throws { try #require(Glibc.truncate(path(name), 0) == 0) }
    func makeDirectory(_ name: String) throws { try #require(mkdir(path(name), 0o700) == 0) }

    /// As `sed -i` and editors do: a new file with this content takes the place of the old one.
    func replace(_ name: String, _ text: String) throws {
        try write(text, ".\(name).new")
        try rename(".\(name).new", name)
    }
    func copy(_ name: String, _ new: String) throws {
        try FileManager.default.copyItem(atPath: path(name), toPath: path(new))
    }

    /// As rotation does: the new file is whole before the old one goes.
    func compress(_ name: String, leavingOut bytes: Int = 0) throws {
        let content = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path(name))))
        try write([UInt8](GzipCodec.compress(content).dropLast(bytes)), "\(name).gz")
        try remove(name)
    }

    func step() throws -> IntakeCommitter.Step { try #require(committer).step() }

    /// Reads until nothing is left, in two seconds.
    func read() throws {
        if committer == nil {
            var configuration = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
            configuration.applicationIdentifier = "files"
            let source = FileIntake(settings, clock: clock.clock)
            source.openAny = { [unowned self] in
                guard !unreadable.contains($0) else {
                    errno = EACCES
                    return -1
                }
                return open($0, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
            }
            source.onPiece = { [unowned self] in
                guard let call = onPiece else { return }
                onPiece = nil
                #expect(throws: Never.self) { try call() }
            }
            committer = IntakeCommitter(configuration, source: source, clock: clock.clock)
        }
        for _ in 0..<2 {
            clock.advance(milliseconds: 1000)
            while true {
                let step = committer!.step()
                if step == .more { continue }
                try #require(step == .idle, "\(committer!.status)")
                break
            }
        }
    }

    func wait(milliseconds: Int64) { clock.advance(milliseconds: milliseconds) }

    /// As after a kill: nothing is closed.
    func stop() { committer = nil }

    var problems: [String] { committer?.status.lag.problems ?? [] }
    var lag: Int? { committer?.status.lag.bytes }
    var stored: StoredLines { get throws { try StoredLines(directory.file("logs")) } }

    /// Reads all that there is with a source of its own, without a store.
    func read(_ source: FileIntake) -> (messages: [String], positions: [String: [UInt8]?]) {
        var messages: [String] = []
        var positions: [String: [UInt8]?] = [:]
        var hasMore = true
        while hasMore {
            var batch = Self.batch()
            hasMore = source.read(into: &batch)
            source.committed()
            messages += batch.lines.map { $0.entry.message }
            positions.merge(batch.changes) { $1 }
            // A long line without its end adds little to one batch.
            #expect(batch.changes.values.reduce(0) { $0 + ($1?.count ?? 0) } < 2 * IntakeBatch.maximumBytes)
        }
        return (messages, positions)
    }

    /// A source that reads this machine's files from a place.
    func source(
        at positions: [String: [UInt8]] = [:], isInterrupted: @escaping @Sendable () -> Bool = { false }
    ) -> FileIntake {
        let source = FileIntake(settings, clock: clock.clock, isInterrupted: isInterrupted)
        source.begin(at: positions)
        return source
    }

    static func batch() -> IntakeBatch { IntakeBatch(budget: BurstBudget(nil), level: nil, time: 0) }
}
