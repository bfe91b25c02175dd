import TestKit
import Testing
import WireModel
@testable import Transmitter

/// Long random histories against a collector with outages and records that make it fail, in simulated time.
@Suite struct PoisonSimulationTests {
    /// A device's streams and a collector, as numbers: what waits, what is poison, when the collector is down.
    private struct World {
        var random: SplitMix64
        var machine = TransmitterStateMachine()
        var now: UInt64 = 0
        var waiting: [StreamName: [Int]] = [.status: [], .event: [], .sample: []]
        var poison: Set<Int> = []
        var made = 0
        var delivered: Set<Int> = []
        var aside: [(record: Int, at: UInt64)] = []
        var requests = 0
        var nextOutage: UInt64
        var outageEnds: UInt64 = 0
        /// Requests by simulated minute.
        var byMinute: [UInt64: Int] = [:]
        var longestStatusWait: UInt64 = 0
        var statusSince: [Int: UInt64] = [:]
        let hasOutages: Bool

        init(seed: UInt64, hasOutages: Bool) {
            random = SplitMix64(seed: seed)
            self.hasOutages = hasOutages
            nextOutage = hasOutages ? UInt64.random(in: 1...7200, using: &random) * 1_000_000 : .max
        }

        /// Whoever is to blame says so as it likes.
        private mutating func refusal() -> TransmitterStateMachine.Verdict {
            let verdicts: [TransmitterStateMachine.Verdict] = [
                .failed(after: nil, "500"), .tooLarge("413"), .refused("422"),
            ]
            return verdicts.randomElement(using: &random) ?? .refused("400")
        }

        mutating func roll() -> Double { Double.random(in: 0..<1, using: &random) }

        mutating func produce(_ stream: StreamName, poisoned: Bool = false) {
            made += 1
            waiting[stream]?.append(made)
            if poisoned { poison.insert(made) }
            if stream == .status { statusSince[made] = now }
        }

        mutating func isDown() -> Bool {
            if now >= nextOutage {
                outageEnds = nextOutage + UInt64.random(in: 60...10_800, using: &random) * 1_000_000
                nextOutage = outageEnds + UInt64.random(in: 600...14_400, using: &random) * 1_000_000
            }
            return now < outageEnds
        }

        /// One request, where there is one to make.
        /// - Returns: how long to wait; `nil`: go on at once.
        mutating func step() -> UInt64? {
            for request in machine.plan(at: now).requests {
                let parts = request.compactMap { planned -> (StreamName, [Int])? in
                    let records = (waiting[planned.stream] ?? []).prefix(min(planned.maximumRecords, 500))
                    return records.isEmpty ? nil : (planned.stream, Array(records))
                }
                guard !parts.isEmpty else {
                    machine.foundNothing(in: request.map(\.stream))
                    continue
                }
                return send(parts)
            }
            return 5_000_000
        }

        private mutating func send(_ parts: [(StreamName, [Int])]) -> UInt64? {
            requests += 1
            byMinute[now / 60_000_000, default: 0] += 1
            now += 50_000  // a request needs its time
            let fails = isDown() || parts.contains { $0.1.contains { poison.contains($0) } }
            var verdicts: [StreamName: TransmitterStateMachine.PartVerdict] = [:]
            if !fails {
                for (stream, records) in parts {
                    waiting[stream]?.removeFirst(records.count)
                    delivered.formUnion(records)
                    verdicts[stream] = .progressed
                    if stream == .status {
                        for record in records {
                            longestStatusWait = max(longestStatusWait, now - (statusSince[record] ?? now))
                        }
                    }
                }
            }
            let mayQuarantine = aside.last.map { now - $0.at >= 3_600_000_000 } ?? true
            let action = machine.settled(
                parts.map { .init(stream: $0.0, records: $0.1.count, last: UInt64($0.1.last ?? 0)) },
                fails ? refusal() : .decided(verdicts),
                mayQuarantine: mayQuarantine, now: now, roll: roll())
            switch action {
            case .goOn: return nil
            case .retry(let after, _): return UInt64(after / .microseconds(1))
            case .quarantine(let stream, _):
                if let record = waiting[stream]?.removeFirst() { aside.append((record, now)) }
                return nil
            case .enrollAgain, .hold: return 0
            }
        }

        /// Lets time pass until then, with records coming in all the while.
        mutating func run(hours: UInt64, poisonShare: Double) {
            let end = now + hours * 3_600_000_000
            var nextStatus = now
            var nextSample = now
            while now < end {
                while nextStatus <= now {
                    produce(.status)
                    nextStatus += 300_000_000
                }
                while nextSample <= now {
                    produce(.sample, poisoned: roll() < poisonShare)
                    if roll() < 0.2 { produce(.event) }
                    nextSample += 30_000_000
                }
                let wait = step() ?? 0
                // Records that come in wake nobody but at their interval; a stalled machine is looked at every five
                // seconds here.
                now += min(max(wait, 1_000), max(1_000, min(nextStatus, nextSample) > now ? 60_000_000 : 1_000))
                if wait > 60_000_000 { now += min(wait - 60_000_000, 300_000_000) }
            }
        }
    }

    @Test(arguments: 1...20)
    func `Poison is isolated, the rest flows, and nothing else is lost`(seed: Int) {
        var world = World(seed: UInt64(seed), hasOutages: false)
        // Few enough that one an hour keeps up.
        world.run(hours: 96, poisonShare: 0.001)
        let poisoned = world.poison.count
        #expect(poisoned > 0)
        // As long as it lasts at one an hour, without new ones.
        world.run(hours: UInt64(poisoned) * 2 + 4, poisonShare: 0)
        #expect(Set(world.aside.map(\.record)) == world.poison, "all poison, and nothing but poison, is quarantined")
        #expect(world.waiting[.sample]?.count ?? 0 < 50)
        #expect(world.longestStatusWait < 1_000_000_000, "status waited \(world.longestStatusWait / 1_000_000) s")
    }

    @Test(arguments: 1...20)
    func `Outages and poison together set aside at most one an hour and almost only poison`(seed: Int) {
        var world = World(seed: UInt64(seed) &* 7919, hasOutages: true)
        world.run(hours: 168, poisonShare: 0.0005)
        for (former, next) in zip(world.aside, world.aside.dropFirst()) {
            #expect(next.at - former.at >= 3_600_000_000, "two within an hour")
        }
        let wrong = world.aside.filter { !world.poison.contains($0.record) }
        #expect(wrong.isEmpty, "\(wrong.count) good records were quarantined")
        #expect(world.delivered.isDisjoint(with: world.poison))
        #expect(
            world.byMinute.values.max() ?? 0 < 200,
            "a hot loop: \(world.byMinute.values.max() ?? 0) requests in a minute")
    }

    @Test(arguments: 1...10)
    func `An outage of days sets nothing aside, and its requests stay few`(seed: Int) {
        var world = World(seed: UInt64(seed), hasOutages: false)
        world.outageEnds = .max
        for _ in 0..<1_000 { world.produce(.sample) }
        world.run(hours: 72, poisonShare: 0)
        #expect(world.aside.isEmpty)
        #expect(world.delivered.isEmpty)
        #expect(world.requests < 72 * 60, "\(world.requests) requests in three days")
        let waiting = world.waiting.values.reduce(0) { $0 + $1.count }
        #expect(waiting == world.made)
    }
}
