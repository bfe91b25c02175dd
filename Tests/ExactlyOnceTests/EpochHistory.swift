import CollectorStore
import Foundation
import RecordQueue
import TelemetryTestKit
import WireModel

/// A rule of ending epochs, deliberately broken.
enum BrokenCloseRule: String, CaseIterable, Sendable {
    /// Takes the collector for having none of the records it was asked about.
    case queuesAllAnew
    /// Takes the collector for having all of them.
    case queuesNothingAnew
    /// Forgets that the records of a dropped epoch are to be told of: goes on without closing it.
    case neverCloses
}

/// One random history of one device whose epochs end: images of its queue are brought back, it is wiped, unenrolled and bound elsewhere, copied
/// to other machines, and its records wait for consent - over a network that loses, repeats and delays, with crashes on both sides.
///
/// Numbers change when a record is queued anew, so the judge goes by what is in it: every body is stored once, or is excused (dropped, wiped,
/// refused) and then counted; what both sides count is the same.
final class EpochHistory {
    /// What one stream has to come to.
    private struct Line {
        /// Committed for certain: stored or counted at the end.
        var certain: Set<UInt64> = []
        /// Perhaps only in memory.
        var uncertain: Set<UInt64> = []
        /// Of the certain ones, those that wait for consent.
        var apart: Set<UInt64> = []
    }

    private struct Image {
        var directory: URL
        var lines: [StreamName: Line]
    }

