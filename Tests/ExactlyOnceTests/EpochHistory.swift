import DeviceTestKit
import Foundation
import RecordQueue
import TestKit
import WireModel

/// One random history of one device whose epochs end: images of its queue are brought back, it is wiped, unenrolled and
/// bound elsewhere, copied to other machines, and its events and samples wait for consent - over a network that loses,
/// repeats and delays, with crashes on both sides.
///
/// Numbers change when a record is queued anew, so the judge goes by what is in it: every body is stored once, or is
/// excused (dropped, wiped, refused) and then counted; what both sides count is the same (EpochHistory+Judging.swift).
final class EpochHistory {
    /// What one stream has to come to, on one branch of the history.
    struct Line {
        /// Committed for certain: stored or counted at the end.
        var certain: Set<UInt64> = []
        /// Perhaps only in memory.
        var uncertain: Set<UInt64> = []
        /// The certain ones that were dropped at the front: whether they had arrived before may be known to nobody.
        var dropped: Set<UInt64> = []
        /// The dropped ones of the current epoch.
        var droppedInEpoch: Set<UInt64> = []
    }

    struct Image {
        var directory: URL
        var lines: [StreamName: Line]
    }

    var random: SplitMix64
    let clock = ManualRecordClock()
    let device: CrashingQueue
    let collector: JudgedCollector
    let brokenRule: BrokenCloseRule?
    var lines = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Line()) })
    /// Dropped by somebody's will, on any branch of the history.
    var excused = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Set<UInt64>()) })
    var image: Image?
    var network = LossyNetwork()
    var mint = BodyMint()
    /// Nobody has decided: events and samples are not asked for.
    var isPending = false
    /// Dropped at the front of an image that was brought back, and, where its epoch was then given up, before that: the
    /// collector's mark may have stood in the gap, at records of the other branch.
    var mayBeUncounted: Set<UInt64> = []
    /// Dropped at the front by a branch that is gone: the collector may have been informed, and cannot say of which
    /// records.
    var droppedElsewhere = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Set<UInt64>()) })
    /// The drops that a branch that is gone may have reported to the collector.
    var abandoned: [StreamName: [String: UInt64]] = [:]
    /// An image was brought back, in this epoch or ever.
    var isRestored = false
    var wasRestored = false
    /// Epochs that were kept and then given up before they were settled.
    var givenUp: Set<EpochID> = []
    private(set) var steps = 0
    /// How often each thing happened, for the test that all of them do.
    var seen = EpochSightings()

    init(seed: UInt64, directory: URL, collector: any CrashingStore, brokenRule: BrokenCloseRule? = nil) throws {
        random = SplitMix64(seed: seed)
        device = try CrashingQueue(parent: directory, clock: clock)
        self.collector = JudgedCollector(store: collector, device: .random(using: &random), reference: nil)
        self.brokenRule = brokenRule
    }

    /// - Throws: `Violation` where the promise was broken.
    func run(steps count: Int) async throws {
        for _ in 0..<count {
            steps += 1
            try await step()
        }
        try await settle()
        try await judge()
        await device.close()
    }

    private func step() async throws {
        let stream = StreamName.allCases.randomElement(using: &random) ?? .event
        switch Double.random(in: 0..<1, using: &random) {
        case ..<0.26: for _ in 0..<Int.random(in: 1...5, using: &random) { try produce(stream) }
        case ..<0.30: try await flush()
        case ..<0.34: try await drop(stream)
        case ..<0.345: isPending = true
        case ..<0.390: isPending = false
        case ..<0.395: try await denyConsent()
        case ..<0.60: try await send(stream)
        case ..<0.77: try await deliver()
        case ..<0.88: try await answer()
        case ..<0.91: try await close(losing: true)
        case ..<0.930: try await takeImage()
        case ..<0.942: try await bringBack()
        case ..<0.946: try await giveUp()
        case ..<0.950: try await clone()
        case ..<0.965: try await crashDevice()
        case ..<0.970: try await collector.store.crash()
        case ..<0.975: collector.store.dayPasses()
        case ..<0.985: clock.advance(by: .seconds(Int.random(in: 1...10_000, using: &random)))
        default: try await collector.balances(beside: device.queue)
        }
    }

    // MARK: Records

    func produce(_ stream: StreamName) throws {
        let (identity, record) = mint.record(stream, stamp: clock.now(), using: &random)
        try device.queue.enqueue(record)
        lines[stream]?.uncertain.insert(identity)
    }

    /// What waits of events and samples is dropped, in the current epoch and in those that have ended.
    private func denyConsent() async throws {
        try await flush()
        seen.denials += 1
        let hasEnded = try await device.queue.status().streams.values.contains { $0.apart > 0 }
        for stream in [StreamName.event, .sample] {
            var dropped = lines[stream]?.certain ?? []
            // In an ended epoch, or one that has diverged, what waits cannot be known from here.
            if !hasEnded,
                let part = try await device.queue.nextPart(
                    of: stream, maximumBytes: 1 << 30, maximumRecords: 1 << 20, hold: .zero)
            {
                dropped = Set(
                    part.records.compactMap { record in
                        RecordHeader(scanning: record).map { BodyMint.identity(of: record, $0) }
                    })
            }
            let waiting = try await device.queue.balance()[stream]?.waiting
            guard try await device.queue.dropWaiting(of: [stream], reason: .consent) == waiting else {
                throw Violation("\(stream): not all that waited was dropped")
            }
            excused[stream]?.formUnion(dropped)
            lines[stream]?.dropped.formUnion(dropped)
            lines[stream]?.droppedInEpoch.formUnion(dropped)
            if wasRestored { mayBeUncounted.formUnion(dropped) }
        }
        isPending = false
    }

    func flush() async throws {
        try await device.queue.flush()
        for (stream, line) in lines {
            lines[stream]?.certain.formUnion(line.uncertain)
            lines[stream]?.uncertain = []
        }
    }

    private func drop(_ stream: StreamName) async throws {
        try await flush()
        let front = try await device.queue.nextPart(of: stream, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero)
        var identities: [UInt64: UInt64] = [:]
        for record in front?.records ?? [] {
            guard let header = RecordHeader(scanning: record) else {
                throw Violation("\(stream): a record without envelope")
            }
            identities[header.number] = BodyMint.identity(of: record, header)
        }
        // A queue that has diverged gives no part; what it drops could not be known from here.
        guard !identities.isEmpty else { return }
        let reason = [DropReason.byteCap, .ageCap].randomElement(using: &random) ?? .byteCap
        let count = min(identities.count, Int.random(in: 1...6, using: &random))
        let gap = try await device.queue.drop(oldest: count, of: stream, reason: reason, keepAside: false)
        guard let gap else { return }
        let dropped = (gap.first...gap.last).compactMap { identities[$0] }
        excused[stream]?.formUnion(dropped)
        lines[stream]?.dropped.formUnion(dropped)
        lines[stream]?.droppedInEpoch.formUnion(dropped)
        if isRestored { mayBeUncounted.formUnion(dropped) }
    }

    // MARK: Sending

    private func send(_ stream: StreamName) async throws {
        try await flush()
        let maximum = Int.random(in: 1...30, using: &random)
        guard !isPending || stream == .status else { return }
        let part = try await device.queue.nextPart(
            of: stream, maximumBytes: 1 << 20, maximumRecords: maximum, hold: .zero)
        if let part { network.send(part, using: &random) }
    }

    private func deliver() async throws {
        guard let part = network.arrival(using: &random) else { return }
        network.reply(try await collector.append(part), using: &random)
    }

    private func answer() async throws {
        if let answer = network.answer(using: &random) { try await apply(answer) }
    }

    func apply(_ answer: PartAnswer) async throws {
        guard case .diverged(let divergence) = try await device.queue.apply(answer) else { return }
        guard isRestored else { throw Violation("an honest device's history diverged: \(divergence)") }
        try await end(.restored)
        // Sometimes what was to be moved is given up before the collector hears of it.
        if random.chance(0.15) { try await giveUp() }
    }

    func crashDevice() async throws {
        if random.chance(0.5) { try await flush() }
        try await device.crash()
        network.disconnect()
        for stream in StreamName.allCases { lines[stream]?.uncertain = [] }
    }
}
