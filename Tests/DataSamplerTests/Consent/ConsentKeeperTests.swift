import DeviceTestKit
import Foundation
import Logging
import Synchronization
import TestKit
import Testing
import WireModel

@testable import DataSampler

@Suite struct ConsentKeeperTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }

    private func keeper(
        _ directory: String, _ queue: ScriptedConsentQueue, initial: DataSamplerConsent = .granted
    ) throws -> ConsentKeeper {
        try ConsentKeeper(
            store: ConsentStore(directory: directory, queue: queue), queue: queue, initial: initial, logger: quiet)
    }

    private static func event(_ name: String, stream: StreamName = .event) -> NewRecord {
        NewRecord(stream: stream, kind: .event, stamp: ManualRecordClock().now(), body: Data(name.utf8))
    }

    private static func record(_ record: NewRecord, _ keeper: ConsentKeeper, _ queue: ScriptedConsentQueue)
        async throws(DataSamplerError)
    {
        _ = try await keeper.admit(to: record.stream) { () throws(DataSamplerError) in
            queue.enqueue(record)
            return nil
        }
    }

    @Test func `Consent is granted unless configured pending`() throws {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        #expect(try keeper(directory.path, queue).consent == .granted)
        #expect(try keeper(directory.path, queue, initial: .pending).consent == .pending)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/consent.json"), "nobody decided anything")
    }

    @Test func `While nobody has decided, records are queued and held back`() async throws {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        let keeper = try keeper(directory.path, queue, initial: .pending)
        try await keeper.settle()
        for name in ["1", "2", "3"] { try await Self.record(Self.event(name), keeper, queue) }
        #expect(keeper.holdsBack)
        try await keeper.set(.granted, wallTime: 1)
        #expect(!keeper.holdsBack)
        try await Self.record(Self.event("4"), keeper, queue)
        #expect(queue.now.queued == ["1", "2", "3", "4"].map { Self.event($0) } && queue.now.dropped == 0)
        try await keeper.set(.pending, wallTime: 2)
        #expect(keeper.holdsBack && queue.now.queued.count == 4)
    }

    @Test func `A denial drops what waits, and refuses and counts what comes`() async throws {
        let directory = try TemporaryDirectory()
        let beacon = Self.event("beacon", stream: .status)
        let queue = ScriptedConsentQueue(queued: [Self.event("waiting"), beacon])
        let keeper = try keeper(directory.path, queue, initial: .pending)
        try await Self.record(Self.event("pending"), keeper, queue)
        try await keeper.set(.denied, wallTime: 1)
        #expect(queue.now.queued == [beacon] && queue.now.dropped == 2 && !keeper.holdsBack)
        #expect(
            await SamplerBench.code { () async throws(DataSamplerError) in
                try await Self.record(Self.event("late"), keeper, queue)
            } == .consentDenied)
        try await Self.record(Self.event("another beacon", stream: .status), keeper, queue)
        #expect(queue.now.refused == [.event: 1])
        #expect(queue.now.queued.count == 2)
        // A changed mind counts from then on.
        try await keeper.set(.granted, wallTime: 2)
        try await Self.record(Self.event("again"), keeper, queue)
        #expect(queue.now.queued.last == Self.event("again"))
    }

    @Test(arguments: [DataSamplerConsent.granted, .pending])
    func `A record made in the instant of a denial is dropped after it`(former: DataSamplerConsent) async throws {
        let directory = try TemporaryDirectory()
        let beacon = Self.event("beacon", stream: .status)
        let queue = ScriptedConsentQueue(queued: [Self.event("waiting")])
        let keeper = try keeper(directory.path, queue, initial: former)
        try await keeper.settle()
        for record in [Self.event("late"), beacon] {
            let code = await SamplerBench.code { () async throws(DataSamplerError) in
                _ = try await keeper.admit(to: record.stream) { () async throws(DataSamplerError) in
                    // The whole denial falls between the record's leave to be queued and its coming there.
                    try await keeper.set(.denied, wallTime: 1)
                    queue.enqueue(record)
                    return 1
                }
            }
            #expect(code == (record == beacon ? nil : .consentDenied))
        }
        #expect(queue.now.queued == [beacon] && queue.now.dropped == 2)
        #expect(queue.now.refused.isEmpty, "counted once, as dropped")
    }

    @Test func `A denial survives a crash before anything was dropped and is carried out at the next start`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        let first = try keeper(directory.path, queue, initial: .pending)
        for name in ["1", "2"] { try await Self.record(Self.event(name), first, queue) }
        // The queue fails where a crash would have come.
        queue.change { $0.failures = 1 }
        await #expect(throws: DataSamplerError.self) { try await first.set(.denied, wallTime: 1) }
        #expect(queue.now.queued.count == 2 && first.holdsBack, "what waits is not sent against the denial")

        let second = try keeper(directory.path, queue, initial: .pending)
        #expect(second.consent == .denied && second.holdsBack)
        try await second.settle()
        #expect(queue.now.queued.isEmpty && !second.holdsBack)
    }

    @Test func `A record that comes while a denial is carried out is dropped, too`() async throws {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        let keeper = try keeper(directory.path, queue, initial: .pending)
        queue.whileDropping {
            // It was let in before the denial.
            _ = try? await keeper.admit(to: .status) { () throws(DataSamplerError) in
                queue.enqueue(Self.event("beacon", stream: .status))
                return nil
            }
            #expect(keeper.holdsBack, "a denial that is being carried out")
        }
        _ = await SamplerBench.code { () async throws(DataSamplerError) in
            _ = try await keeper.admit(to: .event) { () async throws(DataSamplerError) in
                try await keeper.set(.denied, wallTime: 1)
                queue.enqueue(Self.event("late"))
                return nil
            }
        }
        #expect(queue.now.queued.map(\.stream) == [.status] && queue.now.dropped == 1)
    }

    @Test func `A damaged decision without a copy is no consent`() async throws {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        try await keeper(directory.path, queue).set(.denied, wallTime: 1)
        try Data("{}".utf8).write(to: URL(filePath: directory.path + "/consent.json"))
        queue.change { $0.copy = nil }
        let reported = Mutex<DataSamplerNotice?>(nil)
        let store = ConsentStore(directory: directory.path, queue: queue)
        let damaged = try ConsentKeeper(store: store, queue: queue, initial: .granted, logger: quiet) { notice in
            reported.withLock { $0 = notice }
        }
        #expect(damaged.consent == .pending)
        #expect(reported.withLock { $0?.kind } == .fileSetAside)
        #expect(try keeper(directory.path, queue).consent == .pending, "and so it stays until somebody decides")
    }

    @Test func `A denial that cannot be copied changes nothing`() async throws {
        let directory = try TemporaryDirectory()
        let queue = ScriptedConsentQueue()
        let keeper = try keeper(directory.path, queue)
        queue.change { $0.copyFailures = 1 }
        let code = await SamplerBench.code { () async throws(DataSamplerError) in
            try await keeper.set(.denied, wallTime: 1)
        }
        #expect(code == .storage)
        #expect(keeper.consent == .granted)
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/consent.json"))
    }

    @Test func `A decision that cannot be written changes nothing`() async throws {
        let queue = ScriptedConsentQueue()
        let keeper = try keeper("/proc/nowhere", queue, initial: .pending)
        await #expect(throws: DataSamplerError.self) { try await keeper.set(.granted, wallTime: 1) }
        #expect(keeper.consent == .pending)
    }
}
