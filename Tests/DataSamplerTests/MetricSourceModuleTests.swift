import Glibc
import MetricIntake
import RecordStore
import StoreTestKit
import Synchronization
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// Metrics of other programs as custom modules of a whole device.
@Suite(.timeLimit(.minutes(10))) struct MetricSourceModuleTests {
    /// Tells how often it was switched, and gives as many points as asked for.
    private final class SwitchedSource: MetricSource {
        let count: Int
        let calls = Mutex<[String]>([])

        init(points count: Int = 1) { self.count = count }

        func begin() { note("begin") }

        func end() { note("end") }

        func collect() async -> [MetricPoint] {
            note("collect")
            return (0..<count).map { MetricPoint("n", attributes: ["i": "\($0)"], .integer(Int64($0))) }
        }

        var report: MetricSourceReport { MetricSourceReport() }

        /// Without repeats.
        private func note(_ call: String) { calls.withLock { if $0.last != call { $0.append(call) } } }
    }

    private static func module(_ source: SwitchedSource) -> MetricSourceModule {
        MetricSourceModule("switched", kind: "exec", source: source)
    }

    private static func measurements(_ bench: SamplerBench, _ module: String) async throws -> [[WireMeasurement]] {
        try await bench.stored(.sample).filter { $0.header.module == module }.map {
            try WireCustomSample.decode($0.header.body(of: $0.bytes)).measurements
        }
    }

    @Test func `What a program prints arrives as samples of the source's module, and status says how it fares`()
        async throws
    {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        var source = MetricSourceSettings()
        source.exec = "/bin/sh"
        source.arguments = [
            "-c", #"echo '{"name":"depth","value":3,"unit":"{job}","attributes":{"q":"mail"}}'; echo x"#,
        ]
        let sampler = try bench.sampler(directory.path) {
            $0.sampleModules = [.custom]
            $0.metricSources = ["local.mail": source]
            $0.moduleIntervals["local.mail"] = .init(sampleInterval: 2)
        }
        try await sampler.start()
        try await bench.arrived { try await !Self.measurements(bench, "local.mail").isEmpty }
        let sample = try #require(try await Self.measurements(bench, "local.mail").first)
        let depth = try #require(sample.first { $0.name == "depth" })
        #expect(depth.value.integer == 3 && depth.unit == "{job}" && depth.attributes == ["q": "mail"])
        #expect(sample.first { $0.name == "ws1.metrics.invalid" }?.value.integer == 1)
        let status = try await sampler.status()
        let report = try #require(status.metricSources?.first)
        #expect(report.module == "local.mail" && report.kind == "exec" && report.series == 1 && report.invalid >= 1)
        #expect(report.problem?.contains("not a JSON object") == true)
        #expect(status.modules.first { $0.name == "local.mail" }?.sampleInterval == 2)
        await sampler.stop()
    }

    @Test func `A sample with more series than a record holds is recorded in parts, and none is lost`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.sampleModules = [.custom] }
        try await sampler.register(Self.module(SwitchedSource(points: 1_200)))
        try await sampler.start()
        try await bench.arrived { try await Self.measurements(bench, "switched").count >= 3 }
        let parts = try await Self.measurements(bench, "switched").prefix(3)
        #expect(parts.map(\.count) == [512, 512, 176])
        #expect(Set(parts.joined().compactMap { $0.attributes["i"] }).count == 1_200)
        await sampler.stop()
    }

    @Test func `Long measurements are parted by bytes, too`() throws {
        let long = String(repeating: "v", count: 256)
        let attributes = Dictionary(uniqueKeysWithValues: (0..<16).map { ("k\($0)", long) })
        let measurements = (0..<120).map {
            SampleMeasurement(name: "n\($0)", attributes: attributes, value: .integer(1))
        }
        let parts = try CustomSample.parts(module: "m", measurements: measurements)
        #expect(parts.count > 1 && parts.allSatisfy { $0.body.count <= 240 * 1024 })
        let names = try parts.flatMap { try WireCustomSample.decode($0.body).measurements.map(\.name) }
        #expect(names == measurements.map(\.name))
    }

    @Test func `A source is on only while its module is sampled`() async throws {
        var profile = WireProfile.analyticsOn
        profile.doNotDisturbAllowed = true
        let bench = SamplerBench(profile: profile)
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.sampleModules = [.custom] }
        let source = SwitchedSource()
        try await sampler.register(Self.module(source))
        let former = source.calls.withLock { $0 }
        #expect(former.isEmpty, "nothing runs before the start")
        try await sampler.start()
        try await sampler.reloadProfile()
        try await SamplerBench.until { source.calls.withLock { $0.suffix(2) == ["begin", "collect"] } }
        try await sampler.setDoNotDisturb(true)
        // A call that had begun may end after the switch.
        try await SamplerBench.until { source.calls.withLock { $0.contains("end") } }
        let running = try sampler.running()
        #expect(await running.parts.loop.plan.intervals.isEmpty)
        source.calls.withLock { $0 = [] }
        try await sampler.setDoNotDisturb(false)
        try await SamplerBench.until { source.calls.withLock { $0.contains("collect") } }
        let calls = source.calls.withLock { $0 }
        let begin = try #require(calls.firstIndex(of: "begin"))
        let collect = try #require(calls.firstIndex(of: "collect"))
        #expect(begin < collect)
        var settings = try await sampler.runtimeSettings()
        settings.telemetryDisabled = true
        source.calls.withLock { $0 = [] }
        try await sampler.setRuntimeSettings(settings)
        try await SamplerBench.until { source.calls.withLock { $0.contains("end") } }
        await sampler.stop()
        #expect(source.calls.withLock { $0.last } == "end")
    }

    @Test func `A source that is disabled by name is never on`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let socket = directory.file("statsd.sock")
        var source = MetricSourceSettings()
        source.statsd = socket
        let sampler = try bench.sampler(directory.path) {
            $0.sampleModules = [.custom]
            $0.metricSources = ["local.off": source]
            $0.disabledModules = ["local.off"]
        }
        try await SamplerBench.start(sampler)
        #expect(access(socket, F_OK) != 0)
        #expect(try await sampler.status().modules.contains { $0.name == "local.off" } == false)
        await sampler.stop()
    }
}
