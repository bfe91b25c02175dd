import RecordStore
import WireModel

/// Decides which waiting requests make the next group, and when. A state machine without effects.
///
/// A group goes through claim, insert and move. One group at a time is inserted. The next one may be claimed meanwhile,
/// and the former one moved. No chain is in two groups at a time: the claim of the second would claim the chain from
/// the first, whose mark could not move any more. So a request waits while a chain of it is on its way.
///
/// An insert costs much by itself, so what waits while one runs is gathered:
/// - The next group is claimed while another is inserted only if it is full, since it would not grow any more.
/// - Where much less waits than the last group had, its devices are likely to send again. So the next group waits until
///   the former ones are answered, and then a moment longer.
struct GroupQueue {
    struct Limits: Sendable {
        var bytes: Int
        var parts: Int
    }

    struct Group: Sendable {
        let number: Int
        let jobs: [WriterJob]
        fileprivate let chains: Set<ChainKey>
    }

    /// The step that is due now.
    enum Step: Sendable {
        /// Ask again after the next change.
        case wait
        /// Ask again in a moment, with `isGathered`.
        case gather
        case begin(Group)
    }

    private enum Stage { case claiming, claimed, inserting, moving }

    private let limits: Limits
    /// The waiting jobs in the order of arrival.
    private var waiting: [WriterJob] = []
    private var waitingBytes = 0
    private var waitingParts = 0
    private var stages: [Int: Stage] = [:]
    private var busy: Set<ChainKey> = []
    private var lastNumber = 0
    /// The number of the last group's parts.
    private var lastParts = 0

    init(limits: Limits) { self.limits = limits }

    /// Whether nothing waits and nothing is on its way.
    var isEmpty: Bool { waiting.isEmpty && stages.isEmpty }

    mutating func arrived(_ job: WriterJob) {
        waiting.append(job)
        waitingBytes += job.byteCount
        waitingParts += job.partCount
    }

    /// - Parameter isGathered: whether the moment after `gather` has passed.
    mutating func next(isGathered: Bool = false) -> Step {
        let ahead = stages.values.filter { $0 != .moving }
        let isFull = waitingBytes >= limits.bytes || waitingParts >= limits.parts
        switch ahead.count {
        case 0 where !isFull && waitingParts * 2 < lastParts:
            if waiting.isEmpty || !stages.isEmpty { return .wait }
            if !isGathered { return .gather }
        case 0: break
        case 1 where ahead[0] == .inserting && isFull: break
        default: return .wait
        }
        guard let group = drain() else { return .wait }
        return .begin(group)
    }

    private mutating func drain() -> Group? {
        var (bytes, parts) = (0, 0)
        var jobs: [WriterJob] = []
        var chains: Set<ChainKey> = []
        // Of requests with one chain the first goes first.
        var passedOver: Set<ChainKey> = []
        var rest: [WriterJob] = []
        var isFull = false
        for job in waiting {
            let own = job.chains
            isFull =
                isFull
                || !jobs.isEmpty && (bytes + job.byteCount > limits.bytes || parts + job.partCount > limits.parts)
            guard !isFull, own.isDisjoint(with: busy), own.isDisjoint(with: chains), own.isDisjoint(with: passedOver)
            else {
                passedOver.formUnion(own)
                rest.append(job)
                continue
            }
            jobs.append(job)
            chains.formUnion(own)
            bytes += job.byteCount
            parts += job.partCount
        }
        if jobs.isEmpty { return nil }
        waiting = rest
        waitingBytes -= bytes
        waitingParts -= parts
        busy.formUnion(chains)
        lastNumber += 1
        lastParts = parts
        stages[lastNumber] = .claiming
        return Group(number: lastNumber, jobs: jobs, chains: chains)
    }

    /// - Returns: whether the group may insert now. Otherwise `ended` names it later.
    mutating func claimed(_ group: Int) -> Bool {
        let isFree = !stages.values.contains(.inserting)
        stages[group] = isFree ? .inserting : .claimed
        return isFree
    }

    /// The group's insert has ended, or it had none.
    /// - Returns: the group that may insert now.
    mutating func inserted(_ group: Int) -> Int? {
        let hadTurn = stages[group] == .inserting
        stages[group] = .moving
        guard hadTurn, let next = stages.first(where: { $0.value == .claimed })?.key else { return nil }
        stages[next] = .inserting
        return next
    }

    /// The group's requests are settled, except for some that are written again after `resumed` names their chains.
    mutating func ended(_ group: Group, again jobs: [WriterJob] = []) {
        stages[group.number] = nil
        busy.subtract(group.chains.subtracting(jobs.flatMap(\.chains)))
        waiting.insert(contentsOf: jobs, at: 0)
        waitingBytes += jobs.reduce(0) { $0 + $1.byteCount }
        waitingParts += jobs.reduce(0) { $0 + $1.partCount }
    }

    mutating func resumed(_ chains: Set<ChainKey>) { busy.subtract(chains) }
}

extension WriterJob {
    var chains: Set<ChainKey> {
        switch work {
        case .append(let parts): Set(parts.map { ChainKey(device: device, epoch: $0.epoch) })
        case .close(let epoch, _): [ChainKey(device: device, epoch: epoch)]
        case .number(let items): Set(items.map { ChainKey(device: $0.device, epoch: $0.epoch) })
        }
    }
}
