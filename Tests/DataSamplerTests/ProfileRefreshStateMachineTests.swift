import Testing

@testable import DataSampler

@Suite struct ProfileRefreshStateMachineTests {
    private let second: UInt64 = 1_000_000

    @Test func `It is fetched at the start, and every eight hours with a tenth of jitter`() {
        for roll in [0, 0.5, 0.999] {
            var machine = ProfileRefreshStateMachine(now: 5)
            #expect(machine.dueAt == 5)
            machine.finished(.current(revision: 1), disabled: false, now: 10, roll: roll)
            let hours = Double(machine.dueAt - 10) / 3600e6
            #expect((7.2...8.8).contains(hours))
        }
    }

    @Test func `A newer revision is fetched at once, an equal or older one is not`() {
        var machine = ProfileRefreshStateMachine(now: 0)
        machine.finished(.current(revision: 3), disabled: false, now: 0, roll: 0)
        let outcome1 = machine.noticed(newest: 3, running: 3, now: 60)
        #expect(!outcome1)
        let outcome2 = machine.noticed(newest: 2, running: 3, now: 60)
        #expect(!outcome2)
        let outcome3 = machine.noticed(newest: 4, running: 3, now: 60)
        #expect(outcome3)
        #expect(machine.dueAt == 60)
        let outcome4 = machine.noticed(newest: 4, running: 3, now: 60)
        #expect(!outcome4, "it is due already")
    }

    @Test func `A revision that was refused is not fetched again for being newest`() {
        var machine = ProfileRefreshStateMachine(now: 0)
        machine.finished(.refused(revision: 4), disabled: false, now: 0, roll: 0)
        let outcome5 = machine.noticed(newest: 4, running: 3, now: 60)
        #expect(!outcome5)
        let outcome6 = machine.noticed(newest: 5, running: 3, now: 60)
        #expect(outcome6)
    }

    @Test func `Failures back off with jitter up to five minutes, honour Retry-After, and a demand ends the wait`() {
        var machine = ProfileRefreshStateMachine(now: 0)
        var waits: [Double] = []
        for _ in 0..<12 {
            machine.finished(.failed(after: nil), disabled: false, now: 0, roll: 0.999)
            waits.append(Double(machine.dueAt) / 1e6)
        }
        #expect(waits[0] < 1 && waits[1] > waits[0] && waits.allSatisfy { $0 <= 300 } && waits[11] > 290)
        machine.finished(.failed(after: .seconds(100_000)), disabled: false, now: 0, roll: 0)
        #expect(machine.dueAt == 3600 * second)
        let outcome7 = machine.noticed(newest: 9, running: 1, now: 5)
        #expect(!outcome7, "a notice does not shorten a backoff")
        machine.demanded(now: 5)
        #expect(machine.dueAt == 5)
    }

    @Test func `While telemetry is off it looks every quarter of an hour, and from the switch on`() {
        var machine = ProfileRefreshStateMachine(now: 0)
        machine.finished(.current(revision: 1), disabled: false, now: 0, roll: 0.5)
        #expect(machine.dueAt == 8 * 3600 * second)
        machine.switched(disabled: true, now: 0, roll: 0.5)
        #expect(machine.dueAt == 900 * second)
        machine.finished(.current(revision: 1), disabled: true, now: 900 * second, roll: 0.5)
        #expect(machine.dueAt == 1800 * second)
    }
}
