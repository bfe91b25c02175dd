import Testing
import Transmitter
import WireModel

@testable import DataSampler

/// What holds a stream back: one line for each combination.
@Suite struct StreamHoldsTests {
    private struct Row {
        var paused = false
        var quiet = false
        var consent = false
        var profile = false
        var status: TransmissionGate.Reason?
        var event: TransmissionGate.Reason?
        var sample: TransmissionGate.Reason?
    }

    private static let rows = [
        Row(),
        Row(profile: true, event: .firstProfile),
        Row(consent: true, event: .consent, sample: .consent),
        Row(consent: true, profile: true, event: .consent, sample: .consent),
        Row(quiet: true, event: .doNotDisturb, sample: .doNotDisturb),
        Row(quiet: true, profile: true, event: .doNotDisturb, sample: .doNotDisturb),
        Row(quiet: true, consent: true, event: .doNotDisturb, sample: .doNotDisturb),
        Row(quiet: true, consent: true, profile: true, event: .doNotDisturb, sample: .doNotDisturb),
        Row(paused: true, status: .paused, event: .paused, sample: .paused),
        Row(paused: true, profile: true, status: .paused, event: .paused, sample: .paused),
        Row(paused: true, consent: true, status: .paused, event: .paused, sample: .paused),
        Row(paused: true, consent: true, profile: true, status: .paused, event: .paused, sample: .paused),
        Row(paused: true, quiet: true, status: .paused, event: .paused, sample: .paused),
        Row(paused: true, quiet: true, profile: true, status: .paused, event: .paused, sample: .paused),
        Row(paused: true, quiet: true, consent: true, status: .paused, event: .paused, sample: .paused),
        Row(paused: true, quiet: true, consent: true, profile: true, status: .paused, event: .paused, sample: .paused),
    ]

    @Test func `Each combination holds what it is to hold, and status goes wherever it may`() {
        var seen: Set<String> = []
        for row in Self.rows {
            var awaits: AwaitedDecisions = row.consent ? .consent : []
            if row.profile { awaits.insert(.firstProfile) }
            let holds = StreamHolds(isPaused: row.paused, quiet: row.quiet ? .doNotDisturb : nil, awaits: awaits)
            seen.insert("\(holds)")
            #expect(holds.reason(.status) == row.status, "\(holds)")
            #expect(holds.reason(.event) == row.event, "\(holds)")
            #expect(holds.reason(.sample) == row.sample, "\(holds)")
            #expect(holds.reasons.count == [row.status, row.event, row.sample].count { $0 != nil })
        }
        #expect(seen.count == 16, "all of them")
    }

    @Test func `Where telemetry is off, status alone goes: it says so, and answers commands`() {
        let holds = StreamHolds(isOff: true, quiet: .doNotDisturb, awaits: .consent)
        #expect(holds.reasons == [.event: .paused, .sample: .paused])
        #expect(StreamHolds(isPaused: true, isOff: true).reasons.count == StreamName.allCases.count)
    }

    @Test func `Up to a thousand events or a mebibyte wait for the first profile`() {
        var gate = RecordGate()
        for _ in 1...1_000 { #expect(gate.admit(.event, bytes: 100) == .record) }
        guard case .refuse(.profileNotChecked, let why, counted: nil) = gate.admit(.event, bytes: 1) else {
            Issue.record("the 1,001st was taken")
            return
        }
        #expect(why.contains("1000 events"), "\(why)")
        #expect(gate.admit(.sample, bytes: 1) == .record && gate.admit(.beacon, bytes: 1) == .record)
        gate.isProfileChecked = true
        #expect(gate.admit(.event, bytes: 1) == .record)

        var large = RecordGate()
        for _ in 1...4 { #expect(large.admit(.event, bytes: 256 << 10) == .record) }
        guard case .refuse = large.decide(.event, bytes: 1) else {
            Issue.record("more than a mebibyte was taken")
            return
        }
        large.eventRefusal = .analytics
        guard case .refuse(.analyticsDisabled, _, _) = large.decide(.event) else {
            Issue.record("what is switched off here waits for nobody")
            return
        }
    }
}
