import DeviceTunables
import Testing
@testable import Transmitter
import WireModel

@Suite struct TransmitterStateMachineTests {
    typealias Machine = TransmitterStateMachine

    private func sent(_ stream: StreamName, _ records: Int) -> Machine.Sent { .init(stream: stream, records: records) }

    private func limit(_ machine: Machine, _ stream: StreamName) -> TransmitPlan.Part? {
        machine.plan(at: 0).parts.first { $0.stream == stream }
    }

    private func streams(_ machine: Machine, at now: UInt64 = 0) -> [[StreamName]] {
        machine.plan(at: now).requests.map { $0.map(\.stream) }
    }

    @Test func `Trouble with its own disk is retried within seconds and does not count against the collector`() {
        var machine = TransmitterStateMachine()
        for _ in 1...50 {
            guard case .retry(let pause, "the queue: EIO") = machine.localFailed("the queue: EIO", roll: 1) else {
                Issue.record("not tried again"); return
            }
            #expect(pause >= .seconds(1) && pause <= .seconds(10))
        }
        #expect(machine.failures == 0)
        // What could not be recorded is sent again. It is little.
        #expect(machine.plan(at: 0).parts.allSatisfy { $0.maximumBytes == Tunables.Transmission.leastPartBytes })
    }

    @Test func `Status goes before events, events before samples, and none waits behind another`() {
        #expect(streams(Machine()) == [[.status, .event, .sample]])
    }

    @Test func `Progress goes on at once and ends the back-off`() {
        var machine = Machine()
        _ = machine.settled([sent(.event, 3)], .retry(after: nil, "gone"), mayQuarantine: true, now: 0, roll: 1)
        #expect(machine.failures == 1)
        let action = machine.settled(
            [sent(.event, 3)], .decided([.event: .progressed]), mayQuarantine: true, now: 0, roll: 1)
        #expect(action == .goOn)
        #expect(machine.failures == 0)
    }

    @Test func `Failures in a row widen the back-off`() {
        var machine = Machine()
        for seconds in [1, 2, 4, 8] {
            let action = machine.settled(
                [sent(.event, 3)], .retry(after: nil, "down"), mayQuarantine: true, now: 0, roll: 1)
            #expect(action == .retry(after: .seconds(seconds), "down"))
        }
        let busy = machine.settled(
            [sent(.event, 3)], .retry(after: .seconds(20), "busy"), mayQuarantine: true, now: 0, roll: 0)
        #expect(busy == .retry(after: .seconds(20), "busy"))
    }

    @Test func `An answer that changes nothing is not repeated at once`() {
        var machine = Machine()
        let action = machine.settled([sent(.event, 3)], .decided([:]), mayQuarantine: true, now: 0, roll: 1)
        #expect(action == .retry(after: .seconds(1), "the answer changed nothing"))
    }

