import Testing
@testable import Transmitter
import WireModel

@Suite struct GatePolicyTests {
    private static let second: UInt64 = 1_000_000

    private func conditions(_ network: WireNetworkClass, stalled: Bool? = nil) -> DeviceConditions {
        var conditions = DeviceConditions()
        conditions.network = network
        conditions.stalled = stalled
        return conditions
    }

    @Test func `Offline is believed once an attempt confirmed it, and checked from time to time`() {
        var gate = GatePolicy()
        let offline = conditions(.offline)
        #expect(gate.decide(rules: [], held: [:], conditions: offline, now: 0).open.count == 3, "not confirmed yet")
        gate.attempted(offline, reached: false, now: 0)
        var attempts = 0
        for second in 0..<UInt64(7_200) {
            let now = second * Self.second
            guard gate.decide(rules: [], held: [:], conditions: offline, now: now).open.isEmpty else {
                attempts += 1
                gate.attempted(offline, reached: false, now: now)
                continue
            }
        }
        #expect(attempts == 7, "every quarter of an hour; \(attempts) in two hours")
    }

    @Test func `A collector that is reached all the same proves the condition wrong`() {
        var gate = GatePolicy()
        let offline = conditions(.offline)
        _ = gate.decide(rules: [], held: [:], conditions: offline, now: 0)
        gate.attempted(offline, reached: true, now: 0)
        for hour in 1..<UInt64(10) {
            #expect(
                gate.decide(rules: [], held: [:], conditions: offline, now: hour * 3_600 * Self.second).open.count == 3
            )
        }
    }

    @Test func `An attempt that tests the condition is a trial`() {
        var gate = GatePolicy()
        let offline = conditions(.offline)
        func isTrial(_ conditions: DeviceConditions, at second: UInt64) -> Bool {
            gate.decide(rules: [], held: [:], conditions: conditions, now: second * Self.second).isTrial
        }
        #expect(!isTrial(conditions(.wifi), at: 0))
        #expect(isTrial(offline, at: 1), "not confirmed yet")
        gate.attempted(offline, reached: false, now: 1 * Self.second)
        #expect(!isTrial(offline, at: 2), "closed")
        #expect(isTrial(offline, at: 901), "checked again")
        gate.attempted(offline, reached: true, now: 901 * Self.second)
        #expect(!isTrial(offline, at: 902), "open, because somebody answered")
    }

    @Test func `Back online, it is open at once`() {
        var gate = GatePolicy()
        gate.attempted(conditions(.offline), reached: false, now: 0)
        #expect(
            gate.decide(rules: [], held: [:], conditions: conditions(.offline), now: 1).closed[.status] == .offline)
        #expect(gate.decide(rules: [], held: [:], conditions: conditions(.wifi), now: 2).open.count == 3)
    }

    @Test func `Held streams stay closed, whatever the conditions are`() {
        var gate = GatePolicy()
        let decision = gate.decide(
            rules: [], held: [.event: .firstProfile, .sample: .consent], conditions: conditions(.wifi), now: 0)
        #expect(decision.open == [.status])
        #expect(decision.closed == [.event: .firstProfile, .sample: .consent])
        #expect(!decision.isLookedAtAgain, "only other settings let them go")
        let offline = conditions(.offline)
        gate.attempted(offline, reached: false, now: 0)
        let both = gate.decide(rules: [], held: [.event: .paused], conditions: offline, now: 1)
        #expect(both.closed == [.event: .paused, .status: .offline, .sample: .offline] && both.isLookedAtAgain)
    }

    @Test func `A stall puts samples off for a minute at most`() {
        var gate = GatePolicy()
        let busy = conditions(.wifi, stalled: true)
        #expect(gate.decide(rules: [], held: [:], conditions: busy, now: 0).closed == [.sample: .stalled])
        #expect(
            gate.decide(rules: [], held: [:], conditions: busy, now: 59 * Self.second).closed == [.sample: .stalled])
        #expect(gate.decide(rules: [], held: [:], conditions: busy, now: 60 * Self.second).closed == [:])
        #expect(
            gate.decide(rules: [], held: [:], conditions: conditions(.wifi, stalled: false), now: 61 * Self.second)
                .closed == [:])
        #expect(
            gate.decide(rules: [], held: [:], conditions: busy, now: 62 * Self.second).closed == [.sample: .stalled],
            "a new stall")
    }
}