    private var random: SplitMix64
    private let clock = ManualRecordClock()
    private let device: CrashingQueue
    private let deviceID: DeviceID
    private let collector: any CrashingStore
    private let brokenRule: BrokenCloseRule?
    private var lines = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Line()) })
    /// Dropped by somebody's will, on any branch of the history.
    private var excused: Set<UInt64> = []
    private var image: Image?
    private var network: [BatchPart] = []
    private var answers: [PartAnswer] = []
    private var nextIdentity: UInt64 = 1
    /// Waited for consent in an image that was brought back, and were released since: without a number nothing tells that they were sent.
    private var mayDouble: Set<UInt64> = []
    /// An image was brought back, and its epoch dropped before the collector was asked what it has: how much of that is stored cannot be known.
    private var isCountUnknown = false
    /// An image was brought back, in this epoch or ever.
    private var isRestored = false
    private var wasRestored = false
    private(set) var steps = 0
    /// How often each thing happened, for the test that all of them do.
    private(set) var ends: [EpochEnd: Int] = [:]
    private(set) var moved: UInt64 = 0

    init(seed: UInt64, directory: URL, collector: any CrashingStore, brokenRule: BrokenCloseRule? = nil) throws {
        random = SplitMix64(seed: seed)
        device = try CrashingQueue(parent: directory, clock: clock)
        deviceID = DeviceID.random(using: &random)
        self.collector = collector
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
        case ..<0.38: try await produceApart(stream)
        case ..<0.395: try await decideConsent()
        case ..<0.60: try await send(stream)
        case ..<0.77: try await deliver()
        case ..<0.88: try await answer()
        case ..<0.91: try await close(losing: true)
        case ..<0.930: try await takeImage()
        case ..<0.942: try await bringBack()
        case ..<0.946: try await end([.wiped, .unenrolled, .reboundDrop].randomElement(using: &random) ?? .wiped)
        case ..<0.950: try await clone()
        case ..<0.965: try await crashDevice()
        case ..<0.970: try await collector.crash()
        case ..<0.975: collector.dayPasses()
        case ..<0.985: clock.advance(by: .seconds(Int.random(in: 1...10_000, using: &random)))
        default: try await checkBalances(device.queue, deviceID)
        }
    }

    // MARK: Records

    private func record(_ stream: StreamName) -> (identity: UInt64, NewRecord) {
        let identity = nextIdentity
        nextIdentity += 1
        var body = withUnsafeBytes(of: identity.bigEndian) { Data($0) }
        body.append(Data(repeating: UInt8(truncatingIfNeeded: identity), count: Int.random(in: 0...200, using: &random)))
        return (identity, NewRecord(stream: stream, kind: .event, stamp: clock.now(), body: body))
    }

    private func produce(_ stream: StreamName) throws {
        let (identity, record) = record(stream)
        try device.queue.enqueue(record)
        lines[stream]?.uncertain.insert(identity)
    }

    private func produceApart(_ stream: StreamName) async throws {
        try await flush()
        let (identity, record) = record(stream)
        try await device.queue.enqueueApart(record, account: .consent)
        lines[stream]?.certain.insert(identity)
        lines[stream]?.apart.insert(identity)
    }

    private func decideConsent() async throws {
        try await flush()
        if random.chance(0.5) {
            _ = try await device.queue.releaseApart(.consent)
        } else {
            let count = try await device.queue.dropApart(.consent, reason: .consent)
            let waited = lines.values.reduce(0) { $0 + $1.apart.count }
            guard count == waited else { throw Violation("\(waited) records waited for consent, \(count) were dropped") }
            for line in lines.values { excused.formUnion(line.apart) }
        }
        for stream in StreamName.allCases { lines[stream]?.apart = [] }
    }

    private func flush() async throws {
        try await device.queue.flush()
        lines = lines.mapValues { Line(certain: $0.certain.union($0.uncertain), apart: $0.apart) }
    }

    private func drop(_ stream: StreamName) async throws {
        try await flush()
        let front = try await device.queue.nextPart(of: stream, maximumBytes: 1 << 20, maximumRecords: 100, hold: .zero)
        var identities: [UInt64: UInt64] = [:]
        for record in front?.records ?? [] {
            guard let header = RecordHeader(scanning: record) else { throw Violation("\(stream): a record without envelope") }
            identities[header.number] = Self.identity(header.body(of: record))
        }
        // A queue that has parted gives no part; what it drops could not be told from here.
        guard !identities.isEmpty else { return }
        let reason = [DropReason.byteCap, .ageCap].randomElement(using: &random) ?? .byteCap
        let count = min(identities.count, Int.random(in: 1...6, using: &random))
        let gap = try await device.queue.drop(oldest: count, of: stream, reason: reason, keepAside: false)
        guard let gap else { return }
        excused.formUnion((gap.first...gap.last).compactMap { identities[$0] })
    }

    private static func identity(_ body: Data) -> UInt64 { body.prefix(8).reduce(0) { $0 << 8 | UInt64($1) } }

    // MARK: Sending

    private func send(_ stream: StreamName) async throws {
        try await flush()
        let part = try await device.queue.nextPart(
            of: stream, maximumBytes: 1 << 20, maximumRecords: Int.random(in: 1...30, using: &random), hold: .zero)
        guard let part else { return }
        network.append(part)
        if random.chance(0.3) { network.append(part) }
    }

    private func deliver() async throws {
        guard !network.isEmpty else { return }
        let part = network.remove(at: random.chance(0.7) ? network.count - 1 : Int.random(in: 0..<network.count, using: &random))
        guard random.chance(0.85) else { return }
        let answer = try await append(part)
        if random.chance(0.7) { answers.append(answer) }
    }

    private func append(_ part: BatchPart) async throws -> PartAnswer {
        let answers = await collector.store.append([part], from: deviceID, receivedAt: 1)
        guard let answer = answers.first, answers.count == 1 else { throw Violation("\(answers.count) answers to one part") }
        return answer
    }

    private func answer() async throws {
        guard !answers.isEmpty else { return }
        try await apply(answers.remove(at: Int.random(in: 0..<answers.count, using: &random)))
    }

    private func apply(_ answer: PartAnswer) async throws {
        guard case .parted(let parting) = try await device.queue.apply(answer) else { return }
        guard isRestored else { throw Violation("an honest device's history parted: \(parting)") }
        try await end(.restored)
    }

    // MARK: Epochs

    private func takeImage() async throws {
        // An image with an epoch that is not closed yet may move what another branch has moved and sent already.
        guard image == nil, !device.queue.hasEpochToClose else { return }
        try await flush()
        image = Image(directory: try device.image(), lines: lines)
    }

    /// The image takes the place of the queue: what came after it is known to the collector alone, so far as it arrived.
    private func bringBack() async throws {
        guard let image else { return }
        self.image = nil
        try await device.restore(image.directory)
        for stream in StreamName.allCases {
            mayDouble.formUnion(image.lines[stream]?.apart.subtracting(lines[stream]?.apart ?? []) ?? [])
        }
        lines = image.lines
        // No connection outlives its process; what is on its way to the collector does.
        answers = []
        (isRestored, wasRestored) = (true, true)
    }

    private func end(_ end: EpochEnd) async throws {
        try await flush()
        if end == .restored {
            clock.advance(by: .seconds(3600))
        } else if isRestored || wasRestored && device.queue.hasEpochToClose {
            isCountUnknown = true
        }
        if end != .restored { for line in lines.values { excused.formUnion(line.certain) } }
        try await device.queue.endEpoch(end)
        if end != .restored { for stream in StreamName.allCases { lines[stream]?.apart = [] } }
        ends[end, default: 0] += 1
        isRestored = false
        answers = []
        // An image from before the end would begin the same epoch again, which was closed under another branch.
        if let image { try FileManager.default.removeItem(at: image.directory) }
        image = nil
        if random.chance(0.2) { try await crashDevice() }
    }

    /// One exchange about an ended epoch.
    /// - Returns: whether there is more.
    @discardableResult
    private func close(losing: Bool) async throws -> Bool {
        try await flush()
        guard brokenRule != .neverCloses, let request = try await device.queue.nextClose() else { return false }
        if losing, random.chance(0.1) { return true }
        var answer = try await collector.store.answer(request, from: deviceID)
        if losing, random.chance(0.2) { return true }
        if losing, random.chance(0.1) {
            try await crashDevice()
            return true
        }
        try falsify(&answer, to: request)
        return try await device.queue.applyClose(answer) == .again
    }

    private func falsify(_ answer: inout WireCloseAnswer, to request: WireCloseRequest) throws {
        for index in answer.streams.indices {
            switch brokenRule {
            case .queuesAllAnew: answer.streams[index].clearMatched()
            case .queuesNothingAnew:
                let points = request.streams.first { $0.stream == answer.streams[index].stream }?.points ?? []
                if let greatest = points.max(by: { $0.number < $1.number }) { answer.streams[index].matched = greatest }
            case .neverCloses, nil: break
            }
        }
    }

    /// The queue is copied to another machine, which enrolls as itself. It has nothing of the original's, and the original misses nothing.
    private func clone() async throws {
        try await flush()
        let directory = try device.image()
        defer { try? FileManager.default.removeItem(at: directory) }
        let clone = try device.openElsewhere(directory)
        let cloneID = DeviceID.random(using: &random)
        try await clone.endEpoch(.clone)
        ends[.clone, default: 0] += 1
        while let request = try await clone.nextClose() {
            if try await clone.applyClose(collector.store.answer(request, from: cloneID)) == .settled { break }
        }
        let inherited = try await clone.balance()
        for stream in StreamName.allCases {
            let (identity, record) = record(stream)
            _ = try await clone.enqueueDurably(record)
            try await Self.drain(clone, stream) { await self.collector.store.append([$0], from: cloneID, receivedAt: 1) }
            guard try await stored(stream, of: cloneID).identities == [identity] else {
                throw Violation("\(stream): a clone sent what it inherited")
            }
        }
        let collected = try await checkBalances(clone, cloneID)
        for (stream, balance) in try await clone.balance() {
            let dropped = collected[stream]?.dropped["clone"] ?? 0
            guard balance.waiting == 0, balance.stored == 1 + (inherited[stream]?.stored ?? 0), balance.dropped["clone"] ?? 0 == dropped
            else { throw Violation("\(stream): the clone has \(balance), its collector \(dropped) dropped as clone") }
        }
        await clone.close()
    }

    private func crashDevice() async throws {
        if random.chance(0.5) { try await flush() }
        try await device.crash()
        answers = []
        for stream in StreamName.allCases { lines[stream]?.uncertain = [] }
    }

    // MARK: The end

    private static func drain(
        _ queue: RecordQueue, _ stream: StreamName, _ append: (BatchPart) async -> [PartAnswer]
    ) async throws {
        var rounds = 0
        while let part = try await queue.nextPart(of: stream, maximumBytes: 1 << 20, maximumRecords: 40, hold: .zero) {
            rounds += 1
            guard rounds < 10_000 else { throw Violation("\(stream): no progress over a network that works") }
            for answer in await append(part) { _ = try await queue.apply(answer) }
        }
    }

    /// Over a network that works: closes what is to be closed, sends what waits, until nothing does. Consent is given.
    private func settle() async throws {
        _ = try await device.queue.releaseApart(.consent)
        for stream in StreamName.allCases { lines[stream]?.apart = [] }
        var rounds = 0
        repeat {
            rounds += 1
            guard rounds < 1000 else { throw Violation("ended epochs are never settled") }
            // The newest totals ride on a part of each stream.
            for stream in StreamName.allCases {
                try produce(stream)
                try await flush()
                let epoch = device.queue.epoch
                while device.queue.epoch == epoch,
                    let part = try await device.queue.nextPart(of: stream, maximumBytes: 1 << 20, maximumRecords: 40, hold: .zero)
                {
                    try await apply(append(part))
                    if let ghost = network.popLast() { _ = try await append(ghost) }
                }
            }
            while try await close(losing: false) {}
        } while try await isUnsettled()
        for ghost in network { _ = try await append(ghost) }
    }

    private func isUnsettled() async throws -> Bool {
        let status = try await device.queue.status()
        if status.streams.values.contains(where: { $0.waiting > 0 || $0.apart > 0 }) { return brokenRule != .neverCloses }
        return brokenRule != .neverCloses && status.ended.contains { !$0.isClosed }
    }

    /// - Returns: the collector's balances, summed over the epochs.
    @discardableResult
    private func checkBalances(
        _ queue: RecordQueue, _ id: DeviceID
    ) async throws -> [StreamName: (produced: UInt64, stored: UInt64, dropped: [String: UInt64])] {
        for (stream, balance) in try await queue.balance() where !balance.closes {
            throw Violation("the device's balance of \(stream) does not close: \(balance)")
        }
        var sums: [StreamName: (produced: UInt64, stored: UInt64, dropped: [String: UInt64])] = [:]
        for epoch in try await collector.store.balance(of: id) {
            guard epoch.balance.closes else {
                throw Violation("the collector's balance of \(epoch.stream) does not close: \(epoch.balance)")
            }
            var sum = sums[epoch.stream] ?? (0, 0, [:])
            sum.produced += epoch.balance.produced
            sum.stored += epoch.balance.stored
            sum.dropped.merge(epoch.balance.dropped, uniquingKeysWith: +)
            sums[epoch.stream] = sum
        }
        return sums
    }

    private func judge() async throws {
        let collected = try await checkBalances(device.queue, deviceID)
        let balances = try await device.queue.balance()
        for stream in StreamName.allCases {
            guard let line = lines[stream], let balance = balances[stream], let sum = collected[stream] else {
                throw Violation("\(stream): no balance")
            }
            let (stored, rows) = try await stored(stream, of: deviceID)
            let lost = line.certain.subtracting(stored)
            if let first = lost.subtracting(excused).min() {
                throw Violation(
                    "\(stream): record \(first) and \(lost.subtracting(excused).count - 1) more are lost: neither stored nor dropped")
            }
            guard balance.waiting == 0, balance.stored == rows, sum.stored == rows else {
                throw Violation("\(stream): \(rows) records are stored, the device says \(balance), the collector \(sum)")
            }
            moved += balance.dropped["moved"] ?? 0
            let dropped = balance.dropped.values.reduce(0, +) - (balance.dropped["moved"] ?? 0)
            guard dropped >= UInt64(lost.count) || isCountUnknown, wasRestored || dropped == UInt64(lost.count) else {
                throw Violation("\(stream): \(lost.count) records were dropped, the device counts \(balance.dropped)")
            }
            guard isCountUnknown || sum.dropped["moved"] == balance.dropped["moved"] else {
                throw Violation("\(stream): moved are \(balance.dropped) by the device, \(sum.dropped) by the collector")
            }
            // What never had a number is told by the next part of its epoch, and a branch that is gone has told of its own.
            guard !wasRestored else { continue }
            for reason in ["byte-cap", "age-cap"] where sum.dropped[reason] ?? 0 != balance.dropped[reason] ?? 0 {
                throw Violation("\(stream) \(reason): the device counts \(balance.dropped), the collector \(sum.dropped)")
            }
            for (reason, count) in sum.dropped where count > balance.dropped[reason] ?? 0 {
                throw Violation("\(stream): the collector counts \(count) as \(reason), the device \(balance.dropped)")
            }
        }
    }

    /// Identities of what the collector has; one that is there twice is a violation.
    private func stored(_ stream: StreamName, of id: DeviceID) async throws -> (identities: Set<UInt64>, rows: UInt64) {
        var stored: Set<UInt64> = []
        var rows: UInt64 = 0
        var position: String?
        repeat {
            let page = try await collector.store.records(of: id, stream: stream, kind: nil, module: nil, before: position, limit: 1_000)
            for record in page.records {
                let identity = Self.identity(record.header.body(of: record.bytes))
                rows += 1
                guard stored.insert(identity).inserted || mayDouble.contains(identity) else {
                    throw Violation("\(stream): record \(identity) is stored twice")
                }
            }
            position = page.next
        } while position != nil
        return (stored, rows)
    }
}
