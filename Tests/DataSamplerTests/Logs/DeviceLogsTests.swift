import DeviceTunables
import DeviceTestKit
import Foundation
import LogStore
import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// Logs of a whole data sampler: kept, asked for, uploaded, against a collector without a network.
@Suite(.serialized, .timeLimit(.minutes(10))) struct DeviceLogsTests {
    private func profile(_ change: (inout WireLoggingProfile) -> Void) -> WireProfile {
        var profile = WireProfile.analyticsOn
        change(&profile.logging)
        return profile
    }

    /// Lines of all uploads that are complete, in the order of their numbers.
    private func uploaded(_ bench: SamplerBench, type: WireLogType = .application) -> [String] {
        bench.collector.uploads.all.values.filter { $0.isComplete && $0.manifest.type == type }.flatMap { upload in
            upload.manifest.chunks.flatMap { chunk in
                String(decoding: upload.chunks[chunk.number] ?? Data(), as: UTF8.self).split(separator: "\n").map(
                    String.init)
            }
        }
    }

    private func message(_ line: String) -> String {
        Array(line.utf8).withUnsafeBytes { bytes in
            LogLine(bytes).map { String(decoding: bytes[$0.message], as: UTF8.self) } ?? line
        }
    }

    private func request(_ id: UInt8, _ change: (inout WireRequestLogs) -> Void) -> WireCommand {
        var command = WireCommand()
        command.id = Data(repeating: id, count: 16)
        command.expires = 1_000_000_000_000
        change(&command.requestLogs)
        return command
    }

    /// Asks by a command and waits for its end.
    private func ask(_ bench: SamplerBench, _ sampler: DataSampler, _ command: WireCommand) async throws
        -> WireCommandResult
    {
        let enrollment = try #require(try sampler.running().core.identity.load()).enrollmentID
        try sampler.running().parts.commands.received(
            [with(command, enrollment)], enrollment: enrollment, serverTime: 1)
        var last: WireCommandResult?
        try await bench.arrived {
            // Numbers begin anew with an epoch, so the end of a wipe need not have the highest.
            last = try await bench.results().map(\.result).first {
                $0.commandID == command.id && [.done, .failed, .unsupported, .expired].contains($0.state)
            }
            return last != nil
        }
        return try #require(last)
    }

    private func with(_ command: WireCommand, _ enrollment: Data) -> WireCommand {
        var command = command
        command.enrollmentID = enrollment
        return command
    }

    private func withSampler(
        _ bench: SamplerBench, _ change: (inout DataSamplerConfiguration) -> Void = { _ in },
        _ body: (DataSampler) async throws -> Void
    ) async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path, change: change)
        try await sampler.start()
        try await bench.arrived { try await !bench.beacons().isEmpty || bench.collector.enrollments > 0 }
        try await SamplerBench.until { try await sampler.profile() != nil }
        try await body(sampler)
        await sampler.stop()
    }

    @Test func `A request brings exactly the lines it asks for`() async throws {
        let bench = SamplerBench()
        try await withSampler(bench) { sampler in
            let logs = try sampler.logs()
            for number in 1...50 {
                logs.information("step \(number)", category: "app.work")
                if number.isMultiple(of: 10) { logs.error("failed \(number)", category: "app.work") }
            }
            logs.error("elsewhere", category: "net")
            let result = try await ask(
                bench, sampler,
                request(1) {
                    $0.mode = .snapshot
                    $0.level = .warning
                    $0.categories = ["app.*"]
                })
            #expect(result.state == .done)
            #expect(uploaded(bench).map(message) == (1...5).map { "failed \($0 * 10)" })
            let manifest = try #require(bench.collector.uploads.all.values.first?.manifest)
            #expect(manifest.commandID == Data(repeating: 1, count: 16))
            #expect(manifest.logEpoch.count == 16 && manifest.chunks.allSatisfy { $0.rawBytes <= 5_000_000 })
        }
    }

    @Test func `Lines of several applications are uploaded separately`() async throws {
        let bench = SamplerBench()
        try await withSampler(bench, { $0.applicationIdentifier = "own" }) { sampler in
            try sampler.logs().error("mine")
            for (application, message) in [("own", "mine too"), ("", "and this"), ("other", "theirs")] {
                let delivery = try await sampler.deliverLogs([LogEntry(.error, message)], of: application)
                #expect(delivery.written == 1)
            }
            let filtered = try await sampler.deliverLogs([LogEntry(.verbose, "too much")], of: "other")
            #expect(filtered.written == 0 && filtered.ring == 1)
            let tooLong = await #expect(throws: DataSamplerError.self) {
                try await sampler.deliverLogs([LogEntry(.error, "x")], of: String(repeating: "x", count: 201))
            }
            #expect(tooLong?.code == .invalidArgument)
            func uploads(_ command: UInt8) -> [String: [String]] {
                bench.collector.uploads.all.values.filter {
                    $0.isComplete && $0.manifest.commandID == Data(repeating: command, count: 16)
                }.reduce(into: [:]) { all, upload in
                    for chunk in upload.manifest.chunks {
                        #expect(chunk.fileName.hasPrefix("\(upload.manifest.application)-"))
                        all[upload.manifest.application, default: []] += String(
                            decoding: upload.chunks[chunk.number] ?? Data(), as: UTF8.self
                        ).split(separator: "\n").map { message(String($0)) }
                    }
                }
            }
            let all = try await ask(bench, sampler, request(1) { $0.level = .error })
            #expect(all.state == .done)
            #expect(uploads(1) == ["own": ["mine", "mine too", "and this"], "other": ["theirs"]])
            let one = try await ask(
                bench, sampler,
                request(2) {
                    $0.level = .error
                    $0.application = "other"
                })
            #expect(one.state == .done && uploads(2) == ["other": ["theirs"]])
            let none = try await ask(bench, sampler, request(3) { $0.application = "nobody" })
            #expect(none.detail == "no line matches")
            // The newest lines of all programs fill a budget.
            let newest = try await ask(
                bench, sampler,
                request(4) {
                    $0.level = .error
                    $0.maximumBytes = 60
                })
            #expect(newest.state == .done && uploads(4) == ["other": ["theirs"]])
        }
    }

    @Test func `A request for more applications than can be sent at a time fails at once`() async throws {
        let bench = SamplerBench()
        try await withSampler(bench) { sampler in
            for number in 0...Tunables.Uploads.maximumOpen {
                _ = try await sampler.deliverLogs([LogEntry(.error, "line")], of: "application-\(number)")
            }
            let all = try await ask(bench, sampler, request(1) { $0.level = .error })
            #expect(all.state == .failed && all.detail.contains("ask for one application"), "\(all)")
            let one = try await ask(bench, sampler, request(2) { $0.application = "application-7" })
            #expect(one.state == .done && bench.collector.uploads.all.count == 1)
        }
    }

    @Test func `A request that finds nothing is done`() async throws {
        let bench = SamplerBench()
        try await withSampler(bench) { sampler in
            let result = try await ask(bench, sampler, request(1) { $0.text = "no line has this" })
            #expect(result.state == .done && result.detail == "no line matches")
            #expect(bench.collector.uploads.all.isEmpty)
        }
    }

    @Test func `A capture writes down to its level for its time and sends what came`() async throws {
        let bench = SamplerBench()
        try await withSampler(bench) { sampler in
            let logs = try sampler.logs()
            logs.information("before")
            async let ended = ask(
                bench, sampler,
                request(1) {
                    $0.mode = .capture
                    $0.captureSeconds = 1
                    $0.level = .verbose
                })
            try await SamplerBench.until { logs.level == .verbose }
            logs.verbose("while")
            #expect(try await ended.state == .done)
            #expect(uploaded(bench).map(message).contains("while"))
            #expect(!uploaded(bench).map(message).contains("before"))
            #expect(logs.level == .information)
        }
    }

    /// A directory in which an agent was killed while a capture ran.
    private func directoryWithCapture(wallTime: Int64) throws -> TemporaryDirectory {
        let directory = try TemporaryDirectory()
        var ledger = LogRequestLedger()
        var capture = WireRequestLogs()
        (capture.mode, capture.captureSeconds, capture.level) = (.capture, 600, .verbose)
        ledger.began(Data(repeating: 1, count: 16), capture, queueTime: 0, wallTime: wallTime)
        try LogRequestLedger.file(in: directory.path).save(ledger)
        return directory
    }

    @Test
    func `After a kill the level of a capture is in force before the first line is taken`() async throws {
        let bench = SamplerBench()
        let directory = try directoryWithCapture(wallTime: 0)
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        let delivery = try sampler.running().parts.logs.deliver([LogEntry(.verbose, "first")], of: "other")
        #expect(delivery.written == 1, "\(delivery)")
        await sampler.stop()
    }

    @Test
    func `Lines that are logged while no agent runs belong to a capture that still runs`() throws {
        let directory = try directoryWithCapture(wallTime: 1_000_000)
        let configuration = SamplerBench.configuration(directory.path)
        func deliver(seconds: Int64) throws -> LogDelivery {
            try OfflineLogs(configuration, wallTime: seconds * 1_000_000).deliver([LogEntry(.verbose, "line")])
        }
        #expect(try deliver(seconds: 600).written == 1)
        let late = try deliver(seconds: 601)
        #expect(late.written == 0 && late.ring == 1, "it is over after its 600 seconds: \(late)")
    }

    @Test(arguments: [true, false])
    func `Under do-not-disturb no line is written without an agent, if it is allowed`(_ isAllowed: Bool) throws {
        let directory = try TemporaryDirectory()
        var profile = WireProfile.analyticsOn
        profile.doNotDisturbAllowed = isAllowed
        try StoredProfile.file(in: directory.path).save(
            StoredProfile(revision: 1, etag: "", audience: "", fetched: 0, profile: profile.encoded))
        var decision = DoNotDisturbState()
        decision.decided(true, request: Data(repeating: 1, count: 16), at: 0)
        try DoNotDisturbState.file(in: directory.path).save(decision)
        let logs = try OfflineLogs(SamplerBench.configuration(directory.path), wallTime: 0)
        let delivery = logs.deliver([LogEntry(.error, "line")])
        #expect(delivery.written == (isAllowed ? 0 : 1) && delivery.ring == 0, "\(delivery)")
    }

    @Test func `A cancelled request ends and sends nothing`() async throws {
        let bench = SamplerBench()
        try await withSampler(bench) { sampler in
            let logs = try sampler.logs()
            let enrollment = try #require(try sampler.running().core.identity.load()).enrollmentID
            let capture = request(1) {
                $0.mode = .capture
                $0.captureSeconds = 86_400
                $0.level = .verbose
            }
            try sampler.running().parts.commands.received(
                [with(capture, enrollment)], enrollment: enrollment, serverTime: 1)
            try await SamplerBench.until { logs.level == .verbose }
            logs.verbose("while")
            var cancel = WireCommand()
            cancel.id = Data(repeating: 2, count: 16)
            cancel.expires = capture.expires
            cancel.cancel.commandID = capture.id
            #expect(try await ask(bench, sampler, cancel).state == .done)
            #expect(try await bench.results().map(\.result).last { $0.commandID == capture.id }?.state == .failed)
            #expect(logs.level == .information)
            #expect(bench.collector.uploads.all.isEmpty)
        }
    }

    @Test func `The profile decides level and what is scrubbed`() async throws {
        let bench = SamplerBench(
            profile: profile {
                $0.level = .warning
                $0.scrubValues = ["hunter2"]
            })
        try await withSampler(bench) { sampler in
            let logs = try sampler.logs()
            try await SamplerBench.until { logs.level == .warning }
            logs.information("not written")
            logs.warning("password hunter2 given", metadata: ["p": "hunter2"])
            #expect(try await sampler.sendLogs() > 0)
            try await bench.arrived { !uploaded(bench).isEmpty }
            let lines = uploaded(bench).filter { $0.contains("password") }
            #expect(lines.count == 1 && !lines[0].contains("hunter2"))
            #expect(!uploaded(bench).contains { $0.contains("not written") })
        }
    }

    @Test func `What the configuration scrubs is scrubbed from the first line on`() async throws {
        let bench = SamplerBench(profile: profile { $0.scrubValues = ["theirs"] })
        try await withSampler(bench, { $0.logScrubbing.values = ["hunter2"] }) { sampler in
            let logs = try sampler.logs()
            logs.error("password hunter2")
            try await sampler.reloadProfile()
            logs.error("password hunter2 and theirs")
            #expect(try await sampler.sendLogs() > 0)
            try await bench.arrived { uploaded(bench).filter { $0.contains("password") }.count == 2 }
            #expect(!uploaded(bench).contains { $0.contains("hunter2") || $0.contains("theirs") })
        }
    }

    @Test func `Logging that is switched off writes nothing`() async throws {
        let bench = SamplerBench(profile: profile { $0.enabled = false })
        try await withSampler(bench) { sampler in
            let logs = try sampler.logs()
            try await SamplerBench.until { logs.level == nil }
            logs.error("not written")
            #expect(logs.status.written == LogLevelCounts())
            #expect(
                await SamplerBench.code { () throws(DataSamplerError) in _ = try await sampler.sendLogs() }
                    == .networkNotAllowed, "what was kept before stays, too")
        }
    }

    @Test func `While logging is switched off, beacons go on`() async throws {
        let bench = SamplerBench(profile: profile { $0.enabled = false })
        try await withSampler(bench, { $0.beaconInterval = 900 }) { sampler in
            let logs = try sampler.logs()
            try await SamplerBench.until { logs.level == nil }
            #expect(try await sampler.status().beaconInterval == 900)
            try await sampler.sendBeacon(deliveredWithin: .seconds(300))
            #expect(try await bench.beacons().last?.profileRevision == 1)
        }
    }

    @Test func `Logs over Wi-Fi only is a typed error, and the logs stay`() async throws {
        let bench = SamplerBench()
        try await withSampler(bench, { $0.logsOverWiFiOnly = true }) { sampler in
            let logs = try sampler.logs()
            logs.error("kept")
            // The network's class is not known here, so it is not Wi-Fi.
            #expect(
                await SamplerBench.code { () throws(DataSamplerError) in _ = try await sampler.sendLogs() }
                    == .networkNotAllowed)
            #expect(bench.collector.uploads.all.isEmpty)
            #expect(try await sampler.sendLogs(whenAllowed: true) > 0)
            try await SamplerBench.until {
                try await sampler.logUploads().contains { $0.detail.contains("does not allow") }
            }
            #expect(bench.collector.uploads.all.isEmpty)
        }
    }

    @Test func `A crash of the session before is uploaded by itself and once`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        // A session that nobody holds.
        let logs = "\(directory.path)/logs"
        try FileManager.default.createDirectory(atPath: logs, withIntermediateDirectories: true)
        try "ws1log-session 1\napplication kiosk\nversion 1\nprocess 4711\nstarted 5\nboot other\n".write(
            toFile: "\(logs)/0000000001.session", atomically: false, encoding: .utf8)
        for _ in 1...2 {
            let sampler = try bench.sampler(directory.path)
            try await sampler.start()
            try await bench.arrived { bench.collector.uploads.all.values.contains { $0.isComplete } }
            await sampler.stop()
        }
        let lines = uploaded(bench, type: .crash)
        #expect(lines.count == 1 && lines.first?.contains("crash kiosk the machine went down") == true)
        #expect(bench.collector.uploads.all.count == 1)
    }

    @Test func `A wipe erases logs and ends their uploads`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.logsOverWiFiOnly = true }
        try await sampler.start()
        try await SamplerBench.until { try await sampler.profile() != nil }
        let logs = try sampler.logs()
        logs.error("secretword in a line")
        #expect(try await sampler.sendLogs(whenAllowed: true) > 0)
        var wipe = WireCommand()
        wipe.id = Data(repeating: 9, count: 16)
        wipe.expires = 1_000_000_000_000
        wipe.wipe = WireWipe()
        #expect(try await ask(bench, sampler, wipe).state == .done)
        #expect(try await sampler.logUploads().allSatisfy { $0.phase == .cancelled })
        try await SamplerBench.until { logs.level == .information }
        for file in try FileManager.default.subpathsOfDirectory(atPath: "\(directory.path)/logs") {
            let bytes = try Data(contentsOf: URL(filePath: "\(directory.path)/logs/\(file)"))
            #expect(!file.hasSuffix(".gz") && !String(decoding: bytes, as: UTF8.self).contains("secretword"), "\(file)")
        }
        #expect(logs.status.dropped[.deleted]?.total ?? 0 >= 1)
        logs.error("after it")
        #expect(try await sampler.sendLogs(whenAllowed: true) > 0)
        await sampler.stop()
    }

    @Test func `A program's own store is used and stays open`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let store = try LogStore(.init(directory: "\(directory.path)/own", applicationName: "kiosk"))
        store.information("before the start")
        try await withSampler(bench, { $0.logStore = store }) { sampler in
            #expect(try sampler.logs() === store)
            #expect(try await sampler.sendLogs() > 0)
            try await bench.arrived { !uploaded(bench).isEmpty }
            #expect(uploaded(bench).map(message).contains("before the start"))
        }
        store.error("after the stop")
        #expect(store.status.written.total >= 2)
        await store.close()
    }
}
