import Foundation
import Testing

/// Random histories of a whole device behind a middlebox that answers 413, 400 and 422 as it likes.
///
/// `WS1_MIDDLEBOX_HISTORIES` (8) and `WS1_MODEL_SEED` (random, printed) repeat or widen a run.
@Suite("Exactly once, behind a middlebox that lies") struct MiddleboxTests {
    static let workers = 2
    static let histories = Int(ProcessInfo.processInfo.environment["WS1_MIDDLEBOX_HISTORIES"] ?? "") ?? 8

    @Test(
        .timeLimit(.minutes(20)),
        arguments: 0..<workers)
    func `Nothing is lost or doubled, and at most one record an hour is quarantined and can be sent again`(
        _ worker: Int
    ) async throws {
        var seen = MiddleboxHistory.Sightings()
        print(
            """
            exactly-once behind a middlebox: seed \(ExactlyOnceTests.seed), worker \(worker), \
            \(Self.histories / Self.workers) histories
            """
        )
        for index in 0..<max(1, Self.histories / Self.workers) {
            guard let sightings = try await run(seed: ExactlyOnceTests.seed &+ UInt64(worker * 1_000_000 + index))
            else { return }
            seen.add(sightings)
        }
        #expect(seen.lies > 0 && seen.liesBehindWhichAllWasStored > 0)
    }

    @Test func `Fixed histories set records aside, and send them again`() async throws {
        var seen = MiddleboxHistory.Sightings()
        for seed in UInt64(1)...3 { if let sightings = try await run(seed: seed) { seen.add(sightings) } }
        #expect(seen.quarantine > 0 && seen.sentAgain > 0, "the histories say nothing of these: \(seen)")
    }

    /// - Returns: `nil` where the promise was broken; then it is recorded.
    private func run(seed: UInt64) async throws -> MiddleboxHistory.Sightings? {
        let directory = try ExactlyOnceTests.scratch()
        defer { try? FileManager.default.removeItem(at: directory) }
        let store = try CrashingSQLiteStore(parent: directory.appending(path: "collector").creating())
        let history = try MiddleboxHistory(
            seed: seed, directory: directory.appending(path: "device").creating(), store: store)
        do { try await history.run(steps: 200) } catch {
            Issue.record("seed \(seed), step \(history.steps): \(error)")
            return nil
        }
        await store.close()
        return history.seen
    }
}
