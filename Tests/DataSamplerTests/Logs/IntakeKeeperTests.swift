import Foundation
import Glibc
import Intake
import LogStore
import Logging
import StoreTestKit
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// Files that the device takes into its log store.
@Suite(.timeLimit(.minutes(5))) struct IntakeKeeperTests {
    /// A log file, a store, and a keeper between them.
    private struct Machine {
        let directory: TemporaryDirectory
        var settings = IntakeSettings()

        init() throws {
            directory = try TemporaryDirectory()
            settings.files = [directory.file("*.log")]
            settings.start = .all
        }

        func write(_ lines: [String]) throws {
            let path = directory.file("a.log")
            if !FileManager.default.fileExists(atPath: path) { try Data().write(to: URL(fileURLWithPath: path)) }
            let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try file.seekToEnd()
            try file.write(contentsOf: Data(lines.map { "\($0)\n" }.joined().utf8))
            try file.close()
        }

        /// How many lines are in the file.
        func lines() throws -> Int {
            try Data(contentsOf: URL(fileURLWithPath: directory.file("a.log"))).count { $0 == UInt8(ascii: "\n") }
        }

        func keeper() -> IntakeKeeper {
            let path = directory.file("logs")
            return IntakeKeeper(
                ["web": settings], restMilliseconds: 5, logger: Logger(label: "test")
            ) { name, source, orders in
                var configuration = DataSamplerConfiguration(directory: directory.path, collectorURL: "")
                configuration.encryptsAtRest = false
                var store = LogStore.Configuration(
                    configuration, intake: source, of: name, scrubbing: orders.scrubbing)
                store.directory = path
                return store
            }
        }

        /// Messages that a reader of the store sees, by application.
        func stored() throws -> [String] {
            let directory = StoreDirectory(path: directory.file("logs"))
            guard FileManager.default.fileExists(atPath: directory.path) else { return [] }
            return try IntakeKeeperTests.messages(directory)
        }
    }

    private static func messages(_ directory: StoreDirectory, of application: String = "web") throws -> [String] {
        let snapshot = try StoreSnapshot(directory, kinds: [.intake], application: application)
        let inflater = try BlockInflater()
        var messages: [String] = []
        for segment in snapshot.segments {
            let reader = try SegmentReader.open(segment.name, in: directory, inflater: inflater)
            try reader.read(0..<Int.max, where: { _ in true }) { text, _ in
                for line in LineSlices(text) {
                    guard let fields = LogLine(line) else { continue }
                    messages.append(
                        String(decoding: UnsafeRawBufferPointer(rebasing: line[fields.message]), as: UTF8.self))
                }
            }
        }
        return messages
    }

    private static func orders(
        isStopped: Bool = false, scrubbing: LogScrubbing = LogScrubbing()
    ) -> IntakeKeeper.Orders {
        let settings = DeviceSettings.resolve(
            local: DataSamplerConfiguration(directory: "/", collectorURL: ""), profile: nil)
        return IntakeKeeper.Orders(
            levels: LogLevels(settings: settings.logging, isStopped: isStopped), scrubbing: scrubbing)
    }

    @Test func `Nothing is read before the first plan, and every line after it`() async throws {
        let machine = try Machine()
        try machine.write(["1", "2"])
        let keeper = machine.keeper()
        #expect(keeper.reports?.isEmpty == true)
        keeper.apply(Self.orders())
        try await SamplerBench.until { keeper.reports?.first?.stored == 2 }
        try machine.write(["3"])
        try await SamplerBench.until { keeper.reports?.first?.stored == 3 }
        let report = try #require(keeper.reports?.first)
        #expect(report.application == "web" && report.kind == "files" && report.parts == 1 && report.behindBytes == 0)
        #expect(report.caughtUp != nil && report.failure == nil && report.problems.isEmpty)
        await keeper.close()
        #expect(try machine.stored() == ["1", "2", "3"])
    }

    @Test func `While nothing may be logged lines are passed by, and do not come later`() async throws {
        let machine = try Machine()
        try machine.write(["before"])
        let keeper = machine.keeper()
        keeper.apply(Self.orders())
        try await SamplerBench.until { keeper.reports?.first?.stored == 1 }
        keeper.apply(Self.orders(isStopped: true))
        // The turn under way may still follow the former orders, here and below.
        try await SamplerBench.until {
            try machine.write(["edge"])
            return (keeper.reports?.first?.passedBy ?? 0) > 0
        }
        try machine.write(["during 1", "during 2"])
        let written = try machine.lines()
        try await SamplerBench.until {
            keeper.reports?.first.map { $0.stored + $0.passedBy == UInt64(written) } == true
        }
        keeper.apply(Self.orders())
        try await SamplerBench.until {
            try machine.write(["after"])
            return try machine.stored().contains("after")
        }
        await keeper.close()
        let stored = try machine.stored()
        #expect(stored.first == "before" && Set(stored).subtracting(["edge"]) == ["before", "after"])
    }

    @Test func `Other scrub rules hold for the lines that follow`() async throws {
        let machine = try Machine()
        try machine.write(["hunter2"])
        let keeper = machine.keeper()
        keeper.apply(Self.orders())
        try await SamplerBench.until { try machine.stored() == ["hunter2"] }
        let scrubbing = LogScrubbing(values: ["hunter2"])
        keeper.apply(Self.orders(scrubbing: scrubbing))
        // Nothing is written by the former rules once the reports begin anew.
        try await SamplerBench.until { keeper.reports?.first?.stored == 0 }
        try machine.write(["hunter2"])
        try await SamplerBench.until { try machine.stored().count == 2 }
        await keeper.close()
        #expect(try machine.stored() == ["hunter2", "[scrubbed]"])
    }

    /// A socket that is connected to a datagram socket with that path.
    private static func connected(_ path: String) -> Int32 {
        let descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: Array(path.utf8).prefix($0.count - 1)) }
        let isConnected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size)) == 0
            }
        }
        if isConnected { return descriptor }
        close(descriptor)
        return -1
    }

    @Test func `Syslog is received across a change of the scrub rules, and a stop stores what came`() async throws {
        var machine = try Machine()
        machine.settings = IntakeSettings()
        let path = machine.directory.file("syslog")
        machine.settings.socket = path
        let keeper = machine.keeper()
        keeper.apply(Self.orders())
        try await SamplerBench.until { access(path, W_OK) == 0 }
        let sender = Self.connected(path)
        try #require(sender >= 0)
        defer { close(sender) }
        func write(_ text: String) throws { try #require(send(sender, text, text.utf8.count, 0) == text.utf8.count) }
        try write("<13>one hunter2")
        try await SamplerBench.until { keeper.reports?.first?.stored == 1 }
        keeper.apply(Self.orders(scrubbing: LogScrubbing(values: ["hunter2"])))
        // The same socket goes on, so what is sent meanwhile is not lost.
        try write("<13>two hunter2")
        try await SamplerBench.until { try machine.stored().count == 2 }
        // Nothing waits for these to be stored before the stop.
        for number in 0..<50 { try write("<13>\(number)") }
        await keeper.close()
        let stored = try machine.stored()
        #expect(stored.first == "one hunter2" && stored.count == 52)
        #expect(stored[1].hasPrefix("two ") && stored.suffix(50) == (0..<50).map { "\($0)" }[...])
        #expect(access(path, F_OK) != 0)
    }

    @Test func `What was there before a wipe stays out after it, also with the setting all`() async throws {
        let machine = try Machine()
        try machine.write(["old"])
        let keeper = machine.keeper()
        keeper.apply(Self.orders())
        try await SamplerBench.until { keeper.reports?.first?.stored == 1 }
        keeper.startNow()
        try await keeper.held { () async throws(LogStoreError) in
            let directory = machine.directory.file("logs")
            let store = try LogStore(LogStore.Configuration(directory: directory, applicationName: "test"))
            try store.erase()
            await store.close()
        }
        try await SamplerBench.until { keeper.reports?.first.map { $0.stored == 0 && $0.caughtUp != nil } == true }
        try machine.write(["new"])
        try await SamplerBench.until { keeper.reports?.first?.stored == 1 }
        await keeper.close()
        #expect(try machine.stored() == ["new"])
    }

    @Test func `Another start goes on where the former one was`() async throws {
        let machine = try Machine()
        try machine.write(["1"])
        for number in 1...3 {
            let keeper = machine.keeper()
            keeper.apply(Self.orders())
            try await SamplerBench.until { try machine.stored().count == number }
            await keeper.close()
            try machine.write(["\(number + 1)"])
        }
        #expect(try machine.stored() == ["1", "2", "3"])
    }

    @Test func `An event of several lines begins where the pattern says`() async throws {
        var machine = try Machine()
        machine.settings.eventStart = "[0-9]{4}-"
        try machine.write(["2026-11-29 one", "  2026-11-29 is part of it", "2026-11-30 two", "2026-12-01 open"])
        let keeper = machine.keeper()
        keeper.apply(Self.orders())
        // On a busy machine the open event has waited long enough, and is stored as well.
        try await SamplerBench.until { (keeper.reports?.first?.stored ?? 0) >= 2 }
        await keeper.close()
        #expect(
            try machine.stored().prefix(2) == ["2026-11-29 one\\n  2026-11-29 is part of it", "2026-11-30 two"])
    }

    @Test func `A whole device takes in its files, says so, and stops for do-not-disturb and a wipe`() async throws {
        var profile = WireProfile.analyticsOn
        profile.doNotDisturbAllowed = true
        let bench = SamplerBench(profile: profile)
        let machine = try Machine()
        let data = try TemporaryDirectory()
        try machine.write(["1"])
        let sampler = try bench.sampler(data.path) { $0.intakes = ["web": machine.settings] }
        try await sampler.start()
        try await SamplerBench.until { try await sampler.profile() != nil }
        func intake() async throws -> DataSamplerStatus.Intake? { try await sampler.status().intakes?.first }
        try await SamplerBench.until { try await intake()?.stored == 1 }
        try await sampler.setDoNotDisturb(true)
        try await SamplerBench.until { try await sampler.status().doNotDisturb }
        try machine.write(["2"])
        try await SamplerBench.until { try await intake()?.passedBy == 1 }
        try await sampler.setDoNotDisturb(false)
        try await SamplerBench.until { try await !sampler.status().doNotDisturb }
        let logs = StoreDirectory(path: "\(data.path)/logs")
        // The turn under way may still follow the former orders.
        try await SamplerBench.until {
            try machine.write(["3"])
            return try Self.messages(logs).contains("3")
        }
        #expect(try Set(Self.messages(logs)) == ["1", "3"])
        try await sampler.wipe()
        try await SamplerBench.until { try await sampler.status().wipePending == nil }
        try await SamplerBench.until { try await intake().map { $0.stored == 0 && $0.caughtUp != nil } == true }
        #expect(try Self.messages(logs).isEmpty)
        try machine.write(["4"])
        try await SamplerBench.until { try await intake()?.stored == 1 }
        await sampler.stop()
        #expect(try Self.messages(logs) == ["4"])
    }

    @Test func `A source that cannot be is refused by the name of its key`() throws {
        func refusal(_ name: String, _ change: (inout IntakeSettings) -> Void) -> String {
            var configuration = DataSamplerConfiguration(directory: "/var/lib/x", collectorURL: "https://c.example")
            var settings = IntakeSettings()
            settings.files = ["/var/log/a.log"]
            change(&settings)
            configuration.intakes[name] = settings
            do throws(DataSamplerError) {
                try configuration.validate()
                return "accepted"
            } catch { return error.message }
        }
        #expect(refusal("web") { _ in } == "accepted")
        #expect(refusal("we b") { _ in }.contains("intake.we b"))
        #expect(refusal("web") { $0.files = [] }.contains("intake.web.files"))
        #expect(refusal("web") { $0.files = ["a.log"] }.contains("intake.web.files has 'a.log'"))
        #expect(refusal("web") { $0.files = ["/var/lib/x/logs/*.log"] }.contains("data directory"))
        #expect(refusal("web") { $0.eventStart = "(" }.contains("intake.web.eventStart"))
        #expect(refusal("web") { $0.bytes = 999 }.contains("intake.web.bytes"))
        #expect(refusal("web") { $0.days = 0 }.contains("intake.web.days"))
        #expect(refusal("web") { $0.linesPerSecond = 0 }.contains("intake.web.linesPerSecond"))
        #expect(refusal("web") { ($0.files, $0.journal) = ([], true) } == "accepted")
        #expect(refusal("web") { $0.journal = true }.contains("intake.web has files"))
        #expect(refusal("web") { $0.units = ["a.service"] }.contains("intake.web.units is not for a source of files"))
        #expect(refusal("web") { ($0.files, $0.kernel) = ([], true) } == "accepted")
        #expect(refusal("web") { $0.kernel = true }.contains("intake.web has files and kernel: make a source of each"))
        #expect(refusal("web") { $0.files = [] }.contains("socket, udp or tcp"))
        func syslog(_ change: @escaping (inout IntakeSettings) -> Void) -> String {
            refusal("web") {
                $0.files = []
                change(&$0)
            }
        }
        #expect(syslog { ($0.socket, $0.udp, $0.tcp) = ("/run/x/s", "127.0.0.1:5514", "[::1]:5514") } == "accepted")
        #expect(syslog { $0.tcp = "localhost:5514" } == "accepted")
        #expect(syslog { $0.socket = "s" }.contains("intake.web.socket is 's': it must be an absolute path"))
        #expect(syslog { $0.socket = "/var/lib/x/s" }.contains("data directory"))
        for text in ["5514", "127.0.0.1:0", "127.0.0.1", "host:5514", "::1:5514", "[127.0.0.1]:5514", "127.1:5514"] {
            #expect(syslog { $0.udp = text }.contains("intake.web.udp is '\(text)'"))
        }
        #expect(syslog { $0.udp = "0.0.0.0:514" }.contains("allowRemote"))
        #expect(syslog { ($0.udp, $0.allowRemote) = ("0.0.0.0:514", true) } == "accepted")
        #expect(
            syslog { ($0.udp, $0.start) = ("127.0.0.1:514", .all) }.contains(
                "intake.web.start is not for a source of syslog"))
        #expect(
            refusal("web") { $0.allowRemote = true }.contains("intake.web.allowRemote is not for a source of files"))
        #expect(refusal("web") { ($0.files, $0.journal, $0.priority) = ([], true, 8) }.contains("intake.web.priority"))
    }
}
