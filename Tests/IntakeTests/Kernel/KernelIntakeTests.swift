import Glibc
import LogStore
import TestKit
import Testing
import WireModel

@testable import Intake

@Suite struct KernelIntakeTests {
    /// A ring, a store, and an intake between them.
    private final class Scene {
        let directory: TemporaryDirectory
        let clock = ManualIntakeClock()
        let ring: ScriptedKernelRing
        private var configuration = KernelIntake.Configuration()
        private(set) var committer: IntakeCommitter!
        var onRead: () -> Void = {}

        init(room: Int = 1_000, next: UInt64 = 0, _ change: (inout KernelIntake.Configuration) -> Void = { _ in })
            throws
        {
            directory = try TemporaryDirectory()
            ring = ScriptedKernelRing(room: room, next: next)
            configuration.start = .all
            change(&configuration)
            start()
        }

        /// Another process.
        func start() {
            committer?.close()
            var store = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
            store.applicationIdentifier = "kernel"
            store.level = .verbose
            let source = KernelIntake(configuration, clock: clock.clock, bootID: { [ring] in ring.boot }) {
                [ring, unowned self] () throws(IntakeFailure) in ring.open { self.onRead() }
            }
            committer = IntakeCommitter(store, source: source, clock: clock.clock)
            committer.level = .verbose
        }

        func look() { while committer.step() == .more {} }

        var stored: StoredLines { get throws { try StoredLines(directory.file("logs")) } }
    }

    @Test func `Records are stored once, over any number of starts`() throws {
        let scene = try Scene()
        for number in 0..<30 {
            scene.ring.write("line \(number)")
            if number % 3 == 0 { scene.look() }
            if number % 7 == 0 { scene.start() }
        }
        scene.look()
        #expect(try scene.stored.messages == (0..<30).map { "line \($0)" })
        #expect(try scene.stored.reports.isEmpty)
        #expect(scene.committer.status.lag == IntakeLag(bytes: 0, parts: 1))
    }

