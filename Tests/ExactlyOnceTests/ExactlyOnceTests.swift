import Foundation
import SQLiteRecordStore
import StoreTestKit
import Testing
import WireModel

/// Random histories of a device and a collector, against the real queue and the real store.
///
/// `WS1_MODEL_STEPS` (100,000) and `WS1_MODEL_SEED` (random, printed) repeat or widen a run.
@Suite struct ExactlyOnceTests {
    static let workers = 4
    static let totalSteps = Int(ProcessInfo.processInfo.environment["WS1_MODEL_STEPS"] ?? "") ?? 100_000
    static let seed =
        UInt64(ProcessInfo.processInfo.environment["WS1_MODEL_SEED"] ?? "") ?? UInt64.random(in: 0...UInt64(UInt32.max))
    static let stepsPerHistory = 500
    /// Devices that share a collector; a crash copies all its files, so there are not too many.
    static let historiesPerCollector = 5

    /// Memory-backed where there is such a place: a crash is a copy of the files here, so the medium does not matter.
    static func scratch() throws -> URL {
        let shared = URL(filePath: "/dev/shm")
        let parent =
            FileManager.default.isWritableFile(atPath: shared.path) ? shared : FileManager.default.temporaryDirectory
        let directory = parent.appending(path: "exactly-once-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        return directory
    }

    @Test(.timeLimit(.minutes(20)), arguments: 0..<workers)
    func `Every record ends stored once or counted once`(worker: Int) async throws {
        let directory = try Self.scratch()
        defer { try? FileManager.default.removeItem(at: directory) }
        var collector = try CrashingSQLiteStore(parent: directory.appending(path: "collector").creating())
        let reference = InMemoryRecordStore()
        let histories = max(1, Self.totalSteps / Self.workers / Self.stepsPerHistory)
        print(
            """
            exactly-once model: seed \(Self.seed), worker \(worker), \(histories) histories of \(Self.stepsPerHistory) \
            steps
            """
        )
        for index in 0..<histories {
            if index > 0, index.isMultiple(of: Self.historiesPerCollector) {
                await collector.close()
                collector = try CrashingSQLiteStore(parent: directory.appending(path: "collector-\(index)").creating())
            }
            let seed = Self.seed &+ UInt64(worker * 1_000_000 + index)
            let history = try History(
                seed: seed, directory: directory.appending(path: "\(index)").creating(), collector: collector,
                reference: reference)
            do { try await history.run(steps: Self.stepsPerHistory) } catch {
                Issue.record(
                    """
                    WS1_MODEL_SEED=\(Self.seed), worker \(worker), history \(index) (seed \(seed)), step \
                    \(history.steps): \(error)
                    """
                )
                break
            }
        }
        await collector.close()
    }

    @Test func `The reference itself keeps the promise`() async throws {
        #expect(try await firstViolation(histories: 20) { (CrashingMemoryStore(), nil) } == nil)
    }

    @Test(arguments: InMemoryRecordStore.PlantedBug.ofExactlyOnce)
    func `A broken rule of the collector is caught`(rule: InMemoryRecordStore.PlantedBug) async throws {
        #expect(try await firstViolation(histories: 20) { (CrashingMemoryStore(bug: rule), nil) } != nil)
    }

    @Test(arguments: BrokenDeviceRule.allCases)
    func `A broken rule of the device is caught`(rule: BrokenDeviceRule) async throws {
        #expect(try await firstViolation(histories: 20) { (CrashingMemoryStore(), rule) } != nil)
    }

    /// What the judge says of histories with fixed seeds; `nil` where it finds nothing.
    private func firstViolation(
        histories: UInt64, _ make: () -> (any CrashingStore, BrokenDeviceRule?)
    ) async throws -> String? {
        let directory = try Self.scratch()
        defer { try? FileManager.default.removeItem(at: directory) }
        for seed in 1...histories {
            let (collector, rule) = make()
            let history = try History(
                seed: seed, directory: directory.appending(path: "\(seed)").creating(), collector: collector,
                reference: nil,
                brokenRule: rule)
            do { try await history.run(steps: 300) } catch let violation as Violation { return violation.description }
        }
        return nil
    }
}

extension URL {
    func creating() throws -> URL {
        try FileManager.default.createDirectory(at: self, withIntermediateDirectories: true)
        return self
    }
}
