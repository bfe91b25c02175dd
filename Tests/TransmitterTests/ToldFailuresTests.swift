import Testing

@testable import Transmitter

@Suite struct ToldFailuresTests {
    private static let hour: UInt64 = 3600 * 1_000_000

    @Test func aFailureThatLastsIsToldOnceAndOneThatComesAgainOnceAnHour() {
        var told = ToldFailures()
        #expect(told.tell("one", after: nil, now: 0) == true)
        #expect(told.tell("one", after: "one", now: 5 * Self.hour) == false, "it lasts")
        #expect(told.tell("two", after: "one", now: 5 * Self.hour) == true)
        for minute in stride(from: UInt64(1), to: 59, by: 2) {
            let now = 5 * Self.hour + minute * 60_000_000
            #expect(told.tell("one", after: "two", now: now) == (minute == 1))
            #expect(told.tell("two", after: "one", now: now + 60_000_000) == false)
        }
        #expect(told.tell("two", after: "one", now: 6 * Self.hour) == true)
    }

    @Test func afterEverythingWasSentAFailureIsNews() {
        var told = ToldFailures()
        #expect(told.tell("one", after: nil, now: 0) == true)
        #expect(told.tell("one", after: nil, now: 1) == false)
        told.sentAll()
        #expect(told.tell("one", after: nil, now: 2) == true)
    }

    @Test func failuresThatAreAllDifferentAreBounded() {
        var told = ToldFailures()
        let count = (0..<1000).count { told.tell("\($0)", after: "\($0 - 1)", now: 0) }
        #expect(count == 32)
    }
}
