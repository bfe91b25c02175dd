import Foundation
import TestKit
import Testing

@testable import DataSampler

/// Settings that a program changes while it runs, and that are kept.
@Suite(.timeLimit(.minutes(10))) struct RuntimeSettingsTests {
    @Test func `Each counts instead of the configuration's, and what is not given leaves it`() {
        var given = SamplerBench.configuration("/nonexistent")
        given.isTest = true
        #expect(RuntimeSettings().applied(to: given).isTest)
        var changed = RuntimeSettings()
        (changed.isTest, changed.telemetryDisabled, changed.analyticsEnabled) = (false, true, false)
        (changed.loggingEnabled, changed.traceLevel) = (false, .verbose)
        let applied = changed.applied(to: given)
        #expect(!applied.isTest && applied.telemetryDisabled && !applied.analyticsEnabled && !applied.loggingEnabled)
        #expect(applied.traceLevel == .verbose && applied.directory == given.directory)
    }

    @Test func `They hold at once, over a restart, and until they are cleared`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let first = try bench.sampler(directory.path)
        try await SamplerBench.start(first)
        try await first.reloadProfile()
        var settings = RuntimeSettings()
        settings.analyticsEnabled = false
        try await first.setRuntimeSettings(settings)
        func refusal(_ sampler: DataSampler) async -> DataSamplerError.Code? {
            await SamplerBench.code { () async throws(DataSamplerError) in
                try await sampler.recordEvent(eventName: "e", eventValue: .integer(1))
            }
        }
        #expect(await refusal(first) == .analyticsDisabled)
        await first.stop()

        let second = try bench.sampler(directory.path)
        try await SamplerBench.start(second)
        #expect(await refusal(second) == .analyticsDisabled)
        #expect(try await second.runtimeSettings() == settings)
        try await second.setRuntimeSettings(RuntimeSettings())
        #expect(await refusal(second) == nil)
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/\(RuntimeSettings.fileName)"))
        settings.analyticsEnabled = true
        settings.isTest = true
        try await second.setRuntimeSettings(settings)
        _ = try await second.unenroll()
        #expect(!FileManager.default.fileExists(atPath: "\(directory.path)/\(RuntimeSettings.fileName)"))
        #expect(try await second.runtimeSettings() == RuntimeSettings())
        let refused = await SamplerBench.code { () async throws(DataSamplerError) in
            try await second.setRuntimeSettings(settings)
        }
        #expect(refused == .unenrolled)
        await second.stop()
    }

    @Test func `Of changes at once, the file has the one that is followed`() async throws {
        let bench = SamplerBench()
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await SamplerBench.start(sampler)
        await withTaskGroup(of: Void.self) { tasks in
            for number in 0..<20 {
                tasks.addTask {
                    var settings = RuntimeSettings()
                    settings.isTest = number.isMultiple(of: 2)
                    try? await sampler.setRuntimeSettings(settings)
                }
            }
        }
        #expect(try RuntimeSettings.file(in: directory.path).load() == (try await sampler.runtimeSettings()))
        await sampler.stop()
    }
}
