import Testing
import Transmitter
import WireModel

@Suite struct TransmitterStateMachineTests {
    typealias Machine = TransmitterStateMachine

    private func sent(_ stream: StreamName, _ records: Int) -> Machine.Sent { .init(stream: stream, records: records) }

    private func limit(_ machine: Machine, _ stream: StreamName) -> Machine.Plan.Part? { machine.plan.parts.first { $0.stream == stream } }

    @Test func statusGoesBeforeEventsBeforeSamplesAndNoneWaitsBehindAnother() {
        #expect(Machine().plan.parts.map(\.stream) == [.status, .event, .sample])
    }

    @Test func progressGoesOnAtOnceAndEndsTheBackoff() {
        var machine = Machine()
        _ = machine.settled([sent(.event, 3)], .retry(after: nil, "500"), maySetAside: true, roll: 1)
        #expect(machine.failures == 1)
        #expect(machine.settled([sent(.event, 3)], .decided([.event: .progressed]), maySetAside: true, roll: 1) == .goOn)
        #expect(machine.failures == 0)
    }

    @Test func failuresInARowWidenTheBackoff() {
        var machine = Machine()
        for seconds in [1, 2, 4, 8] {
            #expect(
                machine.settled([sent(.event, 3)], .retry(after: nil, "down"), maySetAside: true, roll: 1)
                    == .retry(after: .seconds(seconds), "down"))
        }
        #expect(
            machine.settled([sent(.event, 3)], .retry(after: .seconds(20), "busy"), maySetAside: true, roll: 0)
                == .retry(after: .seconds(20), "busy"))
    }

    @Test func anAnswerThatChangesNothingIsNotRepeatedAtOnce() {
        var machine = Machine()
        let action = machine.settled([sent(.event, 3)], .decided([:]), maySetAside: true, roll: 1)
        #expect(action == .retry(after: .seconds(1), "the answer changed nothing"))
    }

    @Test func aRequestTooLargeIsTakenApartByStreamAndHalvedDownToOneRecordWhichIsSetAsideOnceAnHour() {
        var machine = Machine(partBytes: 1 << 20)
        #expect(machine.settled([sent(.event, 2), sent(.sample, 8)], .tooLarge("413"), maySetAside: true, roll: 1) == .goOn)
        #expect(machine.plan.parts.map(\.stream) == [.event], "the streams go one by one")
        #expect(machine.settled([sent(.event, 2)], .decided([.event: .progressed]), maySetAside: true, roll: 1) == .goOn)
        #expect(machine.plan.parts.map(\.stream) == [.sample])
        var records = 8
        while records > 1 {
            #expect(machine.settled([sent(.sample, records)], .tooLarge("413"), maySetAside: true, roll: 1) == .goOn)
            records /= 2
            #expect(limit(machine, .sample)?.maximumRecords == records)
        }
        #expect(machine.settled([sent(.sample, 1)], .tooLarge("413"), maySetAside: true, roll: 1) == .setAside(.sample, "413"))
        #expect(machine.settled([sent(.sample, 1)], .tooLarge("413"), maySetAside: false, roll: 1) == .goOn)
        #expect(limit(machine, .sample) == nil, "within the hour the stream waits, and the others go on")
        #expect(machine.plan.parts.map(\.stream) == [.status, .event])
        machine.intervalBegan()
        #expect(limit(machine, .sample)?.maximumRecords == 1)
    }

    @Test func successWidensBackToTheFullPart() {
        var machine = Machine(partBytes: 1 << 20)
        _ = machine.settled([sent(.sample, 1_000)], .tooLarge("413"), maySetAside: true, roll: 1)
        _ = machine.settled([sent(.sample, 500)], .tooLarge("413"), maySetAside: true, roll: 1)
        #expect(limit(machine, .sample) == .init(stream: .sample, maximumBytes: 1 << 18, maximumRecords: 250))
        _ = machine.settled([sent(.sample, 250)], .decided([.sample: .progressed]), maySetAside: true, roll: 1)
        #expect(limit(machine, .sample) == .init(stream: .sample, maximumBytes: 1 << 19, maximumRecords: 500))
        _ = machine.settled([sent(.sample, 500)], .decided([.sample: .progressed]), maySetAside: true, roll: 1)
        #expect(limit(machine, .sample) == .init(stream: .sample, maximumBytes: 1 << 20, maximumRecords: .max))
    }

    @Test func aRefusedPartDoesNotHoldTheOthersBack() {
        var machine = Machine()
        let verdict = Machine.Verdict.decided([.status: .progressed, .event: .refused("damaged"), .sample: .progressed])
        #expect(machine.settled([sent(.status, 1), sent(.event, 4), sent(.sample, 9)], verdict, maySetAside: true, roll: 1) == .goOn)
        #expect(limit(machine, .event)?.maximumRecords == 2)
        #expect(limit(machine, .sample)?.maximumRecords == .max)
    }

    @Test func gapsAloneThatAreRefusedAreNeverSetAside() {
        var machine = Machine()
        #expect(machine.settled([sent(.event, 0)], .tooLarge("413"), maySetAside: true, roll: 1) == .goOn)
        #expect(limit(machine, .event) == nil)
    }

    @Test func isolatingEndsWhenNothingIsDueInTheLastStream() {
        var machine = Machine()
        _ = machine.settled([sent(.status, 1), sent(.event, 1)], .refused("400"), maySetAside: true, roll: 1)
        let first = machine.foundNothing()
        #expect(first && machine.plan.parts.map(\.stream) == [.event])
        let second = machine.foundNothing()
        #expect(second && machine.plan.parts.count == 3, "after the last one all are looked at again")
        let third = machine.foundNothing()
        #expect(!third)
    }

    @Test func aRefusedCredentialEnrollsAgainOnceUntilSomethingIsAcknowledged() {
        var machine = Machine()
        let refused = Machine.Verdict.credentialRefused("401")
        #expect(machine.settled([sent(.event, 1)], refused, maySetAside: true, roll: 1) == .enrollAgain)
        guard case .hold = machine.settled([sent(.event, 1)], refused, maySetAside: true, roll: 1) else { Issue.record("twice"); return }
        _ = machine.settled([sent(.event, 1)], .decided([.event: .progressed]), maySetAside: true, roll: 1)
        #expect(machine.settled([sent(.event, 1)], refused, maySetAside: true, roll: 1) == .enrollAgain)
    }

    @Test func refusedForGoodItHoldsAndSaysWhy() {
        var machine = Machine()
        for verdict in [Machine.Verdict.forbidden("revoked"), .incompatible("version 2"), .otherCollector("another")] {
            guard case .hold(let why, _) = machine.settled([sent(.event, 1)], verdict, maySetAside: true, roll: 1) else {
                Issue.record("\(verdict)"); return
            }
            #expect(!why.isEmpty)
        }
    }

    @Test func partedHistoriesHoldUnlessOtherStreamsMove() {
        var machine = Machine()
        let both = Machine.Verdict.decided([.event: .parted("parted"), .sample: .progressed])
        #expect(machine.settled([sent(.event, 1), sent(.sample, 1)], both, maySetAside: true, roll: 1) == .goOn)
        guard
            case .hold("parted", _) = machine.settled([sent(.event, 1)], .decided([.event: .parted("parted")]), maySetAside: true, roll: 1)
        else { Issue.record("no hold"); return }
    }

    @Test func unavailableBacksOffEvenWhenAnotherStreamMoved() {
        var machine = Machine()
        let verdict = Machine.Verdict.decided([.status: .progressed, .sample: .unavailable("disk full")])
        #expect(
            machine.settled([sent(.status, 1), sent(.sample, 1)], verdict, maySetAside: true, roll: 1)
                == .retry(after: .seconds(1), "disk full"))
    }
}
