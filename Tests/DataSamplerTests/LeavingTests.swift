import Foundation
import Logging
import SQLite
import StoreTestKit
import TestKit
import Testing
import Transmitter
import WireModel

@testable import DataSampler
@testable import RecordQueue

/// How a device erases what it keeps, and how it leaves.
@Suite(.timeLimit(.minutes(10))) struct LeavingTests {
    private let bench = SamplerBench()

    private func exists(_ directory: String, _ name: String) -> Bool {
        FileManager.default.fileExists(atPath: "\(directory)/\(name)")
    }

    @Test func `A wipe erases the push token and the analytics ledger`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        try await sampler.setPushToken("secret")
        try sampler.beginSession()
        #expect(exists(directory.path, PushTokenStore.fileName) && exists(directory.path, AnalyticsLedger.fileName))
        let core = try sampler.running().core
        try await sampler.wipe(reason: "test")
        #expect(!exists(directory.path, PushTokenStore.fileName) && !exists(directory.path, AnalyticsLedger.fileName))
        #expect(core.beacons.pushTokens.pending == nil)
        let sample = try #require(core.analytics.sample(at: core.clock.now().timeSinceBoot))
        #expect(sample.sessions == 0 && sample.launches == 0, "what is recorded from now on counts anew")
        await sampler.stop()
    }

    @Test func `What is left of an unenrollment is tried again soon, and rarely where nobody answers`() {
        let pauses = (0...9).map { LeaveKeeper.pause(after: $0).components.seconds }
        #expect(pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60])
    }

    @Test func `A wipe that ended with the program is gone on with at the next start, before anything is recorded`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let first = try await OfflineSampler.open(
            SamplerBench.configuration(directory.path), logger: Logger(label: "test"))
        _ = try await first.sendBeacon()
        let epoch = try await first.status().epoch
        await first.close()
        try WipeNote.file(in: directory.path).save(WipeNote(command: nil, reason: "test", epoch: epoch, recorded: 1))

        let sampler = try bench.sampler(directory.path)
        try await sampler.start()
        let status = try await sampler.status()
        #expect(status.epoch != epoch && status.wipePending == nil)
        #expect(!exists(directory.path, WipeNote.fileName))
        await sampler.stop()
        #expect(try await bench.beacons().allSatisfy { $0.trigger != .demand }, "what waited was erased and not sent")
    }

    @Test func `Producers are stopped only once the note is on disk`() async throws {
        let directory = try TemporaryDirectory()
        let environment = SamplerBench.environment(bench.collector)
        let core = try await SamplerCore.open(
            SamplerBench.configuration(directory.path), environment: environment, logger: Logger(label: "test"))
        let wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
        // A directory under the temporary file's name keeps the file from being written.
        let obstacle = "\(directory.path)/\(WipeNote.fileName).new"
        try FileManager.default.createDirectory(atPath: obstacle, withIntermediateDirectories: true)
        await #expect(throws: DataSamplerError.self) { try await wipes.begin(command: nil, reason: "test") }
        #expect(!core.gate.isWiping)
        #expect(await wipes.pending == nil)
        try FileManager.default.removeItem(atPath: obstacle)
        try await wipes.begin(command: nil, reason: "test")
        #expect(core.gate.isWiping && exists(directory.path, WipeNote.fileName))
        // Not erased yet: nothing lets producers go on.
        try await wipes.finish()
        #expect(core.gate.isWiping && exists(directory.path, WipeNote.fileName))
        try await wipes.erase()
        try await wipes.finish()
        #expect(!core.gate.isWiping && !exists(directory.path, WipeNote.fileName))
        await core.close()
    }

    /// A statement under way, which keeps the queue's file from being scrubbed. Used on the queue's thread alone.
    private final class Obstacle: @unchecked Sendable {
        private var statement: Statement?

        func begin(_ store: QueueStore) throws {
            statement = try store.connection.prepare("SELECT id FROM meta UNION ALL SELECT 2")
            _ = try statement?.step()
        }

        func end() { statement = nil }
    }

    @Test(arguments: [true, false])
    func `A wipe that could not scrub the queue's file does so when it is tried again, or at the next start`(
        _ again: Bool
    ) async throws {
        let directory = try TemporaryDirectory()
        func open() async throws -> SamplerCore {
            try await SamplerCore.open(
                SamplerBench.configuration(directory.path), environment: SamplerBench.environment(bench.collector),
                logger: Logger(label: "test"))
        }
        let secret = Data("a-secret-of-the-person".utf8)
        func isErased() throws -> Bool {
            try ["", "-wal"].allSatisfy {
                try Data(contentsOf: URL(fileURLWithPath: "\(directory.path)/queue.sqlite\($0)")).range(of: secret)
                    == nil
            }
        }
        var core = try await open()
        for _ in 1...20 {
            _ = try await core.queue.enqueueDurably(
                NewRecord(stream: .event, kind: .event, stamp: core.clock.now(), body: secret))
        }
        let former = core.queue.epoch
        var wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
        try await wipes.begin(command: nil, reason: "test")
        let obstacle = Obstacle()
        try await core.queue.run { try obstacle.begin($0) }
        await #expect(throws: DataSamplerError.self) { try await wipes.erase() }
        let epoch = core.queue.epoch
        #expect(try epoch != former && !isErased())
        try await core.queue.run { _ in obstacle.end() }
        if again {
            try await wipes.erase()
        } else {
            await core.close()
            core = try await open()
            wipes = WipeKeeper(core: core, events: DeviceEvents()) { _ in }
            try await wipes.resume { _ in true }
        }
        #expect(try core.queue.epoch == epoch && isErased(), "erased, and no epoch more")
        try await wipes.finish()
        #expect(!core.gate.isWiping)
        await core.close()
    }

    @Test func `A wipe command erases what waits, counts it, and reports its end in the new epoch`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.eventHold = 7200 }
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.recordEvent(eventName: "secret", eventValue: .integer(1), durability: .durable)
        let core = try sampler.running().core
        let former = core.queue.epoch
        let waiting = try await core.queue.status().streams[.event]?.waiting ?? 0
        #expect(waiting >= 1)
        var command = WireCommand()
        command.id = Data(repeating: 9, count: 16)
        command.expires = 3_600_000_000
        command.enrollmentID = try #require(try core.identity.load()).enrollmentID
        command.wipe.reason = "lost"
        bench.collector.setNews(revision: 1, commands: [command])
        try await sampler.sendBeacon()
        try await bench.arrived {
            try await bench.results().contains { $0.result.state == .done }
        }
        let results = try await bench.results()
        #expect(results.allSatisfy { $0.result.commandID == command.id })
        let done = try #require(results.first { $0.result.state == .done })
        #expect(done.epoch != former && done.epoch == core.queue.epoch)
        try await SamplerBench.until { try await sampler.status().wipePending == nil }
        // The former epoch's account goes to the collector: it ended by a wipe, and nothing of it waits.
        try await bench.arrived { bench.collector.closes >= 1 }
        let ended = try #require(try await core.queue.status().ended.first { $0.epoch == former })
        #expect(ended.end == .wiped && ended.waiting == 0)
        // It is repeated until its end is acknowledged, and not run again.
        try await sampler.sendBeacon()
        await sampler.stop()
        #expect(try await bench.events().isEmpty)
        let offline = try await OfflineSampler.open(
            SamplerBench.configuration(directory.path), logger: Logger(label: "test"))
        let status = try await offline.status()
        #expect(status.epoch == "\(done.epoch)", "one wipe, one new epoch")
        #expect(try await offline.balance().closes)
        await offline.close()
    }

    @Test func `Unenrolling sends one last beacon, and then none, also after a restart`() async throws {
        let directory = try TemporaryDirectory()
        let sampler = try bench.sampler(directory.path) { $0.beaconInterval = 900 }
        try await sampler.start()
        try await sampler.reloadProfile()
        try await sampler.sendBeacon()
        #expect(try await sampler.unenroll())
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await sampler.sendBeacon() }
                == .unenrolled)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in
                try await sampler.recordEvent(eventName: "late", eventValue: .integer(1))
            } == .unenrolled)
        await sampler.stop()
        let beacons = try await bench.beacons()
        #expect(beacons.last?.trigger == .unenroll && beacons.last?.nextBeaconSeconds == 0)
        #expect(beacons.count { $0.trigger == .unenroll } == 1)
        let batches = bench.collector.batches

        let again = try bench.sampler(directory.path) { $0.beaconInterval = 900 }
        try await again.start()
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await again.sendBeacon() } == .unenrolled
        )
        #expect(!exists(directory.path, LeaveNote.fileName))
        await again.stop()
        #expect(try await bench.beacons().count == beacons.count)
        #expect(bench.collector.batches == batches && bench.collector.enrollments == 1)
        let core = try await SamplerCore.open(
            SamplerBench.configuration(directory.path), environment: SamplerBench.environment(bench.collector),
            logger: Logger(label: "test"))
        #expect(try await core.queue.binding == nil, "whoever enrolls next has the queue")
        await core.close()
    }

    @Test func `A damaged note of an unenrollment still ends it`() async throws {
        let directory = try TemporaryDirectory()
        let first = try bench.sampler(directory.path)
        try await first.start()
        try await first.sendBeacon()
        await first.stop()
        try Data("damaged".utf8).write(to: URL(filePath: "\(directory.path)/\(LeaveNote.fileName)"))
        let second = try bench.sampler(directory.path)
        let notices = second.notices
        try await second.start()
        for await notice in notices where notice.kind == .unenrolled { break }
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in try await second.sendBeacon() }
                == .unenrolled)
        #expect(!exists(directory.path, LeaveNote.fileName) && exists(directory.path, "\(LeaveNote.fileName).damaged"))
        await second.stop()
        #expect(try await bench.beacons().last?.trigger == .unenroll)
    }

    @Test func `Where no agent runs, an unfinished wipe or unenrollment refuses records with a typed error`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let configuration = SamplerBench.configuration(directory.path)
        try StoredProfile.file(in: directory.path).save(
            StoredProfile(revision: 1, etag: "", audience: "", fetched: 0, profile: WireProfile.analyticsOn.encoded))
        func codes() async throws -> [DataSamplerError.Code?] {
            let offline = try await OfflineSampler.open(configuration, logger: Logger(label: "test"))
            let event = await SamplerBench.code { () async throws(DataSamplerError) in
                _ = try await offline.record(
                    AnalyticsEvent(.customEvent, name: "e", value: .integer(1), attributes: [:]))
            }
            let beacon = await SamplerBench.code { () async throws(DataSamplerError) in
                _ = try await offline.sendBeacon()
            }
            await offline.close()
            return [event, beacon]
        }
        #expect(try await codes() == [nil, nil])
        let wipe = WipeNote.file(in: directory.path)
        try wipe.save(WipeNote(command: nil, reason: "", epoch: "", recorded: 1))
        #expect(try await codes() == [.wipePending, .wipePending])
        try wipe.file.remove()
        let leaving = LeaveNote.file(in: directory.path)
        try leaving.save(LeaveNote(recorded: 1))
        #expect(try await codes() == [.unenrolled, .unenrolled])
        try leaving.file.remove()
        #expect(try await codes() == [nil, nil])
        let digest = IdentityStore(
            directory: directory.path, machineHash: nil, enrollmentToken: configuration.enrollmentToken,
            request: WireEnrollRequest())
        try digest.save(
            Enrollment(
                deviceID: .random(), credential: "c", organization: "o", collectorID: .random(),
                incarnationID: .random()))
        try digest.unenroll()
        #expect(try await codes() == [.unenrolled, .unenrolled])
    }
}
