import DeviceTestKit
import Foundation
import Logging
import RecordQueue
import StoreTestKit
import Synchronization
import TestKit
import Transmitter
import WireModel

/// One random history of a whole device - queue, transmitter, kills - behind a middlebox that lies. The judge: every
/// record is stored once.
final class MiddleboxHistory {
    struct Sightings {
        var quarantine = 0
        var sentAgain = 0
        var lies = 0
        var liesBehindWhichAllWasStored = 0

        mutating func add(_ other: Sightings) {
            quarantine += other.quarantine
            sentAgain += other.sentAgain
            lies += other.lies
            liesBehindWhichAllWasStored += other.liesBehindWhichAllWasStored
        }
    }

    private static let logger = Logger(label: "middlebox") { _ in SwiftLogNoOpLogHandler() }

    private var random: SplitMix64
    private let clock = ManualRecordClock()
    private let device: CrashingQueue
    private let store: any CrashingStore
    private let collector: LoopbackCollector
    private let middlebox: LyingMiddlebox
    private let enrollments = InMemoryEnrollmentStore(token: "enrollment-token")
    private let makeTransmitter: (RecordQueue) -> Transmitter
    private var transmitter: Transmitter
    private var mint = BodyMint()
    /// The records that are on synced disk for certain, by stream.
    private var made = Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, Set<UInt64>()) })
    /// When a record was last quarantined, seconds since boot.
    private var lastSetAside: Double?
    private(set) var seen = Sightings()
    private(set) var steps = 0

    init(seed: UInt64, directory: URL, store: any CrashingStore) throws {
        random = SplitMix64(seed: seed)
        device = try CrashingQueue(parent: directory, clock: clock)
        self.store = store
        let collector = LoopbackCollector(store: store.store)
        self.collector = collector
        let middlebox = LyingMiddlebox(seed: seed &+ 1) {
            TransportResponse.collectorHeaders(collector.collectorID, collector.incarnationID)
        }
        self.middlebox = middlebox
        collector.setFaults { middlebox.fault($0, $1) }
        let dice = Mutex(SplitMix64(seed: seed &+ 2))
        let (enrollments, clock) = (enrollments, clock)
        makeTransmitter = { queue in
            Transmitter(
                queue: queue, transport: collector, enrollments: enrollments,
                settings: TransmitterSettings(eventHold: .zero), agentVersion: "test/1",
                clock: clock,
                roll: { dice.withLock { Double.random(in: 0..<1, using: &$0) } }, logger: Self.logger)
        }
        transmitter = makeTransmitter(device.queue)
    }

    /// - Throws: `Violation` where the promise was broken.
    func run(steps count: Int) async throws {
        for _ in 0..<count {
            steps += 1
            try await step()
        }
        middlebox.changeMood(isHonest: true)
        try await settle()
        seen.sentAgain += try await sendAgain()
        try await settle()
        try await judge()
        seen.lies = middlebox.lies
        seen.liesBehindWhichAllWasStored = middlebox.liesBehindWhichAllWasStored
        await device.close()
    }

    private func step() async throws {
        for stream in StreamName.allCases where random.chance(0.5) {
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let (identity, record) = mint.record(stream, stamp: clock.now(), using: &random)
                try device.queue.enqueue(record)
                made[stream]?.insert(identity)
            }
        }
        try await device.queue.flush()
        if random.chance(0.1) { middlebox.changeMood() }
        if random.chance(0.02) {
            try await device.crash()
            transmitter = makeTransmitter(device.queue)
        }
        if random.chance(0.03) { seen.sentAgain += try await sendAgain() }
        try await pass(for: .seconds(Int.random(in: 1...600, using: &random)))
        try await look()
    }

    /// Passes as the loop makes them.
    private func pass(for duration: Duration) async throws {
        var left = duration
        var passes = 0
        while left > .zero {
            passes += 1
            guard passes < 2000 else { throw Violation("2,000 passes in \(duration): a hot loop") }
            var pause = Duration.seconds(60)
            switch await transmitter.pass() {
            case .paused(let wait), .waiting(let wait): pause = min(max(wait, .milliseconds(50)), left)
            case .finished: pause = min(pause, left)
            }
            clock.advance(by: pause)
            left -= pause
            try await recordSetAside()
        }
    }

    private func recordSetAside() async throws {
        guard let since = try await device.queue.secondsSinceQuarantine else { return }
        let time = Double(clock.now().timeSinceBoot) / 1_000_000 - since
        if let last = lastSetAside {
            guard time - last > 1 else { return }
            guard time - last > 3599 else {
                throw Violation("a record was quarantined \(time - last) s after another one")
            }
        }
        lastSetAside = time
        seen.quarantine += 1
    }

    private func look() async throws {
        for (stream, balance) in try await device.queue.balance() where !balance.closes {
            throw Violation("\(stream): the balance does not close: \(balance)")
        }
        for (stream, balance) in try await device.queue.balance()
        where balance.dropped.keys.contains(where: { $0 != "quarantined" }) {
            throw Violation("\(stream): something was given up: \(balance)")
        }
    }

    private func sendAgain() async throws -> Int {
        try await device.queue.retry().records.count { $0.outcome == .queued }
    }

    /// Nobody lies any more.
    private func settle() async throws {
        for _ in 0..<20 {
            _ = await transmitter.pass()
            clock.advance(by: .seconds(301))
        }
        for (stream, balance) in try await device.queue.balance() where balance.waiting > 0 {
            throw Violation("\(stream): \(balance.waiting) records still wait although nobody lies any more")
        }
    }

    private func judge() async throws {
        let judged = JudgedCollector(store: store, device: collector.device, reference: nil)
        let sums = try await judged.balances(beside: device.queue)
        let aside = try await device.queue.inspect().quarantine
        for stream in StreamName.allCases {
            let stored = try await judged.stored(stream).map(\.identity)
            guard Set(stored).count == stored.count else { throw Violation("\(stream): a record is stored twice") }
            let missing = (made[stream] ?? []).subtracting(stored)
            let kept = aside.filter { $0.stream == stream.description }
            guard missing.count <= kept.count, kept.allSatisfy({ $0.fate == "uncertain" }) else {
                throw Violation("\(stream): \(missing.count) records are lost, \(kept.count) are quarantined: \(kept)")
            }
            guard Set(stored).isSubset(of: made[stream] ?? []) else {
                throw Violation("\(stream): something is stored that was never made")
            }
            let own = try await device.queue.balance()[stream]
            guard let own, let sum = sums[stream], own.stored == sum.stored, own.dropped == sum.dropped,
                own.produced == sum.produced
            else {
                throw Violation(
                    """
                    \(stream): the device says \(String(describing: own)), the collector \
                    \(String(describing: sums[stream]))
                    """
                )
            }
        }
    }
}
