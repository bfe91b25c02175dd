import Foundation
import Testing
import WireModel

@testable import DataSampler

@Suite struct BudgetPolicyTests {
    /// A sampler that would use so much a second, and slows down when asked.
    private struct Simulation {
        var policy = BudgetPolicy()
        var time = 0.0
        var sent = 0.0
        var written = 0.0
        var cpu = 0.0
        var factors: [Double] = []
        var budgets = DataSamplerBudgets()

        var usage: BudgetUsage {
            BudgetUsage(sentBytes: UInt64(sent), writtenBytes: UInt64(written), cpuMicroseconds: UInt64(cpu))
        }

        /// Units a second without slowdown; beacons are sent whatever the factor.
        mutating func run(
            seconds: Double, step: Double = 30, sent sentRate: Double = 0, written writtenRate: Double = 0,
            cpu cpuRate: Double = 0,
            beacons: Double = 0
        ) {
            let end = time + seconds
            while time < end {
                let factor = policy.verdict.factor
                time += step
                sent += sentRate * step / factor + beacons * step
                written += writtenRate * step / factor
                cpu += cpuRate * step / factor
                factors.append(policy.advance(to: time, usage: usage, budgets: budgets).factor)
            }
        }
    }

    private static let day = 86_400.0
    /// 10 a second.
    private static let tenASecond = DataSamplerBudgets(sentBytesPerDay: 864_000)

    @Test func `Within its budgets, a sampler is never slowed`() {
        var simulation = Simulation()
        simulation.budgets = DataSamplerBudgets(
            sentBytesPerDay: 1_000_000, writtenBytesPerDay: 1_000_000, processorShare: 0.01)
        simulation.run(seconds: 2 * Self.day, sent: 10, written: 10, cpu: 8_000)
        #expect(simulation.factors.allSatisfy { $0 == 1 })
        #expect(simulation.policy.verdict.wire == nil)
    }

    @Test(arguments: [1.5, 3, 10, 50])
    func `A sampler that wants too much is paced over the day and keeps the budget without ever stopping`(
        excess: Double
    ) {
        var simulation = Simulation()
        simulation.budgets = Self.tenASecond
        simulation.run(seconds: Self.day, sent: 10 * excess)
        #expect(simulation.sent <= 864_000 * 1.02, "\(simulation.sent)")
        #expect(simulation.sent >= 864_000 * 0.8, "the budget is there to be used: \(simulation.sent)")
        let before = simulation.sent
        simulation.run(seconds: 3_600, sent: 10 * excess)
        #expect(simulation.sent > before)
        #expect(simulation.factors.max() ?? 0 <= BudgetPolicy.maximumFactor)
    }

    @Test func `The factor moves smoothly and does not flutter`() {
        var simulation = Simulation()
        simulation.budgets = Self.tenASecond
        simulation.run(seconds: Self.day, sent: 40)
        let steps = zip(simulation.factors, simulation.factors.dropFirst()).map { max($0 / $1, $1 / $0) }
        #expect((steps.max() ?? 0) < 1.6, "\(steps.max() ?? 0)")
        let changes = steps.count { $0 > 1 }
        #expect(changes > 2 && changes < 80, "\(changes) changes in a day")
    }

    @Test func `Once the demand is gone, the slowdown ends`() {
        var simulation = Simulation()
        simulation.budgets = Self.tenASecond
        simulation.run(seconds: 6 * 3_600, sent: 40)
        #expect(simulation.policy.verdict.reason == .sentBytes)
        simulation.run(seconds: 18 * 3_600, sent: 2)
        #expect(simulation.policy.verdict == BudgetVerdict())
    }

    @Test func `A burst that the day can bear is forgiven within hours`() {
        var simulation = Simulation()
        simulation.budgets = Self.tenASecond
        // A backlog of a tenth of the day's budget goes out in a minute.
        simulation.run(seconds: 60, sent: 1_440)
        simulation.run(seconds: 4 * 3_600, sent: 2)
        #expect(simulation.policy.verdict.factor == 1)
    }