    @Test func `An overrun before a start is told with exact numbers`() throws {
        let scene = try Scene(room: 4)
        for number in 0..<3 { scene.ring.write("line \(number)") }
        scene.look()
        scene.start()
        for number in 3..<20 { scene.ring.write("line \(number)") }
        scene.look()
        #expect(try scene.stored.messages == ([0, 1, 2] + Array(16..<20)).map { "line \($0)" })
        #expect(
            try scene.stored.reports == [
                "records of the kernel's ring were overwritten before they were read "
                    + "boot=boot-1 from=3 records=13 to=15"
            ])
    }

    @Test func `An overrun while the ring is read is told with exact numbers`() throws {
        let scene = try Scene(room: 5)
        for number in 0..<5 { scene.ring.write("line \(number)") }
        var reads = 0
        scene.onRead = { [ring = scene.ring] in
            reads += 1
            if reads == 3 { for number in 5..<14 { ring.write("line \(number)") } }
        }
        scene.look()
        #expect(try scene.stored.messages == ([0, 1] + Array(9..<14)).map { "line \($0)" })
        #expect(try scene.stored.reports.count == 1)
        #expect(try scene.stored.reports.first?.hasSuffix("boot=boot-1 from=2 records=7 to=8") == true)
    }

    @Test func `Any writes and starts lose nothing that is not told`() throws {
        var random = SplitMix64(seed: 3)
        for _ in 0..<20 {
            let scene = try Scene(room: 8)
            var written = 0
            for _ in 0..<30 {
                for _ in 0..<Int.random(in: 0...12, using: &random) {
                    scene.ring.write("line \(written)")
                    written += 1
                }
                if Bool.random(using: &random) { scene.start() }
                scene.look()
            }
            let stored = try scene.stored
            var seen = stored.messages.compactMap { Int($0.dropFirst(5)) }
            for report in stored.reports {
                let words = report.split(separator: " ")
                let from = try #require(words.first { $0.hasPrefix("from=") }.flatMap { Int($0.dropFirst(5)) })
                let to = try #require(words.first { $0.hasPrefix("to=") }.flatMap { Int($0.dropFirst(3)) })
                seen += from...to
            }
            // Nothing was promised of what was overwritten before the first look.
            #expect(seen.sorted() == Array((seen.min() ?? written)..<written))
        }
    }

    @Test func `Another boot is read from its first record, and what it overwrote is told`() throws {
        let scene = try Scene(room: 3)
        for number in 0..<3 { scene.ring.write("old \(number)") }
        scene.look()
        scene.ring.restart("boot-2")
        for number in 0..<5 { scene.ring.write("new \(number)") }
        scene.start()
        scene.look()
        #expect(try scene.stored.messages == ["old 0", "old 1", "old 2", "new 2", "new 3", "new 4"])
        #expect(try scene.stored.reports.map { $0.hasSuffix("boot=boot-2 from=0 records=2 to=1") } == [true])
    }

    @Test func `The first start may pass by what is there, and later starts go on`() throws {
        let scene = try Scene(room: 5) { $0.start = .now }
        for number in 0..<9 { scene.ring.write("line \(number)") }
        scene.look()
        // The place is stored though no line is.
        scene.start()
        scene.ring.write("line 9")
        scene.look()
        #expect(try scene.stored.messages == ["line 9"])
        #expect(try scene.stored.reports.isEmpty)
    }

    @Test func `The first start may begin at a time`() throws {
        let origin = ManualIntakeClock().clock.wallMicroseconds() - ManualIntakeClock().clock.monotonicMicroseconds()
        let scene = try Scene { $0.start = .since(origin + 7_000_000) }
        for number in 0..<10 { scene.ring.write("line \(number)") }
        scene.look()
        scene.ring.write("line 10", microseconds: 1)
        scene.look()
        // The last one comes behind the first reading, so its time does not count.
        #expect(try scene.stored.messages == ["line 7", "line 8", "line 9", "line 10"])
    }

    @Test func `A clock that is set back changes neither the order nor the kernel's own time`() throws {
        let scene = try Scene()
        scene.ring.write("before", microseconds: 61_000_000)
        scene.look()
        scene.clock.set(wallBackMilliseconds: 86_400_000)
        scene.ring.write("after", microseconds: 62_000_001)
        scene.look()
        let lines = try StoredLines(scene.directory.file("logs"))
        #expect(lines.messages == ["before", "after"])
        #expect(lines.metadata.map { $0.contains("monotonic=61.000000") } == [true, false])
        #expect(lines.metadata.map { $0.contains("monotonic=62.000001") } == [false, true])
        #expect(lines.metadata.allSatisfy { $0.contains("boot=boot-1") })
    }

    @Test func `Levels follow from priorities, and the record's fields are metadata`() throws {
        let scene = try Scene { $0.priority = 6 }
        scene.ring.write("error", priority: 3, fields: " SUBSYSTEM=usb\n DEVICE=c189:0\n")
        scene.ring.write("notice of a program", priority: 13)
        scene.ring.write("debug", priority: 7)
        scene.look()
        let lines = try StoredLines(scene.directory.file("logs"))
        #expect(lines.messages == ["error", "notice of a program"])
        #expect(scene.committer.status.written[.error] == 1 && scene.committer.status.written[.information] == 1)
        #expect(
            lines.metadata[0].contains("device=c189:0 facility=kern") && lines.metadata[0].contains("subsystem=usb"))
        #expect(lines.metadata[1].contains("facility=user"))
    }

    @Test func `A record that is longer than the buffer is read all the same`() throws {
        let scene = try Scene()
        let long = String(repeating: "x", count: 40_000)
        for text in ["a", long, "b"] { scene.ring.write(text) }
        scene.look()
        #expect(try scene.stored.messages == ["a", long, "b"])
        #expect(try scene.stored.reports.isEmpty)
    }

    @Test func `A ring that may not be read is named with the remedy, and read when it may be`() throws {
        let directory = try TemporaryDirectory()
        let ring = ScriptedKernelRing(room: 9)
        ring.write("line")
        var isAllowed = false
        var configuration = KernelIntake.Configuration()
        configuration.start = .all
        let source = KernelIntake(configuration, clock: .system, bootID: { "boot" }) { () throws(IntakeFailure) in
            guard isAllowed else { throw KernelDevice.failure(EPERM) }
            return ring.open()
        }
        var store = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
        store.applicationIdentifier = "kernel"
        let committer = IntakeCommitter(store, source: source)
        #expect(committer.step() == .idle)
        let problem = committer.status.lag.problems.first ?? ""
        #expect(problem.contains("kernel.dmesg_restrict") && problem.contains("CAP_SYSLOG"), "\(problem)")
        #expect(committer.status.lag.parts == 0)
        isAllowed = true
        #expect(committer.step() == .idle)
        #expect(committer.status.lag.parts == 1)
        #expect(committer.status.lag.problems.isEmpty && committer.status.written.total == 1)
    }

    @Test(.enabled(if: access("/dev/kmsg", R_OK | W_OK) == 0, "needs /dev/kmsg"))
    func `The ring of the machine is read, and a new record once`() throws {
        let directory = try TemporaryDirectory()
        var store = LogStore.Configuration(directory: directory.file("logs"), applicationName: "test")
        store.applicationIdentifier = "kernel"
        let committer = IntakeCommitter(store, source: KernelIntake(KernelIntake.Configuration()))
        while committer.step() == .more {}
        try #require(committer.status.lag.problems.isEmpty, "\(committer.status.lag.problems)")
        let text = "a test of an intake, process \(getpid()): caf\u{E9} \\ end"
        let device = open("/dev/kmsg", O_WRONLY | O_CLOEXEC)
        try #require(device >= 0)
        defer { close(device) }
        let record = "<13>\(text)\n"
        try #require(write(device, record, record.utf8.count) == record.utf8.count)
        while committer.step() == .more {}
        while committer.step() == .more {}
        // Others may write meanwhile. The store shows a backslash as two.
        let mine = try StoredLines(directory.file("logs")).messages.filter { $0.contains("process \(getpid()):") }
        #expect(mine.count == 1 && mine.first?.contains("caf\u{E9}") == true, "\(mine)")
    }
}
