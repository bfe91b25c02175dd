import Foundation
import Glibc
import HelperProcesses
import LogStore
import TestKit
import Testing
import WireModel

@testable import Intake

@Suite struct JournalIntakeTests {
    private static let remote = "/lib/systemd/systemd-journal-remote"
    static let hasTools = access(remote, X_OK) == 0 && access("/usr/bin/journalctl", X_OK) == 0

    /// An intake of a journal, and a program in place of journalctl that prints a file.
    private final class Scene {
        let directory: TemporaryDirectory
        let clock = ManualIntakeClock()
        let source: JournalIntake
        let committer: IntakeCommitter

        init(
            watch: DirectoryWatch = DirectoryWatch(),
            _ change: (inout JournalIntake.Configuration, TemporaryDirectory) -> Void = { _, _ in }
        ) throws {
            directory = try TemporaryDirectory()
            var configuration = JournalIntake.Configuration()
            configuration.start = .all
            configuration.program = directory.file("journalctl")
            change(&configuration, directory)
            source = JournalIntake(configuration, clock: clock.clock, watch: watch)
            var store = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
            store.applicationIdentifier = "journal"
            committer = IntakeCommitter(store, source: source, clock: clock.clock)
        }

        /// What the program does from now on. It tells its arguments in `arguments`.
        func program(_ script: String, printing bytes: [UInt8] = []) throws {
            try Data(bytes).write(to: URL(filePath: directory.file("output")))
            let text = "#!/bin/sh\nprintf '%s\\n' \"$@\" >'\(directory.file("arguments"))'\n\(script)\n"
            try Data(text.utf8).write(to: URL(filePath: directory.file("journalctl")))
            #expect(chmod(directory.file("journalctl"), 0o755) == 0)
        }

        func print(_ text: String) throws {
            try program("cat '\(directory.file("output"))'", printing: Array(text.utf8))
        }

        /// One look at the journal.
        func look(after milliseconds: Int64 = 120_000) {
            clock.advance(milliseconds: milliseconds)
            while true {
                switch committer.step() {
                case .more: continue
                case .idle:
                    // A program that a test beside this one was starting may still have had the script open.
                    let problem = committer.status.lag.problems.first ?? ""
                    guard problem.contains("Text file busy") else { return }
                    clock.advance(milliseconds: 120_000)
                case .retry:
                    Issue.record("not stored: \(committer.status.failure ?? "")")
                    return
                }
            }
        }

        var stored: StoredLines { get throws { try StoredLines(directory.file("logs")) } }
    }

    private static func entry(_ number: Int, source: String = "aa") -> String {
        "__CURSOR=s=\(source);i=\(String(number, radix: 16));b=bb;m=1;t=1;x=\(number)\nMESSAGE=line \(number)\n\n"
    }

    @Test func `Entries are stored once, and each look begins at the cursor`() throws {
        let scene = try Scene()
        try scene.print(Self.entry(1) + Self.entry(2))
        scene.look()
        try scene.print(Self.entry(2) + Self.entry(3))
        scene.look()
        #expect(try scene.stored.messages == ["line 1", "line 2", "line 3"])
        #expect(try scene.stored.reports.isEmpty)
        let arguments = try String(contentsOfFile: scene.directory.file("arguments"), encoding: .utf8)
        #expect(arguments.split(separator: "\n").contains("--cursor=s=aa;i=2;b=bb;m=1;t=1;x=2"))
    }

    @Test func `The first start may begin behind the newest entry`() throws {
        let scene = try Scene { configuration, _ in configuration.start = .now }
        // In the first look it is the newest, and in the second the cursor's own.
        try scene.print(Self.entry(7))
        scene.look()
        try scene.print(Self.entry(7) + Self.entry(8))
        scene.look()
        #expect(try scene.stored.messages == ["line 8"])
    }

    @Test func `What was removed before it was read is counted by the sequence numbers`() throws {
        let scene = try Scene()
        try scene.print(Self.entry(2))
        scene.look()
        try scene.print(Self.entry(9) + Self.entry(10))
        scene.look()
        #expect(try scene.stored.messages == ["line 2", "line 9", "line 10"])
        let reports = try scene.stored.reports
        #expect(reports.count == 1)
        #expect(reports.first?.contains("removed before they were read") == true)
        #expect(reports.first?.contains("6") == true)
        try scene.print(Self.entry(1, source: "cc"))
        scene.look()
        #expect(try scene.stored.reports.last?.contains("numbers began anew") == true)
    }

    @Test func `An entry that journalctl did not complete is read by the next run`() throws {
        let scene = try Scene()
        try scene.print(Self.entry(1) + "__CURSOR=s=aa;i=2;b=bb;m=1;t=1;x=2\nMESSAGE=li")
        scene.look()
        #expect(scene.committer.status.lag.problems.first?.contains("within an entry") == true)
        try scene.print(Self.entry(1) + Self.entry(2))
        scene.look()
        #expect(try scene.stored.messages == ["line 1", "line 2"])
        #expect(scene.committer.status.lag.problems.isEmpty)
    }

