import DeviceTestKit
import Foundation
import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler

@Suite(.timeLimit(.minutes(10))) struct DeviceInformationTests {
    private let bench = SamplerBench()

    @Test func `A field without a meaning here says so, and nothing is invented`() {
        let unknown = DeviceInformation(
            present: WireBeacon(), organization: nil, collector: "", collectorVersion: nil)
        let fields = unknown.described
        #expect(fields.count == 12)
        for name in ["singleSignOn", "sharedDevice"] { #expect(fields[name] == "not applicable") }
        #expect(fields.values.filter { $0 == "unknown" }.count == 10)
    }

    @Test func `Verdicts, organization and collector are reported`() {
        var beacon = WireBeacon()
        beacon.enrollment = .wipePending
        beacon.deviceCompliance = .compliant
        beacon.applicationCompliance = .nonCompliant
        beacon.compromised = .no
        beacon.managed = .yes
        let reported = DeviceInformation(
            present: beacon, organization: "west", collector: "https://c.example", collectorVersion: "2.1.0")
        #expect(reported.enrollment == .known(.wipePending) && reported.isCompliant == .known(false))
        #expect(reported.isCompromised == .known(false) && reported.isManaged == .known(true))
        #expect(reported.managementType == .known("managed"))
        #expect(reported.organization == .known("west") && reported.organizationID == .known("west"))
        #expect(reported.collector == .known("https://c.example") && reported.collectorVersion == .known("2.1.0"))
        #expect(reported.isSupported == .known(false), "the collector speaks another version of the wire")
    }

    @Test func `A rule that cannot be judged leaves compliance unknown`() {
        var beacon = WireBeacon()
        beacon.applicationCompliance = .compliant
        func reported() -> DeviceInformation.Field<Bool> {
            DeviceInformation(present: beacon, organization: nil, collector: "", collectorVersion: nil).isCompliant
        }
        #expect(reported() == .known(true))
        beacon.rules = [WireRuleResult()]
        #expect(reported() == .unknown)
        beacon.deviceCompliance = .nonCompliant
        #expect(reported() == .known(false))
    }

    @Test func `A requery asks the collector now and reports the device's state to it`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await SamplerBench.start(sampler)
        let information = try await sampler.requery()
        #expect(information.enrollment == .known(.enrolled) && information.organization == .known("default"))
        #expect(information.collector == .known("https://collector.test") && information.isSupported == .known(true))
        // It may share the beacon that reports the new profile.
        try await bench.arrived { try await bench.beacons().contains { $0.profileRevision > 0 } }
        var command = WireCommand()
        command.id = Data(repeating: 7, count: 16)
        command.expires = 3_600_000_000
        command.sendBeacon = WireSendBeacon()
        command.enrollmentID = try sampler.running().core.identity.load()?.enrollmentID ?? Data()
        bench.collector.setNews(revision: 1, commands: [command], serverTime: 1)
        try await sampler.loadCommands()
        try await bench.arrived { try await bench.results().contains { $0.result.commandID == command.id } }
        await sampler.stop()
    }

    private struct Door: CustomSampleModule {
        let name = "door"

        func sample() async throws -> [SampleMeasurement] { [SampleMeasurement(name: "open", value: .integer(1))] }
    }

    @Test func `The command that queries it is answered with the machine, its modules and what holds`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(
            directory.path,
            change: {
                $0.sampleModules = [.system, .wlan2, .custom]
                $0.disabledModules = ["wlan2"]
                $0.applicationIdentifier = "com.example.app"
                $0.applicationVersion = "2.1"
            }, environment: { $0.host = CapturedMachine.laptop.host() })
        try await sampler.register(Door())
        try await SamplerBench.start(sampler)
        try await sampler.reloadProfile()
        var command = WireCommand()
        command.id = Data(repeating: 8, count: 16)
        command.expires = 3_600_000_000
        command.queryDeviceInformation = WireQueryDeviceInformation()
        command.enrollmentID = try #require(try sampler.running().core.identity.load()).enrollmentID
        bench.collector.setNews(revision: 1, commands: [command], serverTime: 1)
        try await sampler.loadCommands()
        try await bench.arrived { try await bench.results().contains { $0.result.state == .done } }
        let epoch = try await sampler.status().epoch
        await sampler.stop()

        let results = try await bench.results().map(\.result)
        let answers = results.filter(\.hasDeviceInformation)
        #expect(answers.map(\.state) == [.done], "its other states hold none: \(results)")
        let information = try #require(answers.first).deviceInformation
        #expect(information.identity.hostName == "anna-laptop" && information.identity.model == "20L7CTO1WW")
        #expect(information.identity.operatingSystem.distribution == "debian")
        #expect(information.modules == ["system", "custom", "door"])
        let expected = [
            "application": "com.example.app", "application.version": "2.1", "library.version": DataSampler.version,
            "profile.revision": "1", "queue.epoch": epoch, "analytics.enabled": "true", "trace.level": "off",
            "sample.interval": "1.0", "module.wlan2": "disabled by the configuration",
        ]
        #expect(information.attributes.filter { expected[$0.key] != nil } == expected)
    }

    @Test func `What is assigned is asked at the collector`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await SamplerBench.start(sampler)
        #expect(try await sampler.fetchApplicationAssignmentStatus().status(of: "a") == .notApplicable)
        bench.collector.setAssignments(["a"])
        let assigned = try await sampler.fetchApplicationAssignmentStatus()
        #expect(assigned.status(of: "a") == .assigned && assigned.status(of: "b") == .notAssigned)
        bench.collector.setFaults { _, _ in .requestLost }
        let failure = await SamplerBench.code { () async throws(DataSamplerError) in
            _ = try await sampler.fetchApplicationAssignmentStatus()
        }
        #expect(failure == .collector)
        let commands = await SamplerBench.code { () async throws(DataSamplerError) in try await sampler.loadCommands() }
        #expect(commands == .collector)
        bench.collector.setFaults { _, _ in nil }
        await sampler.stop()
    }
}
