import Foundation
import StoreTestKit
import TestKit
import Testing
import Transmitter

@testable import DataSampler

/// Which collector a directory's last start asked.
@Suite(.timeLimit(.minutes(5))) struct LastCollectorTests {
    private let bench = SamplerBench()

    /// Starts and stops, and returns what the delegate heard of the collector.
    private func start(_ directory: String, _ url: String) async throws -> [[String: String]] {
        let recorder = RecordingDelegate()
        let sampler = try bench.sampler(directory, delegate: recorder) { $0.collectorURL = url }
        try await sampler.start()
        try await sampler.reloadProfile()
        // Notices come in order, so whatever the start noticed was reported before this one.
        try await recorder.untilReported(.profileApplied, .reachable)
        await sampler.stop()
        return recorder.reported(.collectorChanged).map(\.details)
    }

    @Test func `A start that is pointed at another collector says so, once`() async throws {
        let directory = try TemporaryDirectory()
        #expect(try await start(directory.path, "https://one.test") == [])
        #expect(try await start(directory.path, "https://one.test:443/") == [], "the same address in other words")
        #expect(
            try await start(directory.path, "https://two.test") == [
                ["from": "https://one.test:443/", "to": "https://two.test"]
            ])
        #expect(try await start(directory.path, "https://two.test") == [])
        let kept = try LastCollector.file(in: directory.path).load()
        #expect(kept == LastCollector(url: "https://two.test", certificatePins: []))
    }

    @Test func `Whoever points a device elsewhere is reported what is kept, and whether anything is sent`() async throws
    {
        let directory = try TemporaryDirectory()
        let pin = Data(repeating: 1, count: 32).base64EncodedString()
        func reported(_ url: String, _ pins: [String], isLost: Bool = false) async throws -> [String] {
            let recorder = RecordingDelegate()
            let sampler = try bench.sampler(directory.path, delegate: recorder) {
                $0.collectorURL = url
                $0.certificatePins = pins
            }
            bench.collector.setFaults { _, _ in isLost ? .requestLost : nil }
            try await sampler.start()
            // Notices come in order, so whatever the start noticed was reported before this one.
            try await recorder.untilReported(.unreachable, .profileApplied, .reachable)
            await sampler.stop()
            return recorder.reported(.collectorChanged).map(\.message)
        }
        #expect(try await reported("https://one.test", [], isLost: true) == [])
        let early = try await reported("https://two.test", [pin])
        #expect(early.count == 1 && early[0].contains("enrolls there") && early[0].contains("In force: 1 pin"))
        let late = try await reported("https://three.test", [pin])
        #expect(late.count == 1 && late[0].contains("nothing is sent") && late[0].contains("keeps its enrollment"))
        let unpinned = try await reported("https://three.test", [])
        #expect(unpinned.count == 1 && unpinned[0].contains("pins of the last start are not given"))
        #expect(try await reported("https://three.test", []) == [])
    }

    @Test func `A damaged file is begun anew`() async throws {
        let directory = try TemporaryDirectory()
        #expect(try await start(directory.path, "https://one.test") == [])
        try Data("damaged".utf8).write(to: URL(fileURLWithPath: directory.path + "/" + LastCollector.fileName))
        #expect(try await start(directory.path, "https://two.test") == [])
        #expect(try LastCollector.file(in: directory.path).load()?.url == "https://two.test")
    }

    @Test func `New credentials without unenrolling`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        try await sampler.reloadProfile()
        let former = try #require(try sampler.running().core.identity.load())
        try await sampler.resetCredentials()
        let present = try #require(try sampler.running().core.identity.load())
        #expect(present.deviceID == former.deviceID && present.credential != former.credential)
        try await sampler.sendBeacon(deliveredWithin: .seconds(300))
        await sampler.stop()

        let without = try bench.sampler(directory.path) { $0.enrollmentToken = nil }
        try await without.start()
        let error = await #expect(throws: DataSamplerError.self) { try await without.resetCredentials() }
        #expect(error?.code == .notAllowed && error?.message.contains("token") == true)
        await without.stop()
    }
}
