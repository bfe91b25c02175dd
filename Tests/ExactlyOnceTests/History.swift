import DeviceTestKit
import Foundation
import RecordQueue
import StoreTestKit
import TestKit
import WireModel

/// A rule of the device, deliberately broken.
enum BrokenDeviceRule: String, CaseIterable, Sendable {
    /// Counts what was sent as arrived.
    case acknowledgesOnSend
    /// Treats any answer as "stored to the end".
    case believesEveryAnswer
    /// Sends a record that it has quarantined again without having heard that the collector lacks it.
    case sendsAgainWhatMayHaveArrived
}

/// One random history of one device: produce, drop, send, lose, duplicate, delay, reorder, damage, crash on both sides
/// - against a real queue and a store, with a small model of what must come out.
///
/// The model: per stream the identities in the order they were handed to the queue (so the n-th is number n), how many
/// of them are certainly committed, and which numbers were dropped. At the end every number is stored once with its own
/// bytes, or was dropped and is counted. What was quarantined is sent again under another number: its identity is
/// stored once, or it is still quarantined.
final class History {
    private struct StreamModel {
        var identities: [UInt64] = []
        /// So many of the first are committed for certain.
        var certain = 0
        var dropped: [UInt64: DropReason] = [:]
    }

    private var random: SplitMix64
    private let device: CrashingQueue
    private let clock: ManualRecordClock
    private let collector: JudgedCollector
    private let brokenRule: BrokenDeviceRule?
    private var model = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, StreamModel()) })
    private var network = LossyNetwork()
    private var mint = BodyMint()
    private(set) var steps = 0

    init(
        seed: UInt64, directory: URL, collector: any CrashingStore, reference: InMemoryRecordStore?,
        brokenRule: BrokenDeviceRule? = nil
    ) throws {
        random = SplitMix64(seed: seed)
        clock = ManualRecordClock()
        device = try CrashingQueue(parent: directory, clock: clock)
        self.collector = JudgedCollector(store: collector, device: .random(using: &random), reference: reference)
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
        case ..<0.30: for _ in 0..<Int.random(in: 1...5, using: &random) { try produce(stream) }
        case ..<0.36: try await produceDurably(stream)
        case ..<0.39: try await flush()
        case ..<0.43: try await drop(stream)
        case ..<0.44: try await quarantine(stream)
        case ..<0.45: try await sendAgain()
        case ..<0.66: try await send(stream)
        case ..<0.85: try await deliver()
        case ..<0.955: try await answer()
        case ..<0.965: try await crashDevice()
        case ..<0.970: try await collector.store.crash()
        case ..<0.972: collector.store.dayPasses()
        case ..<0.980: clock.advance(by: .seconds(Int.random(in: 1...10_000, using: &random)))
        case ..<0.985: clock.setWallClock(by: .seconds(Int.random(in: -1_000_000...1_000_000, using: &random)))
        default: try await collector.balances(beside: device.queue)
        }
    }

    // MARK: Device

    private func record(_ stream: StreamName) -> NewRecord {
        let (identity, record) = mint.record(stream, stamp: clock.now(), using: &random)
        model[stream]?.identities.append(identity)
        return record
    }

    private func produce(_ stream: StreamName) throws {
        try device.queue.enqueue(record(stream))
    }

    private func produceDurably(_ stream: StreamName) async throws {
        let number = try await device.queue.enqueueDurably(record(stream))
        let expected = model[stream]?.identities.count ?? 0
        guard number == UInt64(expected) else { throw Violation("\(stream): record \(expected) got number \(number)") }
        model[stream]?.certain = expected
    }

    private func flush() async throws {
        try await device.queue.flush()
        model = model.mapValues {
            StreamModel(identities: $0.identities, certain: $0.identities.count, dropped: $0.dropped)
        }
    }

    private func drop(_ stream: StreamName) async throws {
        let reason = [DropReason.byteCap, .ageCap].randomElement(using: &random) ?? .byteCap
        let gap = try await device.queue.drop(
            oldest: Int.random(in: 1...6, using: &random), of: stream, reason: reason, keepAside: false)
        guard let gap else { return }
        for number in gap.first...gap.last where model[stream]?.dropped[number] == nil {
            model[stream]?.dropped[number] = gap.reason
        }
    }

    private func quarantine(_ stream: StreamName) async throws {
        guard let gap = try await device.queue.drop(oldest: 1, of: stream, reason: .quarantined, keepAside: true) else {
            return
        }
        model[stream]?.dropped[gap.last] = .quarantined
        guard brokenRule == .sendsAgainWhatMayHaveArrived, let identity = model[stream]?.identities[Int(gap.last) - 1]
        else { return }
        try device.queue.enqueue(BodyMint.record(identity, stream, stamp: clock.now(), using: &random))
        model[stream]?.identities.append(identity)
    }

    private func sendAgain() async throws {
        try await flush()
        guard brokenRule != .sendsAgainWhatMayHaveArrived else { return }
        for record in try await device.queue.retry().records where record.outcome == .queued {
            guard let stream = StreamName.allCases.first(where: { $0.description == record.stream }),
                let identity = model[stream]?.identities[Int(record.number) - 1]
            else { throw Violation("a record of stream \(record.stream) was quarantined that was never made") }
            guard model[stream]?.dropped[record.number] == .quarantined else {
                throw Violation("\(stream) \(record.number) was not quarantined")
            }
            model[stream]?.identities.append(identity)
            model[stream]?.certain += 1
            guard record.newNumber == model[stream].map({ UInt64($0.identities.count) }) else {
                throw Violation("\(stream) \(record.number) is sent again under an odd number: \(record)")
            }
        }
    }

    private func send(_ stream: StreamName) async throws {
        let part = try await device.queue.nextPart(
            of: stream, maximumBytes: random.chance(0.5) ? Int.random(in: 1...3_000, using: &random) : 1 << 20,
            maximumRecords: Int.random(in: 1...30, using: &random), hold: random.chance(0.3) ? .seconds(5) : .zero)
        guard let part else { return }
        if part.last > UInt64(model[stream]?.certain ?? 0) { model[stream]?.certain = Int(part.last) }
        network.send(part, using: &random)
        if brokenRule == .acknowledgesOnSend { try await believe(part) }
    }

    /// Does what a device would do that counts a part as stored.
    private func believe(_ part: BatchPart) async throws {
        var mark = try await device.queue.status().streams[part.stream]?.mark ?? .none
        guard part.last > mark.number else { return }
        mark.stored += part.last - mark.number
        mark.number = part.last
        mark.link = part.lastLink
        _ = try await device.queue.apply(
            PartAnswer(epoch: part.epoch, stream: part.stream, outcome: .stored, mark: mark))
    }

    private func crashDevice() async throws {
        try await device.crash()
        let status = try await device.queue.status()
        for stream in StreamName.allCases {
            let last = Int(status.streams[stream]?.lastNumber ?? 0)
            guard var survived = model[stream] else { continue }
            guard last >= survived.certain else {
                throw Violation("\(stream): a crash lost \(survived.certain - last) committed records")
            }
            survived.identities.removeLast(survived.identities.count - last)
            survived.certain = last
            model[stream] = survived
        }
    }

    // MARK: Network

    private func deliver() async throws {
        guard var part = network.arrival(using: &random) else { return }
        if random.chance(0.05) { damage(&part) }
        let answer = try await collector.append(part)
        network.reply(answer, using: &random)
        if brokenRule == .believesEveryAnswer { try await believe(part) }
    }

    private func damage(_ part: inout BatchPart) {
        switch Int.random(in: 0..<4, using: &random) {
        case 0 where !part.records.isEmpty: part.records.removeLast()
        case 1 where !part.records.isEmpty:
            let index = Int.random(in: 0..<part.records.count, using: &random)
            let byte = part.records[index].startIndex + Int.random(in: 0..<part.records[index].count, using: &random)
            part.records[index][byte] ^= 1 << Int.random(in: 0..<8, using: &random)
        case 2: part.lastLink = ChainLink(high: part.lastLink.high ^ 1, low: part.lastLink.low)
        default: part.last += 1
        }
    }

    private func answer() async throws {
        if let answer = network.answer(using: &random) { try await apply(answer) }
    }

    private func apply(_ answer: PartAnswer) async throws {
        if case .diverged(let divergence) = try await device.queue.apply(answer) {
            throw Violation("an honest device's history diverged: \(divergence)")
        }
    }

    // MARK: The end

    /// Sends until nothing waits, over a network that works; late ghosts arrive in between. What was quarantined is
    /// sent again.
    private func settle() async throws {
        try await flush()
        try await sendAll()
        try await sendAgain()
        try await sendAll()
        for ghost in network.parts { _ = try await collector.append(ghost) }
    }

    private func sendAll() async throws {
        for stream in StreamName.allCases {
            var rounds = 0
            while let part = try await device.queue.nextPart(
                of: stream, maximumBytes: 1 << 20, maximumRecords: Int.random(in: 1...40, using: &random), hold: .zero)
            {
                rounds += 1
                guard rounds < 10_000 else { throw Violation("\(stream): no progress over a network that works") }
                try await apply(collector.append(part))
                if random.chance(0.2), let ghost = network.ghost() { _ = try await collector.append(ghost) }
            }
        }
    }

    private func judge() async throws {
        let collected = try await collector.balances(beside: device.queue)
        let aside = try await self.device.queue.inspect().quarantine
        let device = try await device.queue.balance()
        for stream in StreamName.allCases {
            guard let model = model[stream] else { continue }
            let stored = try await stored(stream)
            try judge(stream, model, stored: stored, aside: aside.filter { $0.stream == stream.description })
            for number in stride(from: UInt64(1), through: UInt64(model.identities.count), by: 1) {
                switch (stored[number], model.dropped[number]) {
                case (let identity?, _):
                    guard identity == model.identities[Int(number) - 1] else {
                        throw Violation("\(stream) \(number): another record is stored")
                    }
                case (nil, .some): continue
                case (nil, nil): throw Violation("\(stream) \(number) is lost: neither stored nor dropped")
                }
            }
            if let beyond = stored.keys.max(), beyond > UInt64(model.identities.count) {
                throw Violation("\(stream) \(beyond) was never made")
            }

            var dropped: [String: UInt64] = [:]
            for (number, reason) in model.dropped where stored[number] == nil {
                dropped[reason.description, default: 0] += 1
            }
            let expected = JudgedCollector.Sum(
                produced: UInt64(model.identities.count), stored: UInt64(stored.count), dropped: dropped)
            var own = JudgedCollector.Sum()
            if let balance = device[stream] { own.add(balance) }
            for case (let side, let sum?) in [("device", own), ("collector", collected[stream])] where sum != expected {
                throw Violation("\(side) \(stream): \(sum), but \(expected) is true")
            }
        }
    }

    /// Nothing is doubled by being sent again, and nothing that was quarantined is gone.
    private func judge(
        _ stream: StreamName, _ model: StreamModel, stored: [UInt64: UInt64], aside: [QueueInspection.Quarantined]
    ) throws {
        guard Set(stored.values).count == stored.count else {
            throw Violation("\(stream): a record is stored under two numbers")
        }
        let identities = Set(stored.values)
        // Once sent again, a cap may have dropped it as any other record.
        let capped = Set(model.dropped.filter { $0.value != .quarantined }.map { model.identities[Int($0.key) - 1] })
        let kept = Set(aside.map { model.identities[Int($0.number) - 1] })
        for (number, reason) in model.dropped where reason == .quarantined {
            let identity = model.identities[Int(number) - 1]
            guard identities.contains(identity) || capped.contains(identity) || kept.contains(identity) else {
                throw Violation("\(stream) \(number) was quarantined, and is neither there any more nor stored")
            }
        }
        for record in aside where record.fate != "uncertain" {
            throw Violation(
                "\(stream) \(record.number) is still quarantined (\(record.fate ?? "?")) although all was sent")
        }
    }

    /// Number to identity of what the collector has; a number that is there twice is a violation.
    private func stored(_ stream: StreamName) async throws -> [UInt64: UInt64] {
        var stored: [UInt64: UInt64] = [:]
        for record in try await collector.stored(stream) {
            guard stored.updateValue(record.identity, forKey: record.number) == nil else {
                throw Violation("\(stream) \(record.number) is stored twice")
            }
        }
        return stored
    }
}
