import Foundation
import Testing
import WireModel

@testable import FleetSimulator

/// A simulated device does what a device does with marks.
@Suite struct SimulatedStreamTests {
    private let epoch = EpochID.random()

    private func stream(_ count: Int) -> SimulatedStream {
        var stream = SimulatedStream(.event)
        for number in 0..<count {
            _ = stream.append(
                NewRecord(
                    stream: .event, kind: .event,
                    stamp: RecordStamp(wallTime: Int64(number), bootID: nil, timeSinceBoot: 1),
                    body: Data([UInt8(number)])))
        }
        return stream
    }

    private func answer(_ number: UInt64, _ link: ChainLink, _ outcome: PartOutcome = .stored) -> PartAnswer {
        PartAnswer(
            epoch: epoch, stream: .event, outcome: outcome, mark: StreamMark(number: number, link: link, stored: number)
        )
    }

    @Test func `Its parts are what a collector accepts`() throws {
        let part = try #require(stream(5).part(of: epoch, 3))
        #expect(
            part.first == 1 && part.last == 3 && part.records.count == 3 && part.totals.produced == 5
                && part.totals.waiting == 5)
        guard case .store(let slice) = PartDecision.decide(part: part, mark: .none) else {
            Issue.record("not stored")
            return
        }
        #expect(slice.mark.number == 3 && slice.mark.stored == 3)
    }

    @Test func `A mark with its own link removes what is up to it`() throws {
        var stream = stream(5)
        let link = stream.held[2].link
        let result = stream.apply(answer(3, link))
        #expect(result.acknowledged.map(\.number) == [1, 2, 3] && !result.hasDiverged)
        #expect(stream.held.map(\.number) == [4, 5])
        // The same again, and an older one, change nothing.
        #expect(stream.apply(answer(3, link)).acknowledged.isEmpty && stream.held.count == 2)
        #expect(stream.part(of: epoch, 10)?.priorLink == link)
    }

    @Test func `Another history diverges`() {
        var stream = stream(3)
        #expect(stream.apply(answer(2, .zero)).hasDiverged)
        #expect(stream.apply(answer(9, .zero)).hasDiverged)
        #expect(stream.apply(answer(0, .zero, .identityConflict)).hasDiverged)
        #expect(stream.apply(answer(0, .zero, .closed)).hasDiverged)
        #expect(!stream.apply(answer(0, .zero, .damaged)).hasDiverged && stream.held.count == 3)
    }

    @Test func `The same seed makes the same records`() {
        var plan = FleetPlan(devices: 1, seconds: 60)
        plan.seed = 9
        var devices = [SimulatedDevice(0, plan: plan), SimulatedDevice(0, plan: plan)]
        for second in 0..<60 {
            for index in devices.indices { devices[index].live(second: second, start: 1_750_000_000_000_000) }
        }
        #expect(devices[0].parts(1000) == devices[1].parts(1000) && devices[0].produced > 10)
        var other = SimulatedDevice(1, plan: plan)
        other.live(second: 0, start: 1_750_000_000_000_000)
        #expect(other.disk.epoch != devices[0].disk.epoch)
    }

    @Test func `Nobody reaches the collector during the outage, and all do after it`() {
        var plan = FleetPlan(devices: 3, seconds: 90)
        plan.faults = []
        var devices = (0..<3).map { SimulatedDevice($0, plan: plan) }
        for index in devices.indices { devices[index].live(second: 0, start: 1_750_000_000_000_000) }
        #expect((30..<60).allSatisfy { second in devices.allSatisfy { !$0.isDue(at: second) } })
        #expect(devices.allSatisfy { $0.isDue(at: 60) })
    }
}
