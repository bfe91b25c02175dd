import DeviceTestKit
import Foundation
import Logging
import TestKit
import Testing

@testable import DataSampler

@Suite struct BudgetKeeperTests {
    private let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    private let budgets = DataSamplerBudgets(sentBytesPerDay: 864_000)

    private func keeper(_ directory: String, _ clock: ManualRecordClock) throws -> BudgetKeeper {
        try BudgetKeeper(directory: directory, now: clock.now(), logger: quiet)
    }

    /// Minute by minute, sending so much a second; how often the slowdown changed.
    private func run(_ keeper: BudgetKeeper, _ clock: ManualRecordClock, minutes: Int, rate: UInt64, sent: inout UInt64)
        -> Int
    {
        var changes = 0
        for _ in 0..<minutes {
            clock.advance(by: .seconds(60))
            sent += rate * 60
            if keeper.advance(usage: BudgetUsage(sentBytes: sent), budgets: budgets, now: clock.now()).changed {
                changes += 1
            }
        }
        return changes
    }

    private func usedAfterAMinute(_ keeper: BudgetKeeper, _ clock: ManualRecordClock) -> BudgetVerdict {
        clock.advance(by: .seconds(60))
        return keeper.advance(usage: BudgetUsage(), budgets: budgets, now: clock.now()).verdict
    }

    @Test func `A change of the slowdown is logged once, and a restart in the same day keeps what was used`() throws {
        let directory = try TemporaryDirectory()
        let clock = ManualRecordClock()
        var sent: UInt64 = 0
        let first = try keeper(directory.path, clock)
        let changes = run(first, clock, minutes: 120, rate: 100, sent: &sent)
        #expect(changes > 1 && changes < 60)
        #expect(first.verdict.reason == .sentBytes)
        first.save()

        clock.advance(by: .seconds(600))
        let verdict = usedAfterAMinute(try keeper(directory.path, clock), clock)
        #expect(verdict.reason == .sentBytes && verdict.used == sent)
        #expect(verdict.factor > 1.25)
    }

    @Test func `Without an orderly end, at most a hundredth of the budget is forgotten`() throws {
        let directory = try TemporaryDirectory()
        let clock = ManualRecordClock()
        var sent: UInt64 = 0
        _ = run(try keeper(directory.path, clock), clock, minutes: 120, rate: 100, sent: &sent)
        // Killed here.
        let used = usedAfterAMinute(try keeper(directory.path, clock), clock).used
        #expect(used <= sent && used + 8_640 + 6_000 >= sent)
    }

    @Test func `Setting the wall clock fills no budget`() throws {
        let directory = try TemporaryDirectory()
        let clock = ManualRecordClock()
        var sent: UInt64 = 0
        let first = try keeper(directory.path, clock)
        _ = run(first, clock, minutes: 120, rate: 100, sent: &sent)
        first.save()
        clock.setWallClock(by: .seconds(40 * 86_400))
        #expect(usedAfterAMinute(try keeper(directory.path, clock), clock).used == sent)
    }

    @Test func `A damaged file is set aside and reported, and the day begins anew`() throws {
        let directory = try TemporaryDirectory()
        try Data("not ours".utf8).write(to: URL(filePath: directory.path + "/budget.json"))
        var reported: DataSamplerError?
        let keeper = try BudgetKeeper(directory: directory.path, now: ManualRecordClock().now(), logger: quiet) {
            reported = $0
        }
        #expect(reported?.code == .storageDamaged)
        #expect(keeper.verdict == BudgetVerdict())
        #expect(FileManager.default.fileExists(atPath: directory.path + "/budget.json.damaged"))
    }
}
