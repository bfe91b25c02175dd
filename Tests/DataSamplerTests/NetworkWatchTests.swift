import Testing
import Transmitter
import WireModel

@testable import DataSampler

@Suite struct NetworkWatchTests {
    private static let second: UInt64 = 1_000_000
    private static let offline: [StreamName: TransmissionGate.Reason] = [
        .status: .offline, .event: .offline, .sample: .offline,
    ]

    /// Sees each state at its second, and looks for a notice each second; what was reported, with its second.
    private func reported(
        _ states: [UInt64: [StreamName: TransmissionGate.Reason]], for seconds: UInt64 = 120
    ) -> [String] {
        var watch = NetworkWatch()
        var reported: [String] = []
        for second in 0..<seconds {
            if let state = states[second] { watch.saw(state, now: second * Self.second) }
            guard let notice = watch.settled(now: second * Self.second) else { continue }
            let words = [notice.kind.rawValue, notice.details["reason"], notice.details["streams"]].compactMap(\.self)
            reported.append("\(second) \(words.joined(separator: " "))")
        }
        return reported
    }

    @Test func `A start with open gates reports nothing`() {
        #expect(reported([0: [:], 30: [:]]).isEmpty)
    }

    @Test func `A gate that closes and opens is reported once each, after ten seconds`() {
        #expect(
            reported([5: Self.offline, 6: Self.offline, 60: [:]])
                == ["15 network-stopped offline status, event, sample", "70 network-resumed"])
    }

    @Test func `What comes and goes within ten seconds is not reported`() {
        var states: [UInt64: [StreamName: TransmissionGate.Reason]] = [:]
        for second in stride(from: 0, to: UInt64(100), by: 10) {
            states[second] = Self.offline
            states[second + 9] = [:]
        }
        #expect(reported(states).isEmpty)
        #expect(
            reported([0: Self.offline, 30: [:], 35: Self.offline])
                == ["10 network-stopped offline status, event, sample"])
    }

    @Test func `Reasons that alternate do not hide that sending stopped`() {
        var states: [UInt64: [StreamName: TransmissionGate.Reason]] = [:]
        for second in 0..<UInt64(12) { states[second] = [.sample: second.isMultiple(of: 2) ? .metered : .roaming] }
        #expect(reported(states, for: 12) == ["10 network-stopped metered sample"])
    }

    @Test func `Only the last gate that opens resumes`() {
        #expect(
            reported([
                0: [.sample: .metered], 20: Self.offline, 40: [.event: .paused, .sample: .metered],
                60: [.sample: .metered], 80: [:],
            ]) == [
                "10 network-stopped metered sample", "30 network-stopped offline status, event, sample",
                "50 network-stopped paused event, sample", "70 network-stopped metered sample", "90 network-resumed",
            ])
    }

    @Test func `A battery that goes on falling is no news`() {
        #expect(
            reported([
                0: [.sample: .battery(level: 1_900, minimum: 2_000)],
                30: [.sample: .battery(level: 1_800, minimum: 2_000)],
            ]) == ["10 network-stopped battery sample"])
    }

    @Test func `Consent, the first profile and a busy machine are not reported as the network's`() {
        #expect(reported([0: [.event: .firstProfile, .sample: .consent]]).isEmpty)
        #expect(reported([0: [.sample: .stalled]]).isEmpty)
        #expect(
            reported([0: [.event: .consent, .sample: .ssid(isKnown: false)]]) == ["10 network-stopped ssid sample"])
    }

    @Test func `The notice names its gate, and no other notice does`() throws {
        var watch = NetworkWatch()
        watch.saw([.sample: .proxy], now: 0)
        #expect(watch.dueAt == 10 * Self.second)
        let settled = watch.settled(now: 10 * Self.second)
        let stopped = try #require(settled)
        #expect(stopped.closedGate == .proxy && watch.dueAt == nil)
        watch.saw([:], now: 11 * Self.second)
        let resumed = watch.settled(now: 21 * Self.second)
        #expect(resumed?.closedGate == nil)
    }
}
