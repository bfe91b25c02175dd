import Testing
@testable import Transmitter

@Suite struct RefusalEvidenceTests {
    private static let minute: UInt64 = 60_000_000

    /// Refused every so many seconds, with something else passing in between or not.
    private func minutesUntilProven(everySeconds: UInt64, others: (Int) -> Bool) -> UInt64? {
        var evidence = RefusalEvidence()
        for attempt in 0..<10_000 {
            let now = UInt64(attempt) * everySeconds * 1_000_000
            evidence.refused(at: now)
            if evidence.isProven { return now / Self.minute }
            if others(attempt) { evidence.otherPassed() }
        }
        return nil
    }

    @Test func `Ten minutes in which others pass prove it`() {
        #expect(minutesUntilProven(everySeconds: 30) { _ in true } == 10)
        #expect(minutesUntilProven(everySeconds: 300) { _ in true } == 10)
    }

    @Test func `Time in which nothing else passes counts nothing, however long it is`() {
        #expect(minutesUntilProven(everySeconds: 300) { _ in false } == nil)
        #expect(minutesUntilProven(everySeconds: 30) { $0.isMultiple(of: 2) } == 19, "every other interval counts")
        var evidence = RefusalEvidence()
        evidence.refused(at: 0)
        // A day's outage, and then two refusals while others pass.
        evidence.refused(at: 1440 * Self.minute)
        evidence.otherPassed()
        evidence.refused(at: 1441 * Self.minute)
        #expect(!evidence.isProven && evidence.refusals == 3)
    }

    @Test func `One long interval is not enough`() {
        var evidence = RefusalEvidence()
        evidence.refused(at: 0)
        evidence.otherPassed()
        evidence.refused(at: 600 * Self.minute)
        #expect(!evidence.isProven, "two refusals, ten hours apart")
        evidence.otherPassed()
        evidence.refused(at: 1200 * Self.minute)
        #expect(evidence.isProven)
    }

    @Test func `A clock that goes back counts nothing`() {
        var evidence = RefusalEvidence()
        for now in stride(from: 100 * Self.minute, to: 0, by: -Int(Self.minute)) {
            evidence.refused(at: now)
            evidence.otherPassed()
        }
        #expect(!evidence.isProven)
    }
}
