import Testing
import WireModel

@testable import DataSampler

@Suite struct BeaconScheduleStateMachineTests {
    private let second: UInt64 = 1_000_000

    @Test(
        arguments: [
            (59.9, 60), (0, 60), (-1, 60), (.nan, 60), (.infinity, 60), (-.infinity, 60), (60, 60), (900, 900),
            (1e9, 86_400),
        ] as [(Double, Double)]) func `Less than 60 and what is not finite becomes 60`(asked: Double, expected: Double)
    {
        #expect(BeaconScheduleStateMachine.frequency(asked) == expected)
    }

    @Test func `A start sends at once and then in step`() {
        var machine = BeaconScheduleStateMachine()
        #expect(machine.scheduleStarted(frequency: 60, now: 5 * second, trigger: .start) == .make(trigger: .start))
        #expect(machine.finished().next == .none)
        #expect(machine.nextDue == 65 * second)
        #expect(machine.reached(64 * second) == .none)
        // Late by two seconds: the next is not late for it.
        #expect(machine.reached(67 * second) == .make(trigger: .schedule))
        #expect(machine.nextDue == 125 * second)
    }

    @Test func `Changes within a second share one beacon, and any beacon meanwhile reports them`() {
        var machine = BeaconScheduleStateMachine()
        machine.noticedChange(now: 10 * second)
        machine.noticedChange(now: 10 * second + 900_000)
        #expect(machine.nextDue == 11 * second)
        let taken = [11 * second - 1, 11 * second, 11 * second].map { machine.beginComparison(dueBy: $0) }
        #expect(taken == [false, true, false])
        #expect(machine.wanted(.change) == .make(trigger: .change))
        // Not in the beacon that is being made.
        machine.noticedChange(now: 11 * second)
        _ = machine.finished()
        let takenAgain = machine.beginComparison(dueBy: 12 * second)
        #expect(takenAgain && machine.wanted(.change) == .make(trigger: .change))
        _ = machine.finished()
        machine.noticedChange(now: 20 * second)
        #expect(machine.asked(by: 1, trigger: .demand) == .make(trigger: .demand))
        #expect(machine.nextDue == nil)
    }

    @Test func `Missed beacons are not made up for`() {
        var machine = BeaconScheduleStateMachine()
        _ = machine.scheduleStarted(frequency: 60, now: 0, trigger: .start)
        _ = machine.finished()
        #expect(machine.reached(1000 * second) == .make(trigger: .schedule))
        _ = machine.finished()
        #expect(machine.reached(1001 * second) == .none)
        #expect(machine.nextDue == 1060 * second)
    }

    @Test func `A second start replaces the schedule, and a stop is idempotent`() {
        var machine = BeaconScheduleStateMachine()
        _ = machine.scheduleStarted(frequency: 60, now: 0, trigger: .start)
        _ = machine.finished()
        #expect(machine.scheduleStarted(frequency: 300, now: 10 * second, trigger: .start) == .make(trigger: .start))
        _ = machine.finished()
        #expect(machine.interval == 300 * second)
        #expect(machine.reached(60 * second) == .none)
        for _ in 1...2 {
            machine.scheduleStopped()
            #expect(machine.nextDue == nil)
            #expect(machine.reached(10_000 * second) == .none)
        }
    }

    @Test func `Callers that come while one is in flight share it`() {
        var machine = BeaconScheduleStateMachine()
        #expect(machine.asked(by: 1, trigger: .demand) == .make(trigger: .demand))
        #expect(machine.asked(by: 2, trigger: .demand) == .none)
        let (callers, next) = machine.finished()
        #expect(callers == [1, 2])
        #expect(next == .none)
    }

    @Test func `A caller whose change the one in flight does not hold waits for the next, with all who come after`() {
        var machine = BeaconScheduleStateMachine()
        #expect(machine.asked(by: 1, trigger: .demand) == .make(trigger: .demand))
        machine.changed()
        #expect(machine.asked(by: 2, trigger: .change) == .none)
        #expect(machine.asked(by: 3, trigger: .demand) == .none)
        let first = machine.finished()
        #expect(first.callers == [1])
        #expect(first.next == .make(trigger: .change))
        // The second holds the change: it is shared again.
        #expect(machine.asked(by: 4, trigger: .demand) == .none)
        let second = machine.finished()
        #expect(second.callers == [2, 3, 4])
        #expect(second.next == .none)
    }

    @Test func `An unlock is reported by a beacon of its own`() {
        var machine = BeaconScheduleStateMachine()
        _ = machine.asked(by: 1, trigger: .demand)
        let shared = machine.asked(by: 2, trigger: .unlock)
        #expect(shared == .none)
        var end = machine.finished()
        #expect(end.callers == [1] && end.next == .make(trigger: .unlock))
        // Among those who wait already, the unlock gives the trigger.
        machine.changed()
        _ = machine.asked(by: 3, trigger: .change)
        _ = machine.asked(by: 4, trigger: .unlock)
        end = machine.finished()
        #expect(end.callers == [2] && end.next == .make(trigger: .unlock))
        end = machine.finished()
        #expect(end.callers == [3, 4] && end.next == .none)
    }

    @Test func `One that is due while one is in flight is that one`() {
        var machine = BeaconScheduleStateMachine()
        _ = machine.scheduleStarted(frequency: 60, now: 0, trigger: .start)
        #expect(machine.reached(60 * second) == .none)
        #expect(machine.nextDue == 120 * second)
        #expect(machine.finished().next == .none)
    }
}
