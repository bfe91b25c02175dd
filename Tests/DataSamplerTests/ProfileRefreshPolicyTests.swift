import Testing

@testable import DataSampler

@Suite struct ProfileRefreshPolicyTests {
    private let second: UInt64 = 1_000_000

    @Test func `It is fetched at the start, and every eight hours with a tenth of jitter`() {
        for roll in [0, 0.5, 0.999] {
            var policy = ProfileRefreshPolicy(now: 5)
            #expect(policy.dueAt == 5)
            policy.finished(.current(revision: 1), disabled: false, now: 10, roll: roll)
            let hours = Double(policy.dueAt - 10) / 3600e6
            #expect((7.2...8.8).contains(hours))
        }
    }

    @Test func `A newer revision is fetched at once, an equal or older one is not`() {
        var policy = ProfileRefreshPolicy(now: 0)
        policy.finished(.current(revision: 3), disabled: false, now: 0, roll: 0)
        let outcome1 = policy.noticed(newest: 3, running: 3, now: 60)
        #expect(!outcome1)
        let outcome2 = policy.noticed(newest: 2, running: 3, now: 60)
        #expect(!outcome2)
        let outcome3 = policy.noticed(newest: 4, running: 3, now: 60)
        #expect(outcome3)
        #expect(policy.dueAt == 60)
        let outcome4 = policy.noticed(newest: 4, running: 3, now: 60)
        #expect(!outcome4, "it is due already")
    }

    @Test func `A revision that was refused is not fetched again for being newest`() {
        var policy = ProfileRefreshPolicy(now: 0)
        policy.finished(.refused(revision: 4), disabled: false, now: 0, roll: 0)
        let outcome5 = policy.noticed(newest: 4, running: 3, now: 60)
        #expect(!outcome5)
        let outcome6 = policy.noticed(newest: 5, running: 3, now: 60)
        #expect(outcome6)
    }

    @Test func `Failures back off with jitter up to five minutes, honour Retry-After, and a demand ends the wait`() {
        var policy = ProfileRefreshPolicy(now: 0)
        var waits: [Double] = []
        for _ in 0..<12 {
            policy.finished(.failed(after: nil), disabled: false, now: 0, roll: 0.999)
            waits.append(Double(policy.dueAt) / 1e6)
        }
        #expect(waits[0] < 1 && waits[1] > waits[0] && waits.allSatisfy { $0 <= 300 } && waits[11] > 290)
        policy.finished(.failed(after: .seconds(100_000)), disabled: false, now: 0, roll: 0)
        #expect(policy.dueAt == 3600 * second)
        let outcome7 = policy.noticed(newest: 9, running: 1, now: 5)
        #expect(!outcome7, "a notice does not shorten a backoff")
        policy.demanded(now: 5)
        #expect(policy.dueAt == 5)
    }

    @Test func `While telemetry is off it looks every quarter of an hour, and from the switch on`() {
        var policy = ProfileRefreshPolicy(now: 0)
        policy.finished(.current(revision: 1), disabled: false, now: 0, roll: 0.5)
        #expect(policy.dueAt == 8 * 3600 * second)
        policy.switched(disabled: true, now: 0, roll: 0.5)
        #expect(policy.dueAt == 900 * second)
        policy.finished(.current(revision: 1), disabled: true, now: 900 * second, roll: 0.5)
        #expect(policy.dueAt == 1800 * second)
    }
}
