import Glibc
import WireModel

/// Keeps budgets by slowing down: usage over time goes in, a factor comes out. Pure.
///
/// For each budget the policy estimates the demand: the use per second without any slowdown, averaged over
/// ``demandSeconds``. It divides the demand by the allowance. For bytes, the allowance is the rest of the day's budget
/// over the rest of the day; for the processor, its share. The quotient is the factor wanted. So usage is spread over
/// the whole day and never stops dead: the factor grows up to ``maximumFactor`` as the budget empties, and falls when
/// the next day fills it.
///
/// Beacons cannot be slowed down, so their bytes look like demand that grows with the factor. Two things keep them from
/// driving the factor up: the estimate is renewed faster while slowed, and the last of the day is paced together with
/// the next half hour.
///
/// Days are counted on the queue clock, so setting the wall clock fills no budget.
struct BudgetPolicy: Equatable, Sendable {
    /// A factor beyond this would not tell a slowed sampler from a dead one.
    static let maximumFactor = 100.0
    static let daySeconds = 86_400.0
    /// Time constants, seconds.
    static let demandSeconds: [BudgetKind: Double] = [.sentBytes: 3_600, .writtenBytes: 3_600, .cpu: 300]
    /// At most, while a slowdown is in force: the estimate rests on its factor, and an old one tells of a factor that
    /// holds no more.
    static let slowedDemandSeconds = 1_200.0
    /// How much of the next day the pacing looks into, so that a small rest at the end of a day does not ask for a
    /// great factor.
    static let aheadSeconds = 1_800.0
    /// The time constant with which the factor follows the one wanted.
    static let followSeconds = 300.0
    /// A slowdown begins at `beginFactor` and ends at `endFactor`, so that it does not flutter.
    static let beginFactor = 1.25
    static let endFactor = 1.05
    /// The reported factor changes by at least this ratio.
    static let leastChange = 0.1

    /// What outlives the process, so that a restart neither fills a budget nor forgets how much is wanted.
    struct Saved: Codable, Equatable, Sendable {
        /// Seconds into the day.
        var dayElapsed: Double = 0
        /// Bytes of the day so far.
        var used: [String: Double] = [:]
        /// Units a second.
        var demand: [String: Double] = [:]
        var factor: Double = 1
    }

    private(set) var saved: Saved
    private var lastTime: Double?
    private var lastUsage = BudgetUsage()
    private var isSlowing: Bool
    private(set) var verdict = BudgetVerdict()

    /// - Parameter saved: of the process before.
    init(resuming saved: Saved = Saved()) {
        self.saved = saved.sound
        isSlowing = self.saved.factor >= Self.beginFactor
    }

    /// Takes the time and the usage over.
    ///
    /// - Parameters:
    ///   - time: seconds on the queue clock. One that went back counts as no time; what passed while the machine slept
    ///     or was off counts.
    ///   - usage: since the process started. A figure below the last one counts from zero.
    ///   - budgets: those in force now; they may change at any time.
    /// - Returns: the verdict; the same one as before where less than a second has passed.
    mutating func advance(to time: Double, usage: BudgetUsage, budgets: DataSamplerBudgets) -> BudgetVerdict {
        let elapsed = lastTime.map { max(0, time - $0) } ?? 0
        // The first call only learns where the counters stand: what came before it is the start of the process, and
        // counts as used.
        guard lastTime == nil || elapsed >= 1 else { return verdict }
        lastTime = lastTime.map { max($0, time) } ?? time

        passDays(elapsed)
        var wanted = 1.0
        var reason: BudgetKind?
        for kind in BudgetKind.allCases {
            let amount = Double(usage[kind] >= lastUsage[kind] ? usage[kind] - lastUsage[kind] : usage[kind])
            if kind != .cpu { saved.used[kind.rawValue, default: 0] += amount }
            learn(kind, amount, elapsed)
            guard let allowed = allowance(kind, budgets) else { continue }
            let asks = allowed > 0 ? demand(kind) / allowed : Self.maximumFactor
            if asks > wanted {
                wanted = min(asks, Self.maximumFactor)
                reason = kind
            }
        }
        lastUsage = usage
        follow(wanted, elapsed)
        say(reason ?? verdict.reason, budgets)
        return verdict
    }

    // MARK: Steps

    private mutating func passDays(_ elapsed: Double) {
        saved.dayElapsed += elapsed
        guard saved.dayElapsed >= Self.daySeconds else { return }
        saved.dayElapsed = saved.dayElapsed.truncatingRemainder(dividingBy: Self.daySeconds)
        saved.used = [:]
    }

    /// Averages what would have been used without the slowdown that was in force.
    private mutating func learn(_ kind: BudgetKind, _ amount: Double, _ elapsed: Double) {
        guard elapsed > 0, let constant = Self.demandSeconds[kind] else { return }
        let fresh = 1 - exp(-elapsed / (isSlowing ? min(constant, Self.slowedDemandSeconds) : constant))
        saved.demand[kind.rawValue] = demand(kind) * (1 - fresh) + amount / elapsed * verdict.factor * fresh
    }

