import DeviceTestKit
import Logging
import RecordQueue
import TestKit
import Testing
import WireModel

@testable import DataSampler

/// From signals on a real message bus to what the collector has.
@Suite(.timeLimit(.minutes(10))) struct LogindWatchTests {
    private let bench = SamplerBench()

    /// Runs a sampler that follows the logind on a bus, until `body` is done.
    private func run(_ address: String, _ body: (DataSampler) async throws -> Void) async throws {
        let directory = try TemporaryDirectory()
        var configuration = SamplerBench.configuration(directory.path)
        configuration.followsLogind = true
        configuration.sampleModules = .system
        // Only samples that logind asks for, and nothing but them puts them on disk.
        configuration.defaultSampleInterval = 86_400
        configuration.defaultTransmitInterval = 86_400
        configuration.lossWindow = 60
        var environment = SamplerBench.environment(bench.collector)
        environment.systemBus = address
        let sampler = try DataSampler(
            configuration: configuration, environment: environment, logger: Logger(label: "test"))
        try await sampler.start()
        // What is reported of the start has been reported.
        try await bench.arrived {
            try await bench.beacons().last.map { $0.enrollment == .enrolled && $0.profileRevision > 0 } ?? false
        }
        try await body(sampler)
        await sampler.stop()
    }

    private static func untilConnected(_ sampler: DataSampler) async throws {
        try await SamplerBench.until { try await sampler.status().logind == .init(connected: true) }
    }

    @Test func `An unlock that is reported twice sends one beacon`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus)
        defer { logind.stop() }
        try await run(bus.address) { sampler in
            try await Self.untilConnected(sampler)
            logind.hint(locked: true)
            logind.unlock()
            logind.hint(locked: false)
            try await bench.arrived { try await bench.beacons().contains { $0.trigger == .unlock } }
        }
        // The stop has sent all there is.
        #expect(try await bench.beacons().filter { $0.trigger == .unlock }.count == 1)
    }

    @Test func `Before sleep and shutdown a sample is on disk, then logind may go on`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus)
        defer { logind.stop() }
        try await run(bus.address) { sampler in
            try await Self.untilConnected(sampler)
            try await logind.untilHeld()
            let queue = try sampler.running().core.queue
            for prepare in [logind.sleep, logind.shutdown] {
                // The sample of the start, and one for each time that the machine pauses.
                try await queue.flush()
                let before = try await queue.status().streams[.sample]?.lastNumber ?? 0
                prepare(true)
                #expect(await logind.areReleased())
                let status = try await queue.status()
                #expect(status.buffered == 0 && status.streams[.sample]?.lastNumber == before + 1)
                prepare(false)
                try await logind.untilHeld()
            }
        }
        // A sampler that has stopped delays nothing.
        #expect(await logind.areReleased())
    }

    @Test func `The session's user is reported until the host says otherwise`() async throws {
        let bus = try PrivateBus()
        let logind = try ScriptedLogind(on: bus, session: .init(name: "first"))
        defer { logind.stop() }
        try await run(bus.address) { sampler in
            let notices = sampler.notices
            func reported(_ name: String) async throws {
                try await bench.arrived { try await bench.beacons().last?.userDisplayName == name }
            }
            try await reported("first")
            logind.activate(.init(name: "second"))
            try await reported("second")
            logind.activate(nil)
            try await reported("")
            logind.activate(.init(name: "third"))
            try await reported("third")
            // From the first person to the second, and to the third after nobody.
            var changes = 0
            for await notice in notices where notice.kind == .userChanged {
                changes += 1
                if changes == 2 { break }
            }
            #expect(changes == 2)
            try await sampler.setUser(DeviceUser(displayName: "host's"))
            try await reported("host's")
            logind.activate(.init(name: "fourth"))
            try await sampler.setUser(nil)
            try await reported("")
        }
        #expect(try await bench.beacons().allSatisfy { $0.userDisplayName != "fourth" })
    }

    @Test func `Status says what is missing, and a bus that comes back is used again`() async throws {
        let bus = try PrivateBus()
        let first = try ScriptedLogind(on: bus, refusesInhibitors: true)
        try await run(bus.address) { sampler in
            try await SamplerBench.until {
                try await sampler.status().logind
                    == .init(connected: true, reason: "org.freedesktop.DBus.Error.AccessDenied")
            }
            first.stop()
            try bus.restart()
            try await SamplerBench.until { try await sampler.status().logind?.connected == false }
            let second = try ScriptedLogind(on: bus)
            defer { second.stop() }
            try await Self.untilConnected(sampler)
            try await second.untilHeld()
            second.unlock()
            try await bench.arrived { try await bench.beacons().contains { $0.trigger == .unlock } }
        }
    }

    @Test func `Without a bus everything else goes on, and the pauses grow up to five minutes`() async throws {
        try await run("unix:path=/nonexistent/bus") { sampler in
            try await SamplerBench.until {
                let logind = try #require(try await sampler.status().logind)
                return !logind.connected && logind.reason?.contains("/nonexistent/bus") == true
            }
            try await sampler.sendBeacon()
        }
        #expect((0...12).map { LogindWatch.pause(after: $0) }.suffix(2) == [.seconds(300), .seconds(300)])
        #expect(LogindWatch.pause(after: 0) == .seconds(1))
    }
}