    @Test func `journalctl runs when something was written, and else once a minute`() throws {
        let scene = try Scene(watch: DirectoryWatch(sendsEvents: { _ in true })) { configuration, directory in
            configuration.directory = directory.file("journals")
        }
        let machine = scene.directory.file("journals/0123456789abcdef")
        try FileManager.default.createDirectory(atPath: machine, withIntermediateDirectories: true)
        let file = URL(filePath: machine + "/system.journal")
        try Data().write(to: file)
        let runs = scene.directory.file("runs")
        try scene.program("echo run >>'\(runs)'")
        func count() throws -> Int { try String(contentsOfFile: runs, encoding: .utf8).split(separator: "\n").count }

        scene.look()
        #expect(try count() == 1)
        for _ in 0..<20 { scene.look(after: 2_000) }
        #expect(try count() == 1)
        let handle = try FileHandle(forWritingTo: file)
        try handle.write(contentsOf: Data("entry".utf8))
        scene.look(after: 2_000)
        #expect(try count() == 2)
        // A run begins no other.
        scene.look(after: 2_000)
        #expect(try count() == 2)
        scene.look(after: 60_000)
        #expect(try count() == 3)
    }

    @Test func `What journalctl says when it fails is shown with the remedy`() throws {
        let scene = try Scene()
        try scene.program("echo 'No journal files were opened due to insufficient permissions.' >&2; exit 1")
        scene.look()
        let problem = scene.committer.status.lag.problems.first
        #expect(problem?.contains("No journal files were opened") == true)
        #expect(problem?.contains("systemd-journal") == true)
        try scene.program("echo 'Journal file system.journal is truncated, ignoring file.' >&2")
        scene.look()
        let other = scene.committer.status.lag.problems.first
        #expect(other?.contains("truncated") == true && other?.contains("group") == false)
    }

    @Test func `A journalctl that hangs is killed`() throws {
        let scene = try Scene { configuration, _ in configuration.hangMilliseconds = 0 }
        try scene.program("sleep 1000")
        scene.look()
        #expect(scene.committer.status.lag.problems.first?.contains("killed") == true)
    }

    @Test func `A journalctl that is not there is a problem and no crash`() throws {
        let scene = try Scene { configuration, _ in configuration.program = "/nonexistent/journalctl" }
        scene.look()
        #expect(scene.committer.status.lag.problems.first?.contains("/nonexistent/journalctl") == true)
    }

    // MARK: - Real journal files

    /// Microseconds since 1970 of the first entry. Recent, because old lines go by age.
    private static let begin = (Int(Date().timeIntervalSince1970) - 3_600) * 1_000_000

    /// Entries as another machine would send them.
    private static func exported(_ numbers: ClosedRange<Int>) -> String {
        numbers.map { number in
            "__REALTIME_TIMESTAMP=\(begin + number * 1000)\n__MONOTONIC_TIMESTAMP=\(number * 1000)\n"
                + "_BOOT_ID=4c6f1c3b0f2f4a7e9d8c7b6a59483726\nPRIORITY=4\nSYSLOG_IDENTIFIER=shop\n"
                + "MESSAGE=line \(number)\n\n"
        }
        .joined()
    }

    /// Adds entries to a journal file.
    private static func write(_ text: String, to journal: String, _ scene: Scene) throws {
        let input = scene.directory.file("input")
        try Data(text.utf8).write(to: URL(filePath: input))
        let helper = try HelperProcess(remote, ["--split-mode=none", "--output=\(journal)", input])
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 4096, alignment: 1)
        defer { memory.deallocate() }
        while helper.read(into: memory, milliseconds: 1_000) != .ended {}
        while !helper.isReaped() { sched_yield() }
        #expect(!helper.hasFailed, "\(helper.objection ?? "")")
    }

    @Test(.enabled(if: JournalIntakeTests.hasTools, "needs journalctl and the package systemd-journal-remote"))
    func `Journal files of systemd are read once, across looks and replaced journals`() throws {
        let scene = try Scene { configuration, directory in
            configuration.program = "/usr/bin/journalctl"
            configuration.directory = directory.file("journal")
        }
        try FileManager.default.createDirectory(
            atPath: scene.directory.file("journal"), withIntermediateDirectories: false)
        let journal = scene.directory.file("journal/a.journal")
        try Self.write(Self.exported(1...20), to: journal, scene)
        scene.look()
        try Self.write(Self.exported(21...40), to: journal, scene)
        scene.look()
        scene.look()
        #expect(try scene.stored.messages == (1...40).map { "line \($0)" })
        #expect(try scene.stored.reports.isEmpty)
        #expect(scene.committer.status.written[.warning] == 40)

        // As after a vacuum that took all that was read.
        #expect(unlink(journal) == 0)
        try Self.write(Self.exported(61...70), to: scene.directory.file("journal/b.journal"), scene)
        scene.look()
        #expect(try scene.stored.messages == (Array(1...40) + Array(61...70)).map { "line \($0)" })
        #expect(try scene.stored.reports.count == 1)
    }
}
