import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import RecordStore
import SampleModules
import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

@Suite(.timeLimit(.minutes(10))) struct DataSamplerTests {
    private let store = InMemoryRecordStore()

    private func configuration(_ directory: String, token: String? = "enrollment-token") -> DataSamplerConfiguration {
        var configuration = DataSamplerConfiguration(
            sampleModules: [.system, .analytics], defaultSampleInterval: 1, defaultTransmitInterval: 1,
            traceLevel: .off,
            directory: directory,
            collectorURL: "https://collector.test", enrollmentToken: token)
        // Events need the module. Its own samples would only be in the way.
        configuration.moduleIntervals["analytics"] = .init(sampleInterval: 86_400)
        configuration.applicationIdentifier = "com.example.app"
        configuration.applicationVersion = "2.1"
        configuration.eventHold = 0
        configuration.lossWindow = 0
        return configuration
    }

    private func environment(_ transport: any Transport, slot: ProcessSlot = ProcessSlot()) -> SamplerEnvironment {
        var environment = SamplerEnvironment()
        environment.slot = slot
        environment.lockWait = .zero
        environment.machineHash = "machine"
        // Only beacons that a test asks for, and those of start and stop.
        environment.beaconChangeDelay = .seconds(36_000)
        environment.conditions = { _, _ in UnknownConditions() }
        environment.detectors = { _, _, _ in [] }
        environment.connect = { _ in SamplerEnvironment.Connection(transport: transport) {} }
        return environment
    }

    private func sampler(
        _ directory: String, _ transport: any Transport, slot: ProcessSlot = ProcessSlot(),
        change: (inout DataSamplerConfiguration) -> Void = { _ in }
    ) throws -> DataSampler {
        var configuration = configuration(directory)
        change(&configuration)
        return try DataSampler(
            configuration: configuration, environment: environment(transport, slot: slot), logger: Logger(label: "test")
        )
    }

    /// What arrived, in the order of its numbers.
    private func stored(_ collector: LoopbackCollector, _ stream: StreamName) async throws -> [StoredRecord] {
        try await store.records(of: collector.device, stream: stream, kind: nil, module: nil, before: nil, limit: 1000)
            .records
            .sorted { $0.header.number < $1.header.number }
    }

    @Test func `Samples, events and beacons arrive once, and an orderly stop leaves nothing due behind`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        let sampler = try sampler(directory.path, collector)
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.recordEvent(
            eventName: "door.opened", eventValue: .integer(7), attributes: ["side": .string("left")])
        try await sampler.recordEvent(.customEvent, eventName: "ratio", eventValue: "0.5", valueType: .double)
        try await sampler.recordEvent(eventName: "kept", eventValue: .boolean(true), durability: .durable)
        try await sampler.sendBeacon()
        await sampler.stop()

        let events = try await stored(collector, .event)
        let bodies = try events.map { try WireEvent.decode($0.header.body(of: $0.bytes)) }
        #expect(
            bodies.map(\.name).filter { !SamplerBench.usageEvents.contains($0) } == ["door.opened", "ratio", "kept"])
        #expect(bodies.map(\.name).count { $0 == "launch" } == 1)
        let opened = try #require(bodies.first { $0.name == "door.opened" })
        #expect(opened.value.integer == 7)
        #expect(opened.attributes["side"]?.text == "left")
        #expect(bodies.allSatisfy { $0.sessionID.count == 16 })
        #expect(Set(bodies.map(\.sessionID)).count == 1)
        #expect(events.allSatisfy { $0.header.application == "com.example.app" })

        let status = try await stored(collector, .status)
        let beacons = try status.map { try WireBeacon.decode($0.header.body(of: $0.bytes)) }
        #expect(beacons.map(\.trigger) == [.start, .demand])
        let beacon = try #require(beacons.last)
        #expect(beacon.application == "com.example.app")
        #expect(beacon.applicationVersion == "2.1")
        #expect(beacon.deviceCompliance == .unknown)
        #expect(beacon.compromised == .unknown)
        #expect(!beacon.deviceName.isEmpty)
        #expect(beacon.nextBeaconSeconds == 0)

        let samples = try await stored(collector, .sample)
        #expect(!samples.isEmpty)
        #expect(Set(samples.map(\.header.module)).isSubset(of: ["system", "analytics"]))
        #expect(collector.enrollments == 1)

        let offline = try await OfflineSampler.open(configuration(directory.path), logger: Logger(label: "test"))
        let balance = try await offline.balance()
        await offline.close()
        #expect(balance.closes)
        #expect(balance.streams.values.allSatisfy { $0.waiting == 0 && $0.produced == $0.stored })
    }

    @Test func `A command that finds the directory held is reported at once`() async throws {
        let directory = try TemporaryDirectory()
        let holder = try await OfflineSampler.open(configuration(directory.path), logger: Logger(label: "test"))
        let configuration = configuration(directory.path)
        let waited = await ContinuousClock().measure {
            let error = await #expect(throws: DataSamplerError.self) {
                try await OfflineSampler.open(configuration, logger: Logger(label: "test"))
            }
            #expect(error?.code == .queueInUse)
        }
        #expect(waited < .seconds(4))
        await holder.close()
    }

    @Test func `Without a collector everything waits on disk, and the next start sends it`() async throws {
        let directory = try TemporaryDirectory()
        // An earlier run has left a profile behind.
        try StoredProfile.file(in: directory.path).save(
            StoredProfile(revision: 1, etag: "", audience: "", fetched: 0, profile: WireProfile.analyticsOn.encoded))
        let unreachable = ScriptedTransport { _ throws(TransportError) in
            throw TransportError(.connectionRefused, "nobody listens")
        }
        let first = try sampler(directory.path, unreachable)
        try await first.start()
        try await first.recordEvent(eventName: "early", eventValue: .string("x"), durability: .durable)
        await first.stop()

        let collector = LoopbackCollector(store: store)
        let second = try sampler(directory.path, collector)
        try await second.start()
        await second.stop()
        let events = try await stored(collector, .event)
        // Each start is a launch.
        let names = try events.map { try WireEvent.decode($0.header.body(of: $0.bytes)).name }
        #expect(names.filter { $0 != "enrollment" } == ["launch", "early", "launch"])
    }

    @Test func `A schedule sends at its start and says at its end that it ends`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        let sampler = try sampler(directory.path, collector) { $0.beaconInterval = 900 }
        try await sampler.start()
        let status = try await sampler.status()
        #expect(status.beaconInterval == 900)
        // Either the first one itself, or one after it: then the first has been made.
        try await sampler.sendBeacon()
        await sampler.stop()
        let records = try await stored(collector, .status)
        let beacons = try records.map { try WireBeacon.decode($0.header.body(of: $0.bytes)) }
        #expect(beacons.first?.trigger == .start)
        #expect(beacons.last?.trigger == .stop)
        #expect(beacons.last?.nextBeaconSeconds == 0)
        #expect(beacons.dropLast().allSatisfy { $0.nextBeaconSeconds == 900 })
        #expect(beacons.map(\.beaconSequence) == (1...UInt64(beacons.count)).map { $0 })
    }

    @Test func `Starting and stopping a beacon schedule is idempotent at its end`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try sampler(directory.path, LoopbackCollector(store: store))
        await #expect(throws: DataSamplerError.self) { try await sampler.startSendingDeviceStatusBeacon() }
        func interval() async -> Double? { try? await sampler.status().beaconInterval }
        try await sampler.start()
        try await sampler.startSendingDeviceStatusBeacon(transmitFrequency: 5)
        #expect(await interval() == 60)
        try await sampler.startSendingDeviceStatusBeacon(transmitFrequency: 120)
        #expect(await interval() == 120)
        await sampler.stopSendingDeviceStatusBeacon()
        await sampler.stopSendingDeviceStatusBeacon()
        #expect(await interval() == nil)
        await sampler.stop()
    }

    @Test func `A beacon schedule that is set by a call does not outlive the process`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        for isFirst in [true, false] {
            let sampler = try sampler(directory.path, collector)
            try await sampler.start()
            #expect(try await sampler.status().beaconInterval == nil)
            if isFirst {
                try await sampler.startSendingDeviceStatusBeacon(transmitFrequency: 120)
                #expect(try await sampler.status().beaconInterval == 120)
            }
            await sampler.stop()
        }
    }

    @Test func `One runs per process: a second start is a typed error, and a stop makes room`() async throws {
        let one = try TemporaryDirectory()
        let two = try TemporaryDirectory()
        let slot = ProcessSlot()
        let first = try sampler(one.path, LoopbackCollector(store: store), slot: slot)
        let second = try sampler(two.path, LoopbackCollector(store: store), slot: slot)
        try await first.start()
        for sampler in [first, second] {
            let error = await #expect(throws: DataSamplerError.self) { try await sampler.start() }
            #expect(error?.code == .alreadyStarted)
        }
        await first.stop()
        try await second.start()
        await second.stop()
    }

    @Test func `A directory that another holds is a typed error, and the start leaves nothing behind`() async throws {
        let directory = try TemporaryDirectory()
        let first = try sampler(directory.path, LoopbackCollector(store: store))
        let slot = ProcessSlot()
        let second = try sampler(directory.path, LoopbackCollector(store: store), slot: slot)
        try await first.start()
        let error = await #expect(throws: DataSamplerError.self) { try await second.start() }
        #expect(error?.code == .queueInUse)
        await first.stop()
        try await second.start()
        await second.stop()
    }

    @Test func `A damaged identity stops the start and is not replaced`() async throws {
        let directory = try TemporaryDirectory()
        let path = "\(directory.path)/identity"
        try Data("{}".utf8).write(to: URL(filePath: path))
        let sampler = try sampler(directory.path, LoopbackCollector(store: store))
        let error = await #expect(throws: DataSamplerError.self) { try await sampler.start() }
        #expect(error?.code == .identity)
        let kept = try Data(contentsOf: URL(filePath: path))
        #expect(kept == Data("{}".utf8))
    }

    @Test func `A device whose identity file is gone goes on as the same device`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        let first = try sampler(directory.path, collector)
        try await first.start()
        try await first.sendBeacon()
        await first.stop()
        let device = collector.device
        try FileManager.default.removeItem(atPath: "\(directory.path)/identity")
        // No token: who has no identity could not enroll.
        let second = try sampler(directory.path, collector) { $0.enrollmentToken = nil }
        try await second.start()
        try await second.sendBeacon()
        await second.stop()
        #expect(collector.enrollments == 1 && collector.device == device)
        let offline = try await OfflineSampler.open(configuration(directory.path), logger: Logger(label: "test"))
        #expect(
            try await offline.balance().streams["status"]?.waiting == 0,
            "what was recorded since was taken as the device's own")
        await offline.close()
    }

    @Test func `A queue that lost its newest records is reported: in the status, and as a notice`() async throws {
        let directory = try TemporaryDirectory()
        let offline = try await OfflineSampler.open(configuration(directory.path), logger: Logger(label: "test"))
        for _ in 1...3 { _ = try await offline.sendBeacon() }
        let image = "\(directory.path)/image"
        try FileManager.default.createDirectory(atPath: image, withIntermediateDirectories: true)
        // As a kill leaves it, but for the WAL.
        for name in ["queue.sqlite", "queue.epoch"] {
            try FileManager.default.copyItem(atPath: "\(directory.path)/\(name)", toPath: "\(image)/\(name)")
        }
        await offline.close()

        let sampler = try sampler(image, LoopbackCollector(store: store))
        let notices = sampler.notices
        try await sampler.start()
        let reported = try #require(await notices.first { $0.kind == .queueSalvaged })
        #expect(reported.details["lost"] == "3" && reported.details["salvaged"] == "0", "\(reported)")
        let status = try await sampler.status()
        let salvage = try #require(status.salvages?.last)
        #expect(
            salvage.lost == 3 && salvage.cause.contains("queue.epoch") && salvage.file.hasPrefix("queue.corrupt-1-"),
            "\(salvage)")
        #expect(!salvage.cause.contains("move it"), "what was carried out is no remedy: \(salvage.cause)")
        await sampler.stop()
        let balance = try await { () async throws in
            let offline = try await OfflineSampler.open(configuration(image), logger: Logger(label: "test"))
            let balance = try await offline.balance()
            await offline.close()
            return balance
        }()
        #expect(balance.closes && balance.streams["status"]?.dropped["salvage"] == 3, "\(balance)")
    }

    @Test func `Before the start, after the stop and with analytics off events are refused`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try sampler(directory.path, LoopbackCollector(store: store)) { $0.analyticsEnabled = false }
        func record() async -> DataSamplerError.Code? {
            do throws(DataSamplerError) {
                try await sampler.recordEvent(eventName: "e", eventValue: .integer(1))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(await record() == .notRunning)
        try await sampler.start()
        #expect(await record() == .analyticsDisabled)
        // Analytics does not gate beacons.
        try await sampler.sendBeacon()
        await sampler.stop()
        #expect(await record() == .notRunning)
        await sampler.stop()
    }

    @Test func `Events need the module analytics, and the error says so`() async throws {
        let directory = try TemporaryDirectory()
        var profile = WireProfile.analyticsOn
        profile.sampling.modules = ["system"]
        profile.sampling.modulesGiven = true
        let collector = LoopbackCollector(store: store, profile: profile)
        let sampler = try sampler(directory.path, collector)
        try await sampler.start()
        // Before the first profile it may still name the module.
        try? await sampler.recordEvent(eventName: "early", eventValue: .integer(1))
        _ = try await sampler.firstProfile(within: .seconds(300))
        let missing = await #expect(throws: DataSamplerError.self) {
            try await sampler.recordEvent(eventName: "late", eventValue: .integer(1))
        }
        #expect(missing?.code == .moduleDisabled && missing?.message.contains("module analytics") == true)
        let findings = try await sampler.status().profile.findings
        #expect(findings?.contains { $0.contains("sample module analytics") } == true)
        profile.revision += 1
        profile.sampling.modules = ["system", "analytics"]
        collector.setProfile(profile)
        try await sampler.reloadProfile()
        try await sampler.recordEvent(eventName: "with the module", eventValue: .integer(1))
        await sampler.stop()
        let names = try await stored(collector, .event).map { try WireEvent.decode($0.header.body(of: $0.bytes)).name }
        #expect(names.contains("with the module") && !names.contains("early") && !names.contains("late"))
    }

    @Test func `Status says whether it is enrolled, what holds, and what a module yields`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        let sampler = try sampler(directory.path, collector) {
            $0.enrollmentToken = nil
            $0.eventHold = 7200
        }
        try StoredProfile.file(in: directory.path).save(
            StoredProfile(revision: 1, etag: "", audience: "", fetched: 0, profile: WireProfile.analyticsOn.encoded))
        try await sampler.start()
        try await sampler.recordEvent(eventName: "held", eventValue: .integer(1), durability: .durable)
        let status = try await sampler.status()
        #expect(status.running)
        #expect(!status.enrollment.enrolled)
        #expect(status.enrollment.reason?.isEmpty == false)
        #expect(status.modules.map(\.name) == ["system", "analytics"])
        #expect(status.streams.map(\.name) == ["status", "event", "sample"])
        let event = try #require(status.streams.first { $0.name == "event" })
        #expect(event.waiting == 2 && event.due == 0, "the launch and the event")
        #expect(status.holding.contains { $0.contains("not enrolled") })
        #expect(status.holding.contains { $0.contains("held") })
        let again = try JSONDecoder().decode(DataSamplerStatus.self, from: JSONEncoder().encode(status))
        #expect(again == status)
        await sampler.stop()
    }

    @Test func `Events before the first profile wait for it, over a restart, and go or are dropped as it says`()
        async throws
    {
        for isEnabled in [true, false] {
            let directory = try TemporaryDirectory()
            let collector = LoopbackCollector(store: store, profile: nil)
            var sampler = try sampler(directory.path, collector)
            try await sampler.start()
            try await sampler.recordEvent(eventName: "early", eventValue: .integer(1), durability: .durable)
            #expect(try await sampler.status().streams.first { $0.name == "event" }?.due == 0)
            await sampler.stop()
            #expect(try await stored(collector, .event).isEmpty)

            sampler = try self.sampler(directory.path, collector)
            try await sampler.start()
            var profile = WireProfile.analyticsOn
            profile.analytics.enabled = isEnabled
            collector.setProfile(profile)
            #expect(try await sampler.reloadProfile())
            #expect(try await sampler.profile()?.revision == 1)
            if isEnabled { try await sampler.recordEvent(eventName: "e", eventValue: .integer(1)) }
            await sampler.stop()
            let events = try await stored(collector, .event).map { try WireEvent.decode($0.header.body(of: $0.bytes)) }
            let names = events.map(\.name).filter { !SamplerBench.usageEvents.contains($0) }
            #expect(names == (isEnabled ? ["early", "e"] : []))
            let core = try await SamplerCore.open(
                SamplerBench.configuration(directory.path), environment: SamplerBench.environment(collector),
                logger: Logger(label: "test"))
            let balance = try #require(try await core.balance().streams["event"])
            #expect(balance.closes && balance.waiting == 0)
            #expect((balance.dropped["disabled"] ?? 0 > 0) == !isEnabled, "\(balance)")
            await core.close()
        }
    }

    @Test func `More than a thousand events do not wait for the first profile, whoever recorded them`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store, profile: nil)
        for isFirst in [true, false] {
            let sampler = try sampler(directory.path, collector) { $0.lossWindow = 1 }
            try await sampler.start()
            if isFirst {
                var taken = 0
                while await SamplerBench.code({ () async throws(DataSamplerError) in
                    try await sampler.recordEvent(eventName: "e", eventValue: .integer(1))
                }) == nil { taken += 1 }
                #expect((990...1_000).contains(taken), "launch and enrollment are among them: \(taken)")
            }
            let code = await SamplerBench.code { () async throws(DataSamplerError) in
                try await sampler.recordEvent(eventName: "late", eventValue: .integer(1))
            }
            #expect(code == .profileNotChecked)
            if !isFirst {
                try await sampler.setConsent(.denied)
                try await sampler.setConsent(.granted)
                try await sampler.recordEvent(eventName: "again", eventValue: .integer(1))
            }
            await sampler.stop()
        }
    }

    @Test func `A profile is applied at run time, survives a restart, and a bad one leaves the last good one`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        let first = try sampler(directory.path, collector)
        try await first.start()
        try await first.reloadProfile()
        var profile = WireProfile.analyticsOn
        profile.revision = 2
        profile.analytics.enabled = false
        profile.sampling.sampleSeconds = 30
        profile.customPayload = "payload"
        collector.setProfile(profile)
        #expect(try await first.reloadProfile())
        #expect(try await first.profile()?.customPayload == "payload")
        #expect(try await first.status().modules.first { $0.name == "system" }?.sampleInterval == 30)
        profile.revision = 3
        profile.sampling.sampleSeconds = -1
        collector.setProfile(profile)
        let refused = await #expect(throws: DataSamplerError.self) { try await first.reloadProfile() }
        #expect(refused?.code == .profileRefused)
        #expect(try await first.status().profile.revision == 2)
        await first.stop()

        let second = try sampler(
            directory.path, ScriptedTransport { _ throws(TransportError) in throw TransportError(.timedOut, "away") })
        try await second.start()
        #expect(try await second.status().profile.revision == 2)
        let off = await #expect(throws: DataSamplerError.self) {
            try await second.recordEvent(eventName: "e", eventValue: .integer(1))
        }
        #expect(off?.code == .analyticsDisabled)
        await second.stop()
    }

    @Test func `A wipe counts what waits, begins a new epoch, and recording goes on`() async throws {
        let directory = try TemporaryDirectory()
        let collector = LoopbackCollector(store: store)
        let sampler = try sampler(directory.path, collector) { $0.eventHold = 7200 }
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.recordEvent(eventName: "secret", eventValue: .integer(1), durability: .durable)
        let before = try await sampler.status().epoch
        try await sampler.wipe(reason: "test")
        let after = try await sampler.status()
        #expect(after.epoch != before && after.wipePending == nil)
        #expect(after.streams.first { $0.name == "event" }?.waiting ?? 9 <= 1, "at most the event of the wipe itself")
        try await sampler.recordEvent(eventName: "later", eventValue: .integer(1), durability: .durable)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/\(WipeNote.fileName)"))
        await sampler.stop()
        let events = try await stored(collector, .event)
        #expect(events.isEmpty)
    }
}