    @Test func `A request too large is split by stream and halved down to one record, which waits`() {
        var machine = Machine(partBytes: 1 << 20)
        let whole = machine.settled(
            [sent(.event, 2), sent(.sample, 8)], .tooLarge("413"), mayQuarantine: true, now: 0, roll: 1)
        #expect(whole == .goOn)
        #expect(
            streams(machine) == [[.status], [.event], [.sample]],
            "the streams go one by one, and nothing waits behind a lower one")
        _ = machine.settled([sent(.event, 2)], .decided([.event: .progressed]), mayQuarantine: true, now: 0, roll: 1)
        #expect(streams(machine) == [[.status, .event], [.sample]])
        var records = 8
        while records > 1 {
            let action = machine.settled(
                [sent(.sample, records)], .tooLarge("413"), mayQuarantine: true, now: 0, roll: 1)
            #expect(action == .goOn)
            records /= 2
            #expect(limit(machine, .sample)?.maximumRecords == records)
        }
        let alone = machine.settled([sent(.sample, 1)], .tooLarge("413"), mayQuarantine: true, now: 0, roll: 1)
        #expect(alone == .goOn)
        #expect(streams(machine) == [[.status, .event]], "the stream waits, and the others go on")
        #expect(machine.blocked == [.sample: .init(why: "413", refusals: 1)])
        #expect(machine.nextProbe(after: 0)?.at == 1_000_000)
        #expect(machine.plan(at: 1_000_000).parts.first { $0.stream == .sample }?.maximumRecords == 1)
    }

    @Test func `Success widens back to the full part`() {
        var machine = Machine(partBytes: 1 << 20)
        _ = machine.settled([sent(.sample, 1_000)], .tooLarge("413"), mayQuarantine: true, now: 0, roll: 1)
        _ = machine.settled([sent(.sample, 500)], .tooLarge("413"), mayQuarantine: true, now: 0, roll: 1)
        #expect(limit(machine, .sample) == .init(stream: .sample, maximumBytes: 1 << 18, maximumRecords: 250))
        _ = machine.settled(
            [sent(.sample, 250)], .decided([.sample: .progressed]), mayQuarantine: true, now: 0, roll: 1)
        #expect(limit(machine, .sample) == .init(stream: .sample, maximumBytes: 1 << 19, maximumRecords: 500))
        _ = machine.settled(
            [sent(.sample, 500)], .decided([.sample: .progressed]), mayQuarantine: true, now: 0, roll: 1)
        #expect(limit(machine, .sample) == .init(stream: .sample, maximumBytes: 1 << 20, maximumRecords: .max))
    }

    @Test func `A refused part does not hold the others back`() {
        var machine = Machine()
        let verdict = Machine.Verdict.decided([.status: .progressed, .event: .refused("damaged"), .sample: .progressed])
        let action = machine.settled(
            [sent(.status, 1), sent(.event, 4), sent(.sample, 9)], verdict, mayQuarantine: true, now: 0, roll: 1)
        #expect(action == .goOn)
        #expect(limit(machine, .event)?.maximumRecords == 2)
        #expect(limit(machine, .sample)?.maximumRecords == .max)
    }

    @Test func `Gaps alone that are refused or fail are never set aside`() {
        var machine = Machine()
        let action = machine.settled([sent(.event, 0)], .tooLarge("413"), mayQuarantine: true, now: 0, roll: 1)
        #expect(action == .goOn)
        #expect(limit(machine, .event) == nil)
        for minute in 0..<60 {
            let now = UInt64(minute) * 60_000_000
            _ = machine.settled(
                [sent(.status, 1)], .decided([.status: .progressed]), mayQuarantine: true, now: now, roll: 1)
            for verdict in Self.refusals {
                let failed = machine.settled([sent(.event, 0)], verdict, mayQuarantine: true, now: now, roll: 1)
                #expect(failed == .goOn)
            }
        }
    }

    @Test func `Isolating ends when nothing is due in the stream`() {
        var machine = Machine()
        _ = machine.settled([sent(.status, 1), sent(.event, 1)], .refused("400"), mayQuarantine: true, now: 0, roll: 1)
        #expect(streams(machine) == [[.status], [.event], [.sample]])
        machine.foundNothing(in: [.status])
        #expect(streams(machine) == [[.status], [.event], [.sample]], "the event stream still has to go alone")
        machine.foundNothing(in: [.event])
        #expect(streams(machine) == [[.status, .event, .sample]])
    }

    @Test func `A refused credential enrolls again once until something is acknowledged`() {
        var machine = Machine()
        let refused = Machine.Verdict.credentialRefused("401")
        #expect(machine.settled([sent(.event, 1)], refused, mayQuarantine: true, now: 0, roll: 1) == .enrollAgain)
        guard case .hold = machine.settled([sent(.event, 1)], refused, mayQuarantine: true, now: 0, roll: 1) else {
            Issue.record("twice"); return
        }
        _ = machine.settled([sent(.event, 1)], .decided([.event: .progressed]), mayQuarantine: true, now: 0, roll: 1)
        #expect(machine.settled([sent(.event, 1)], refused, mayQuarantine: true, now: 0, roll: 1) == .enrollAgain)
    }

    @Test func `Refused for good, it holds and says why`() {
        var machine = Machine()
        for verdict in [Machine.Verdict.forbidden("revoked"), .incompatible("version 2"), .otherCollector("another")] {
            guard
                case .hold(let why, _) = machine.settled(
                    [sent(.event, 1)], verdict, mayQuarantine: true, now: 0, roll: 1)
            else {
                Issue.record("\(verdict)"); return
            }
            #expect(!why.isEmpty)
        }
    }

    @Test func `A refused device asks again soon and then every quarter of an hour`() {
        var machine = Machine()
        func wait(roll: Double) -> Duration {
            guard
                case .hold(_, let wait) = machine.settled(
                    [sent(.event, 1)], .forbidden("no"), mayQuarantine: true, now: 0, roll: roll)
            else { return .zero }
            return wait
        }
        #expect([60, 120, 240, 480, 900, 900].map { Duration.seconds($0) } == (0..<6).map { _ in wait(roll: 1) })
        #expect(wait(roll: 0) == .seconds(450), "and never all at once")
        _ = machine.settled([sent(.event, 1)], .decided([.event: .progressed]), mayQuarantine: true, now: 0, roll: 1)
        #expect(wait(roll: 1) == .seconds(60))
    }

    @Test func `Diverged histories go on at once, since the epoch ends before the next batch`() {
        var machine = Machine()
        let alone = machine.settled(
            [sent(.event, 1)], .decided([.event: .diverged("diverged")]), mayQuarantine: true, now: 0, roll: 1)
        #expect(alone == .goOn)
    }

    @Test func `What is unavailable waits on its own while the others move`() {
        var machine = Machine()
        let verdict = Machine.Verdict.decided([.status: .progressed, .sample: .unavailable("disk full")])
        #expect(
            machine.settled([sent(.status, 1), sent(.sample, 1)], verdict, mayQuarantine: true, now: 0, roll: 1)
                == .goOn)
        #expect(streams(machine) == [[.status, .event]])
        #expect(machine.nextProbe(after: 0)?.at == 1_000_000)
        #expect(streams(machine, at: 1_000_000) == [[.status, .event], [.sample]], "alone, so that it harms nobody")
    }

    // MARK: 5xx

    @Test func `An outage backs off as one and sets nothing aside`() throws {
        var machine = Machine()
        var now: UInt64 = 0
        var requests = 0
        while now < 24 * 3600 * 1_000_000 {
            let plan = machine.plan(at: now)
            guard let request = plan.requests.first else {
                now = max(now + 1, machine.nextProbe(after: now)?.at ?? now)
                continue
            }
            requests += 1
            let parts = request.map { sent($0.stream, min($0.maximumRecords, 100)) }
            switch machine.settled(parts, .failed(after: nil, "500"), mayQuarantine: true, now: now, roll: 0.5) {
            case .retry(let after, _): now += UInt64(after.components.seconds) * 1_000_000 + 1
            case .goOn: break
            case let other: Issue.record("\(other)"); return
            }
        }
        // A day in windows of five minutes, half of them on average.
        #expect(requests < 24 * 12 * 2 + 40, "\(requests) requests")
        // The collector is back: everything flows at once.
        var waiting = Set(StreamName.allCases)
        while !waiting.isEmpty {
            let due = machine.plan(at: now).requests.map { $0.map(\.stream).filter(waiting.contains) }.first {
                !$0.isEmpty
            }
            let streams = try #require(due, "\(waiting) wait on although the collector is back")
            let verdict = Machine.Verdict.decided(Dictionary(uniqueKeysWithValues: streams.map { ($0, .progressed) }))
            _ = machine.settled(streams.map { sent($0, 1) }, verdict, mayQuarantine: true, now: now, roll: 0.5)
            waiting.subtract(streams)
        }
        #expect(streams(machine, at: now) == [[.status, .event, .sample]])
    }

    /// Every way to say no to one record.
    private static let refusals: [Machine.Verdict] = [
        .failed(after: nil, "no"), .tooLarge("no"), .refused("no"), .decided([.event: .refused("no")]),
        .decided([.event: .unavailable("no")]),
    ]

    @Test(arguments: refusals)
    func `A record that alone is refused for ten minutes while others pass is set aside`(verdict: Machine.Verdict) {
        var machine = Machine()
        var now: UInt64 = 0
        var aside: UInt64?
        while now < 3_600_000_000, aside == nil {
            _ = machine.settled(
                [sent(.status, 1)], .decided([.status: .progressed]), mayQuarantine: true, now: now, roll: 0.5)
            if streams(machine, at: now).contains([.event]) || machine.nextProbe(after: 0) == nil {
                let action = machine.settled([sent(.event, 1)], verdict, mayQuarantine: true, now: now, roll: 0.5)
                if action == .quarantine(.event, "no") { aside = now }
            }
            now += 10_000_000
        }
        let needed = Tunables.Quarantine.evidenceMicroseconds
        #expect(aside.map { $0 >= needed && $0 < 2 * needed } == true, "after \(aside ?? 0) microseconds")
    }

    @Test(arguments: refusals)
    func `A day of refusals in which nothing passes sets nothing aside, and its requests stay few`(
        verdict: Machine.Verdict
    ) {
        var machine = Machine()
        var now: UInt64 = 0
        var requests = 0
        while now < 24 * 3600 * 1_000_000 {
            guard let request = machine.plan(at: now).requests.first else {
                now = max(now + 1, machine.nextProbe(after: now)?.at ?? now)
                continue
            }
            requests += 1
            let parts = request.map { sent($0.stream, min($0.maximumRecords, 100)) }
            var answer = verdict
            if case .decided(let one) = verdict, let refusal = one[.event] {
                answer = .decided(Dictionary(uniqueKeysWithValues: parts.map { ($0.stream, refusal) }))
            }
            switch machine.settled(parts, answer, mayQuarantine: true, now: now, roll: 0.5) {
            case .retry(let after, _): now += UInt64(after.components.seconds) * 1_000_000 + 1
            case .goOn: break
            case let other: Issue.record("\(other)"); return
            }
        }
        // Three streams, each once in five minutes at most, three quarters of that on average.
        #expect(requests < 3 * 24 * 16 + 100, "\(requests) requests")
    }

    @Test func `What is known of one record is not held against the one that takes its place`() {
        var machine = Machine()
        for minute in 0..<600 {
            let now = UInt64(minute) * 60_000_000
            _ = machine.settled(
                [sent(.status, 1)], .decided([.status: .progressed]), mayQuarantine: true, now: now, roll: 1)
            // A cap drops records at the front, so that another one is first every five minutes.
            let front = Machine.Sent(stream: .event, records: 1, last: UInt64(minute / 5) + 1)
            let action = machine.settled([front], .tooLarge("413"), mayQuarantine: true, now: now, roll: 1)
            #expect(action == .goOn)
        }
    }

    @Test func `Within the hour it waits, and the others go on`() {
        var machine = Machine()
        for minute in 0..<59 {
            let now = UInt64(minute) * 60_000_000
            _ = machine.settled(
                [sent(.status, 1)], .decided([.status: .progressed]), mayQuarantine: false, now: now, roll: 1)
            let action = machine.settled(
                [sent(.event, 1)], .failed(after: nil, "500"), mayQuarantine: false, now: now, roll: 1)
            #expect(action == .goOn)
            #expect(!streams(machine, at: now).flatMap { $0 }.contains(.event))
        }
        #expect(machine.blocked == [.event: .init(why: "500", refusals: 59)])
    }

    @Test func `The time a collector asks for holds for all streams`() {
        var machine = Machine()
        let action = machine.settled(
            [sent(.event, 1)], .failed(after: .seconds(30), "503"), mayQuarantine: true, now: 0, roll: 0)
        #expect(action == .retry(after: .seconds(30), "503"))
    }

    @Test func `A new epoch forgets what was known of the old records`() {
        var machine = Machine(partBytes: 1 << 20)
        _ = machine.settled([sent(.event, 8)], .tooLarge("413"), mayQuarantine: true, now: 0, roll: 1)
        _ = machine.settled([sent(.sample, 8)], .failed(after: nil, "500"), mayQuarantine: true, now: 0, roll: 1)
        machine.epochBegan()
        #expect(streams(machine) == [[.status, .event, .sample]])
        #expect(limit(machine, .event) == .init(stream: .event, maximumBytes: 1 << 20, maximumRecords: .max))
        #expect(machine.nextProbe(after: 0) == nil)
    }
}