    private func demand(_ kind: BudgetKind) -> Double { saved.demand[kind.rawValue] ?? 0 }

    /// Units a second that may be used from now on; `nil`: no budget.
    private func allowance(_ kind: BudgetKind, _ budgets: DataSamplerBudgets) -> Double? {
        switch kind {
        case .cpu: return budgets.processorShare.map { $0 * 1_000_000 }
        case .sentBytes, .writtenBytes:
            guard let day = kind == .sentBytes ? budgets.sentBytesPerDay : budgets.writtenBytesPerDay else {
                return nil
            }
            let ahead = Double(day) / Self.daySeconds * Self.aheadSeconds
            let left = Self.daySeconds - saved.dayElapsed + Self.aheadSeconds
            return max(0, Double(day) - (saved.used[kind.rawValue] ?? 0) + ahead) / left
        }
    }

    /// The factor moves by ratios: from 1 to 2 takes as long as from 10 to 20.
    private mutating func follow(_ wanted: Double, _ elapsed: Double) {
        let weight = 1 - exp(-elapsed / Self.followSeconds)
        saved.factor = exp(log(saved.factor) * (1 - weight) + log(wanted) * weight)
    }

    private mutating func say(_ reason: BudgetKind?, _ budgets: DataSamplerBudgets) {
        isSlowing = isSlowing ? saved.factor > Self.endFactor : saved.factor >= Self.beginFactor
        guard isSlowing, let reason, let allowed = allowed(reason, budgets) else {
            isSlowing = false
            verdict = BudgetVerdict()
            return
        }
        let change = saved.factor / verdict.factor
        if verdict.reason == nil || change >= 1 + Self.leastChange || change <= 1 - Self.leastChange {
            verdict.factor = saved.factor
        }
        verdict.reason = reason
        verdict.allowed = allowed
        verdict.used =
            reason == .cpu
            ? UInt64((demand(.cpu) / verdict.factor / 100).rounded())
            : UInt64((saved.used[reason.rawValue] ?? 0).rounded())
    }

    private func allowed(_ kind: BudgetKind, _ budgets: DataSamplerBudgets) -> UInt64? {
        switch kind {
        case .sentBytes: budgets.sentBytesPerDay
        case .writtenBytes: budgets.writtenBytesPerDay
        case .cpu: budgets.processorShare.map { UInt64(($0 * 10_000).rounded()) }
        }
    }
}

extension BudgetPolicy.Saved {
    /// What no machine can have written (a file edited by hand) counts as nothing.
    fileprivate var sound: Self {
        func sound(_ values: [String: Double]) -> [String: Double] {
            values.filter { $0.value.isFinite && $0.value >= 0 && $0.value < 1e18 }
        }
        return Self(
            dayElapsed: dayElapsed.isFinite ? min(max(0, dayElapsed), BudgetPolicy.daySeconds) : 0,
            used: sound(used),
            demand: sound(demand), factor: factor.isFinite ? min(max(1, factor), BudgetPolicy.maximumFactor) : 1)
    }
}

/// How much the sampler slows down now, and which budget asks for it.
struct BudgetVerdict: Equatable, Sendable {
    /// Sample and transmit intervals are so many times longer; 1 or more. Beacons and command results are never slowed.
    var factor = 1.0
    /// `nil`: none.
    var reason: BudgetKind?
    /// In the budget's unit: bytes today, or ten-thousandths of one core.
    var used: UInt64 = 0
    var allowed: UInt64 = 0

    /// For beacon and sample; `nil`: no slowdown.
    var wire: WireSlowdown? {
        guard let reason else { return nil }
        var slowdown = WireSlowdown()
        slowdown.budget = reason.rawValue
        slowdown.factor = UInt32((factor * 100).rounded())
        slowdown.used = used
        slowdown.allowed = allowed
        return slowdown
    }

    /// For people; no data of a person.
    var description: String {
        switch reason {
        case nil: "no budget asks for a slowdown"
        case .sentBytes: "slowed down \(text) times: \(used) of \(allowed) bytes a day are sent"
        case .writtenBytes: "slowed down \(text) times: \(used) of \(allowed) bytes a day are written"
        case .cpu: "slowed down \(text) times: \(used) of \(allowed) ten-thousandths of a core are used"
        }
    }

    private var text: String {
        let hundredths = Int((factor * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 / 10)"
    }
}

/// What this process has used since it started.
struct BudgetUsage: Equatable, Sendable {
    var sentBytes: UInt64 = 0
    var writtenBytes: UInt64 = 0
    var cpuMicroseconds: UInt64 = 0

    subscript(_ kind: BudgetKind) -> UInt64 {
        switch kind {
        case .sentBytes: sentBytes
        case .writtenBytes: writtenBytes
        case .cpu: cpuMicroseconds
        }
    }
}

/// What a budget is about. The raw values are the names on the wire (`Slowdown.budget`).
enum BudgetKind: String, CaseIterable, Codable, Sendable {
    case sentBytes = "sent-bytes"
    case writtenBytes = "written-bytes"
    case cpu
}
