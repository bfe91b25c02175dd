import Foundation
import RecordQueue
import SQLiteRecordStore
import Testing

/// Random histories in which epochs end, against the real queue and the real store.
///
/// `WS1_EPOCH_HISTORIES` (40) and `WS1_MODEL_SEED` (random, printed) repeat or widen a run.
@Suite("Exactly once, over ended epochs") struct EndedEpochsTests {
    static let workers = 2
    static let histories = Int(ProcessInfo.processInfo.environment["WS1_EPOCH_HISTORIES"] ?? "") ?? 40
    static let stepsPerHistory = 300

    @Test(.timeLimit(.minutes(20)), arguments: 0..<workers)
    func `Every record ends stored once or counted, through restored images, clones, wipes and consent`(_ worker: Int)
        async throws
    {
        let directory = try ExactlyOnceTests.scratch()
        defer { try? FileManager.default.removeItem(at: directory) }
        let collector = try CrashingSQLiteStore(parent: directory.appending(path: "collector").creating())
        print(
            """
            exactly-once over epochs: seed \(ExactlyOnceTests.seed), worker \(worker), \
            \(Self.histories / Self.workers) histories
            """
        )
        for index in 0..<max(1, Self.histories / Self.workers) {
            let seed = ExactlyOnceTests.seed &+ UInt64(worker * 1_000_000 + index)
            let history = try EpochHistory(
                seed: seed, directory: directory.appending(path: "\(index)").creating(), collector: collector)
            do { try await history.run(steps: Self.stepsPerHistory) } catch {
                Issue.record(
                    """
                    seed \(ExactlyOnceTests.seed), worker \(worker), history \(index) (seed \(seed)), step \
                    \(history.steps): \(error)
                    """
                )
                break
            }
        }
        await collector.close()
    }

    @Test(arguments: BrokenCloseRule.allCases)
    func `A device that takes the collector's answer otherwise is caught`(_ rule: BrokenCloseRule) async throws {
        #expect(try await firstViolation(rule) != nil)
    }

    @Test
    func `The same histories with whole rules keep the promise`() async throws {
        var seen = EpochSightings()
        let found = try await firstViolation(nil) { history in
            seen.add(history.seen)
            return seen.missing.isEmpty
        }
        #expect(found == nil)
        #expect(seen.missing.isEmpty, "the histories say nothing of these")
    }

    /// What the judge says of histories with fixed seeds; `nil` where it finds nothing.
    ///
    /// - Parameter isEnough: called with each history that kept the promise; `true` ends the search.
    private func firstViolation(
        _ rule: BrokenCloseRule?, isEnough: (EpochHistory) -> Bool = { _ in false }
    ) async throws -> String? {
        let directory = try ExactlyOnceTests.scratch()
        defer { try? FileManager.default.removeItem(at: directory) }
        let collector = try CrashingSQLiteStore(parent: directory.appending(path: "collector").creating())
        for seed in UInt64(1)...32 {
            let history = try EpochHistory(
                seed: seed, directory: directory.appending(path: "\(seed)").creating(), collector: collector,
                brokenRule: rule)
            do { try await history.run(steps: 300) } catch let violation as Violation {
                await collector.close()
                return violation.description
            }
            if isEnough(history) { break }
        }
        await collector.close()
        return nil
    }
}
