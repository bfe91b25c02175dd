import FoundationEssentials
import Logging
import RecordQueue
import Synchronization
import WireModel

/// Keeps the budgets of a running sampler. It feeds the policy, stores the day in `<data>/budget.json`, and reports
/// when the slowdown changes. Safe from any thread.
///
/// The file is written after each hundredth of a budget, every ten minutes, and at the end. A crash forgets no more
/// than that, and a restart does not refill a budget.
final class BudgetKeeper: Sendable {
    static let name = "budget.json"
    private static let saveSeconds = 600.0

    private struct Content: Codable, Sendable {
        var day: BudgetPolicy.Saved
        /// The clocks at the time of writing. They show how much time has passed since, as for the queue clock: 0 to 24
        /// h across boots.
        var wallTime: Int64
        var boot: String?
        var timeSinceBoot: UInt64
    }

    private struct State {
        var policy: BudgetPolicy
        var clock: QueueClock
        var savedTime = 0.0
        var savedUsage = BudgetUsage()
    }

    private let file: StateFile<Content>
    private let logger: Logger
    private let state: Mutex<State>

    /// - Parameter damaged: called for a file that was quarantined; then the day starts again.
    init(directory: String, now: RecordStamp, logger: Logger, damaged: (DataSamplerError) -> Void = { _ in })
        throws(DataSamplerError)
    {
        file = StateFile(directory: directory, name: Self.name)
        self.logger = logger
        guard let content = try file.loadOrKeepAsDamaged(damaged: damaged) else {
            state = Mutex(State(policy: BudgetPolicy(), clock: QueueClock(stamp: now)))
            return
        }
        let written = RecordStamp(
            wallTime: content.wallTime, bootID: content.boot.flatMap { BootID($0) },
            timeSinceBoot: content.timeSinceBoot)
        // The saved day was right at time zero. The policy accounts for the time since then in its first step.
        let clock = QueueClock(stamp: written).resumed(at: now)
        var policy = BudgetPolicy(resuming: content.day)
        _ = policy.advance(to: 0, usage: BudgetUsage(), budgets: DataSamplerBudgets())
        state = Mutex(State(policy: policy, clock: clock))
    }

    /// Accepts the present usage, saves if due, and returns the slowdown.
    ///
    /// - Returns: `changed` says whether factor or reason changed. This deserves a notice, a log line and new
    ///   intervals.
    func advance(usage: BudgetUsage, budgets: DataSamplerBudgets, now: RecordStamp) -> (
        verdict: BudgetVerdict, changed: Bool
    ) {
        let (before, verdict, content) = state.withLock { state in
            let before = state.policy.verdict
            state.clock = state.clock.advanced(to: now)
            let time = Double(state.clock.time) / 1_000_000
            let verdict = state.policy.advance(to: time, usage: usage, budgets: budgets)
            let isDue =
                time - state.savedTime >= Self.saveSeconds || Self.isMuch(usage, since: state.savedUsage, budgets)
            guard isDue else { return (before, verdict, Content?.none) }
            state.savedTime = time
            state.savedUsage = usage
            return (before, verdict, Self.content(state))
        }
        if let content { save(content) }
        let changed = before.factor != verdict.factor || before.reason != verdict.reason
        if changed { logger.notice("budget", metadata: ["slowdown": "\(verdict.description)"]) }
        return (verdict, changed)
    }

    var verdict: BudgetVerdict { state.withLock { $0.policy.verdict } }

    /// Saves the day. Call it when the sampler stops.
    func save() { save(state.withLock { Self.content($0) }) }

    private func save(_ content: Content) {
        do { try file.save(content) } catch {
            // The only cost is that a restart forgets a part of the day.
            logger.warning("the day's use of the budgets could not be saved", metadata: ["error": "\(error)"])
        }
    }

    private static func content(_ state: State) -> Content {
        let stamp = state.clock.stamp
        return Content(
            day: state.policy.saved, wallTime: stamp.wallTime, boot: stamp.bootID.map { "\($0)" },
            timeSinceBoot: stamp.timeSinceBoot)
    }

    private static func isMuch(_ usage: BudgetUsage, since saved: BudgetUsage, _ budgets: DataSamplerBudgets) -> Bool {
        func isMuch(_ now: UInt64, _ then: UInt64, _ allowed: UInt64?) -> Bool {
            guard let allowed, now > then else { return false }
            return now - then >= max(allowed / 100, 1)
        }
        return isMuch(usage.sentBytes, saved.sentBytes, budgets.sentBytesPerDay)
            || isMuch(usage.writtenBytes, saved.writtenBytes, budgets.writtenBytesPerDay)
    }
}
