import Glibc
import WireModel

/// Keeps budgets by slowing down: usage over time goes in, a factor comes out. Pure.
///
/// For each budget the policy estimates the demand: the use per second without any slowdown, averaged over
/// ``demandSeconds``. It divides the demand by the allowance. For bytes, the allowance is the rest of the day's budget
/// over the rest of the day; for the processor, it is the budget's share. The quotient is the wanted factor. So usage
/// is spread over the whole day and never stops completely. The factor grows up to ``maximumFactor`` as the budget
/// empties, and falls when the next day fills it.
///
/// Beacons cannot be slowed down, so their bytes look like demand that grows with the factor. Two things keep them from
/// driving the factor up: the estimate is renewed faster while slowed, and the end of the day is planned together with
/// the next half hour.
///
/// Days are counted on the queue clock, so setting the wall clock refills no budget.
struct BudgetPolicy: Equatable, Sendable {
    /// The greatest factor: with a greater one, a slowed sampler would look like a dead one.
    static let maximumFactor = 100.0
    static let daySeconds = 86_400.0
    /// Time constants in seconds.
    static let demandSeconds: [BudgetKind: Double] = [.sentBytes: 3_600, .writtenBytes: 3_600, .cpu: 300]
    /// The greatest time constant while slowed. The estimate depends on the factor, so an old one refers to a factor
    /// that no longer applies.
    static let slowedDemandSeconds = 1_200.0
    /// How far the planning looks into the next day, so a small rest at the end of a day does not require a great
    /// factor.
    static let aheadSeconds = 1_800.0
    /// The time constant with which the factor follows the wanted one.
    static let followSeconds = 300.0
    /// A slowdown begins at `beginFactor` and ends at `endFactor`, so it does not flicker.
    static let beginFactor = 1.25
    static let endFactor = 1.05
    /// The least ratio by which the reported factor changes.
    static let leastChange = 0.1

    /// The state that outlives the process, so a restart neither refills a budget nor forgets the demand.
    struct Saved: Codable, Equatable, Sendable {
        /// Seconds into the day.
        var dayElapsed: Double = 0
        /// Bytes of this day so far.
        var used: [String: Double] = [:]
        /// Units per second.
        var demand: [String: Double] = [:]
        var factor: Double = 1
    }

    private(set) var saved: Saved
    private var lastTime: Double?
    private var lastUsage = BudgetUsage()
    private var isSlowing: Bool
    private(set) var verdict = BudgetVerdict()

    /// - Parameter saved: from the former process.
    init(resuming saved: Saved = Saved()) {
        self.saved = saved.sound
        isSlowing = self.saved.factor >= Self.beginFactor
    }

    /// Accepts the time and the usage.
    ///
    /// - Parameters:
    ///   - time: seconds on the queue clock. A time that went back counts as no time. Time asleep or switched off
    ///     counts.
    ///   - usage: since the process started. A figure below the last one counts from zero.
    ///   - budgets: the present budgets; they may change at any time.
    /// - Returns: the verdict; unchanged if less than a second has passed.
    mutating func advance(to time: Double, usage: BudgetUsage, budgets: DataSamplerBudgets) -> BudgetVerdict {
        let elapsed = lastTime.map { max(0, time - $0) } ?? 0
        // The first call only learns the counters' start. What came before is the start of the process and counts as
        // used.
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

    /// Averages what would have been used without the slowdown.
    private mutating func learn(_ kind: BudgetKind, _ amount: Double, _ elapsed: Double) {
        guard elapsed > 0, let constant = Self.demandSeconds[kind] else { return }
        let fresh = 1 - exp(-elapsed / (isSlowing ? min(constant, Self.slowedDemandSeconds) : constant))
        saved.demand[kind.rawValue] = demand(kind) * (1 - fresh) + amount / elapsed * verdict.factor * fresh
    }

    private func demand(_ kind: BudgetKind) -> Double { saved.demand[kind.rawValue] ?? 0 }

    /// Units per second that may be used from now on; `nil` without a budget.
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
            ? Self.whole(demand(.cpu) / verdict.factor / 100) : Self.whole(saved.used[reason.rawValue] ?? 0)
    }

    private static func whole(_ number: Double) -> UInt64 { UInt64(min(max(0, number), 1e18).rounded()) }

    private func allowed(_ kind: BudgetKind, _ budgets: DataSamplerBudgets) -> UInt64? {
        switch kind {
        case .sentBytes: budgets.sentBytesPerDay
        case .writtenBytes: budgets.writtenBytesPerDay
        case .cpu: budgets.processorShare.map { UInt64(($0 * 10_000).rounded()) }
        }
    }
}

extension BudgetPolicy.Saved {
    /// Impossible values, from a file edited by hand, count as nothing.
    fileprivate var sound: Self {
        func sound(_ values: [String: Double]) -> [String: Double] {
            values.filter { $0.value.isFinite && $0.value >= 0 && $0.value < 1e18 }
        }
        return Self(
            dayElapsed: dayElapsed.isFinite ? min(max(0, dayElapsed), BudgetPolicy.daySeconds) : 0, used: sound(used),
            demand: sound(demand), factor: factor.isFinite ? min(max(1, factor), BudgetPolicy.maximumFactor) : 1)
    }
}

/// The present slowdown, and the budget that causes it.
struct BudgetVerdict: Equatable, Sendable {
    /// The factor by which sample and transmit intervals are lengthened; 1 or more. Beacons and command results are
    /// never slowed.
    var factor = 1.0
    /// `nil` if there is no slowdown.
    var reason: BudgetKind?
    /// The usage in the budget's unit: bytes today, or ten-thousandths of one core.
    var used: UInt64 = 0
    var allowed: UInt64 = 0

    /// The slowdown as beacons and samples carry it; `nil` without a slowdown.
    var wire: WireSlowdown? {
        guard let reason else { return nil }
        var slowdown = WireSlowdown()
        slowdown.budget = reason.rawValue
        slowdown.factor = UInt32((factor * 100).rounded())
        slowdown.used = used
        slowdown.allowed = allowed
        return slowdown
    }

    /// Text for people, without personal data.
    var description: String {
        switch reason {
        case nil: "no budget asks for a slowdown"
        case .sentBytes: "slowed down \(text) times: \(used) of \(allowed) bytes a day sent"
        case .writtenBytes: "slowed down \(text) times: \(used) of \(allowed) bytes a day written"
        case .cpu: "slowed down \(text) times: \(used) of \(allowed) ten-thousandths of a core used"
        }
    }

    private var text: String {
        let hundredths = Int((factor * 100).rounded())
        return "\(hundredths / 100).\(hundredths % 100 / 10)"
    }
}

/// The resources this process has used since it started.
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

/// The kinds of budgets. The raw values are the names on the wire (`Slowdown.budget`).
enum BudgetKind: String, CaseIterable, Codable, Sendable {
    case sentBytes = "sent-bytes"
    case writtenBytes = "written-bytes"
    case cpu
}
