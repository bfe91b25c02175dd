import FoundationEssentials
import WireModel

/// A device of the fleet: its disk, its clocks, and its schedule.
struct SimulatedDevice: Sendable {
    /// The state that a rollback restores.
    struct Disk: Sendable {
        var epoch: EpochID
        var streams: [StreamName: SimulatedStream]
    }

    let index: Int
    private var plan: FleetPlan
    var random: SplitMix64
    private(set) var disk: Disk
    private var image: Disk?
    var ledger = FleetLedger()

    // Assigned at enrollment.
    var id: DeviceID?
    var credential = ""
    let requestID: BootID
    let machineHash: String

    // Clocks. The wall clock is offset and may be far off; the time since boot is the machine's own.
    private var offset: Int64
    private let bootID: BootID
    private var made: Int64 = 0

    /// A request that was held back, to be sent after a later one.
    var ghost: Data?

    init(_ index: Int, plan: FleetPlan) {
        self.index = index
        self.plan = plan
        random = SplitMix64(seed: plan.seed &* 0x1_0000_0001 &+ UInt64(index) &* 7919)
        disk = Disk(epoch: .random(using: &random), streams: Self.emptyStreams)
        let request = BootID.random(using: &random)
        requestID = BootID(high: request.high, low: request.low ^ plan.run)
        bootID = .random(using: &random)
        machineHash = "simulated-\(plan.seed)-\(String(plan.run, radix: 16))-\(index)"
        // Most clocks are right within a second, some are off by hours, and a few by years.
        let second: Int64 = 1_000_000
        switch Int.random(in: 0..<20, using: &random) {
        case 0: offset = Int64.random(in: -3...3, using: &random) * 365 * 86_400 * second
        case 1, 2: offset = Int64.random(in: -12...12, using: &random) * 3600 * second
        default: offset = Int64.random(in: -second...second, using: &random)
        }
    }

    /// Probability per second that an image of the disk is made.
    private static let imageProbability = 0.05

    private static var emptyStreams: [StreamName: SimulatedStream] {
        Dictionary(uniqueKeysWithValues: StreamName.allCases.map { ($0, SimulatedStream($0)) })
    }

    var isWaiting: Bool { disk.streams.values.contains { !$0.held.isEmpty } }
    var produced: Int { ledger.made }

    /// Whether it sends in this second: on its schedule, or together with all others after an outage.
    func isDue(at second: Int) -> Bool {
        if plan.isOut(at: second) || !isWaiting { return false }
        return (second + index) % plan.transmitInterval == 0 || second > 0 && plan.isOut(at: second - 1)
    }

    /// Makes the records of one second.
    /// - Parameter start: the true time of the fleet's second 0, in microseconds since 1970.
    mutating func live(second: Int, start: Int64) {
        if has(.clockJump) { offset += Int64.random(in: -86_400...86_400, using: &random) * 1_000_000 }
        if plan.faults.contains(.rollback), random.chance(Self.imageProbability) { image = disk }
        if (second + index) % plan.beaconInterval == 0 || second == 0 {
            make(
                .status, .beacon, SimulatedBodies.beacon(sequence: UInt64(made), nextSeconds: plan.beaconInterval),
                second, start)
        }
        if (second + index * 3) % plan.sampleInterval == 0 {
            let body = SimulatedBodies.system(uptime: UInt64(1000 + second), interval: plan.sampleInterval, &random)
            make(.sample, .sampleSystem, body, module: "system", second, start)
        }
        if random.chance(plan.eventsPerMinute / 60) {
            make(.event, .event, SimulatedBodies.event(&random), second, start)
        }
    }

    private mutating func make(
        _ stream: StreamName, _ kind: WireRecordKind, _ body: Data, module: String = "", _ second: Int, _ start: Int64
    ) {
        // The last digits are a counter, so times identify records.
        let time = max(0, (start + Int64(second) * 1_000_000 + offset) / 1_000_000) * 1_000_000 + made % 1_000_000
        made += 1
        let stamp = RecordStamp(wallTime: time, bootID: bootID, timeSinceBoot: UInt64(1000 + second) * 1_000_000)
        append(NewRecord(stream: stream, kind: kind, module: module, stamp: stamp, body: body))
    }

    private mutating func append(_ record: NewRecord) {
        guard let number = disk.streams[record.stream]?.append(record) else { return }
        let place = FleetLedger.Place(epoch: disk.epoch, stream: record.stream, number: number)
        ledger.make(place, time: record.stamp.wallTime)
    }

    /// Whether a fault happens now.
    mutating func has(_ fault: FleetFault) -> Bool {
        plan.faults.contains(fault) && random.chance(fault.probability)
    }

    /// Stops all faults.
    mutating func calm() { plan.faults = [] }

    /// The parts of a request.
    /// - Parameter records: the most records in each.
    func parts(_ records: Int) -> [BatchPart] {
        StreamName.allCases.compactMap { disk.streams[$0]?.part(of: disk.epoch, records) }
    }

    /// - Returns: whether the histories have diverged.
    mutating func apply(_ answers: [PartAnswer]) -> Bool {
        var hasDiverged = false
        for answer in answers where answer.epoch == disk.epoch {
            guard let result = disk.streams[answer.stream]?.apply(answer) else { continue }
            for record in result.acknowledged { acknowledge(record, in: answer.stream) }
            hasDiverged = hasDiverged || result.hasDiverged
        }
        return hasDiverged
    }

    private mutating func acknowledge(_ record: SimulatedStream.Held, in stream: StreamName) {
        ledger.acknowledge(
            FleetLedger.Place(epoch: disk.epoch, stream: stream, number: record.number), time: record.time)
    }

    /// Restores the disk from an earlier image.
    /// - Returns: whether there is one.
    mutating func rollBack() -> Bool {
        guard let image else { return false }
        disk = image
        return true
    }

    /// The request that closes the epoch.
    var closing: WireCloseRequest {
        var request = WireCloseRequest()
        request.epoch = disk.epoch.data
        request.streams = StreamName.allCases.compactMap { disk.streams[$0]?.closing }
        return request
    }

    /// Continues in a new epoch with the records that the collector lacks: those above the greatest point of its
    /// history that the device also has.
    mutating func move(after closed: [(stream: StreamName, matched: UInt64)]) {
        let old = disk
        for (stream, matched) in closed {
            for record in old.streams[stream]?.held ?? [] where record.number <= matched {
                acknowledge(record, in: stream)
            }
        }
        disk = Disk(epoch: .random(using: &random), streams: Self.emptyStreams)
        image = nil
        ghost = nil
        for (stream, matched) in closed {
            for record in old.streams[stream]?.held ?? [] where record.number > matched {
                guard let again = NewRecord(requeueing: record.bytes, stream: stream, number: record.number) else {
                    continue
                }
                append(again)
            }
        }
    }
}
