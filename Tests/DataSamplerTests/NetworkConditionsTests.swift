import DeviceTestKit
import Logging
import RecordStore
import TestKit
import Testing
import WireModel

@testable import DataSampler

@Suite(.timeLimit(.minutes(10))) struct NetworkConditionsTests {
    @Test func `Samples and beacons report the same of roaming`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let conditions = SetConditions()
        conditions.set { $0.roaming = true }
        var configuration = SamplerBench.configuration(directory.path)
        configuration.sampleModules = .networkData
        var environment = SamplerBench.environment(bench.collector)
        environment.conditions = { _, _ in conditions }
        let sampler = try DataSampler(
            configuration: configuration, environment: environment, logger: Logger(label: "test"))
        try await SamplerBench.start(sampler)
        try await bench.arrived { try await !bench.stored(.sample).isEmpty }
        await sampler.stop()
        let samples = try await bench.stored(.sample).map {
            try WireNetworkDataSample.decode($0.header.body(of: $0.bytes))
        }
        #expect(samples.allSatisfy { $0.roaming == .yes })
        #expect(try await bench.beacons().allSatisfy { $0.hasRoaming && $0.roaming })
    }
}
