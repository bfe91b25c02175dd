import Foundation
import Logging
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// A person who has not decided yet, as an application and a collector see it.
@Suite(.timeLimit(.minutes(5))) struct PendingConsentTests {
    private let bench = SamplerBench()

    /// Names of the application's own events that arrived.
    private func names() async throws -> [String] {
        try await bench.events().map(\.name).filter { !SamplerBench.usageEvents.contains($0) }
    }

    private func pending(_ directory: String) async throws -> DataSampler {
        let sampler = try bench.sampler(directory) {
            $0.initialConsent = .pending
            $0.sampleModules = [.custom, .analytics]
        }
        try await sampler.start()
        try await sampler.reloadProfile()
        return sampler
    }

    @Test func `Records are numbered and wait while status goes in its reduced form, and go once consent is given`()
        async throws
    {
        let directory = try TemporaryDirectory()
        var sampler = try await pending(directory.path)
        for number in 1...3 {
            try await sampler.recordEvent(
                eventName: "e\(number)", eventValue: .integer(1), durability: .durable)
        }
        try await sampler.sendBeacon()
        let status = try await sampler.status()
        let event = try #require(status.streams.first { $0.name == "event" })
        #expect(event.lastNumber >= 3 && event.consentPending == event.waiting && event.due == 0 && event.apart == 0)
        #expect(status.collector.gates["event"] == "consent is not given")
        await sampler.stop()
        #expect(try await bench.events().isEmpty, "an orderly stop sends nothing of it either")
        let beacon = try #require(try await bench.beacons().last)
        #expect(beacon.consent == .pending && beacon.deviceName.isEmpty)

        sampler = try await pending(directory.path)
        try await sampler.setConsent(.granted)
        try await sampler.recordEvent(eventName: "e4", eventValue: .integer(1), durability: .durable)
        await sampler.stop()
        #expect(try await names() == ["e1", "e2", "e3", "e4"])
        #expect(try await bench.beacons().last?.consent == .granted)
    }

    @Test func `Denied, what waits is dropped and counted, what was sent stays, and a wipe between counts as one`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let sampler = try await pending(directory.path)
        try await sampler.setConsent(.granted)
        try await sampler.recordEvent(eventName: "sent", eventValue: .integer(1), durability: .durable)
        try await bench.arrived { try await names() == ["sent"] }
        try await sampler.setConsent(.pending)
        try await sampler.recordEvent(eventName: "wiped", eventValue: .integer(1), durability: .durable)
        try await sampler.wipe(reason: "test")
        for number in 1...3 {
            try await sampler.recordEvent(eventName: "w\(number)", eventValue: .integer(1), durability: .durable)
        }
        try await sampler.setConsent(.denied)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in
                try await sampler.recordEvent(eventName: "late", eventValue: .integer(1))
            } == .consentDenied)
        try await SamplerBench.until {
            try await sampler.balance().streams["event"]?.waiting == 0
        }
        let balance = try #require(try await sampler.balance().streams["event"])
        #expect(balance.closes && balance.dropped["consent", default: 0] >= 4, "\(balance)")
        #expect(balance.dropped["wiped", default: 0] >= 1, "\(balance)")
        await sampler.stop()
        #expect(try await names() == ["sent"])
    }
}
