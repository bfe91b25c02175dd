import Testing

@testable import Transmitter

@Suite struct ReportedFailuresTests {
    private static let hour: UInt64 = 3600 * 1_000_000

    @Test func `A failure that lasts is reported once, and one that comes again once an hour`() {
        var reported = ReportedFailures()
        #expect(reported.report("one", after: nil, now: 0) == true)
        #expect(reported.report("one", after: "one", now: 5 * Self.hour) == false, "it lasts")
        #expect(reported.report("two", after: "one", now: 5 * Self.hour) == true)
        for minute in stride(from: UInt64(1), to: 59, by: 2) {
            let now = 5 * Self.hour + minute * 60_000_000
            #expect(reported.report("one", after: "two", now: now) == (minute == 1))
            #expect(reported.report("two", after: "one", now: now + 60_000_000) == false)
        }
        #expect(reported.report("two", after: "one", now: 6 * Self.hour) == true)
    }

    @Test func `After everything was sent, a failure is news`() {
        var reported = ReportedFailures()
        #expect(reported.report("one", after: nil, now: 0) == true)
        #expect(reported.report("one", after: nil, now: 1) == false)
        reported.sentAll()
        #expect(reported.report("one", after: nil, now: 2) == true)
    }

    @Test func `Failures that are all different are bounded`() {
        var reported = ReportedFailures()
        let count = (0..<1000).count { reported.report("\($0)", after: "\($0 - 1)", now: 0) }
        #expect(count == 32)
    }
}