    @Test func `Beacons are outside the slowdown and do not drive it up without need`() {
        var simulation = Simulation()
        simulation.budgets = Self.tenASecond
        // Beacons alone use half of it; the rest wants ten times the whole.
        simulation.run(seconds: Self.day, sent: 100, beacons: 5)
        #expect(simulation.sent <= 864_000 * 1.03)
        #expect(simulation.factors.last ?? 0 < 60)
    }

    @Test func `The processor's share is kept`() {
        var simulation = Simulation()
        simulation.budgets = DataSamplerBudgets(processorShare: 0.005)
        simulation.run(seconds: 7_200, step: 10, cpu: 20_000)
        let before = simulation.cpu
        simulation.run(seconds: 3_600, step: 10, cpu: 20_000)
        let share = (simulation.cpu - before) / 3_600 / 1_000_000
        #expect(share < 0.0058 && share > 0.004, "\(share)")
        let wire = simulation.policy.verdict.wire
        #expect(wire?.budget == "cpu" && wire?.allowed == 50)
        #expect((40...60).contains(wire?.used ?? 0), "\(wire?.used ?? 0)")
    }

    @Test func `The tightest budget decides and is named`() {
        var simulation = Simulation()
        simulation.budgets = DataSamplerBudgets(sentBytesPerDay: 864_000, writtenBytesPerDay: 864_000)
        simulation.run(seconds: 6 * 3_600, sent: 20, written: 60)
        let verdict = simulation.policy.verdict
        #expect(verdict.reason == .writtenBytes && verdict.allowed == 864_000 && verdict.factor > 3)
        #expect(verdict.wire?.factor == UInt32((verdict.factor * 100).rounded()))
    }

    @Test func `A restart fills no budget`() {
        var simulation = Simulation()
        simulation.budgets = Self.tenASecond
        var total = 0.0
        for _ in 0..<48 {
            simulation.run(seconds: Self.day / 48, sent: 100)
            total += simulation.sent
            // The process ends; its counters begin anew.
            simulation.policy = BudgetPolicy(resuming: simulation.policy.saved)
            simulation.sent = 0
            _ = simulation.policy.advance(to: simulation.time, usage: BudgetUsage(), budgets: simulation.budgets)
        }
        #expect(total <= 864_000 * 1.03, "\(total)")
    }

    @Test func `A clock that stands still or goes back changes nothing, and a long sleep begins a new day`() {
        var simulation = Simulation()
        simulation.budgets = Self.tenASecond
        simulation.run(seconds: 12 * 3_600, sent: 40)
        let before = simulation.policy
        let usage = simulation.usage
        #expect(
            simulation.policy.advance(to: simulation.time - 50_000, usage: usage, budgets: simulation.budgets)
                == before.verdict)
        #expect(simulation.policy == before)
        #expect((before.saved.used["sent-bytes"] ?? 0) > 400_000)
        _ = simulation.policy.advance(to: simulation.time + 10 * Self.day, usage: usage, budgets: simulation.budgets)
        #expect(simulation.policy.saved.used["sent-bytes"] ?? 0 < 1_000)
        #expect(simulation.policy.saved.dayElapsed < Self.day)
    }

    @Test func `Budgets can change at any time`() {
        var simulation = Simulation()
        simulation.budgets = Self.tenASecond
        simulation.run(seconds: 6 * 3_600, sent: 40)
        #expect(simulation.policy.verdict.reason == .sentBytes)
        simulation.budgets = DataSamplerBudgets()
        simulation.run(seconds: 60, sent: 40)
        #expect(simulation.policy.verdict == BudgetVerdict(), "no budget, no slowdown")
    }

    @Test func `What no machine wrote is not believed`() {
        let saved = BudgetPolicy.Saved(
            dayElapsed: .nan, used: ["sent-bytes": -.infinity], demand: ["cpu": .nan, "sent-bytes": -1], factor: 0)
        var policy = BudgetPolicy(resuming: saved)
        let budgets = DataSamplerBudgets(sentBytesPerDay: 100)
        _ = policy.advance(to: 0, usage: BudgetUsage(), budgets: budgets)
        #expect(policy.advance(to: 60, usage: BudgetUsage(), budgets: budgets) == BudgetVerdict())
    }
}
