import DeviceTunables
import Testing

@testable import RecordQueue

@Suite("The budget of new epochs")
struct DivergenceBudgetTests {
    private static let hour = DivergenceBudget.refill

    /// Spends wherever that is possible within so many hours, looking every minute.
    private func epochs(hours: Int64, from wholeAt: Int64? = nil, start: Int64 = 0) -> Int {
        var (wholeAt, count) = (wholeAt, 0)
        for now in stride(from: start, to: start + hours * Self.hour, by: 60_000_000) {
            while DivergenceBudget.wait(wholeAt: wholeAt, now: now) == 0 {
                wholeAt = DivergenceBudget.spend(wholeAt: wholeAt, now: now)
                count += 1
            }
        }
        return count
    }

    @Test
    func `Six at once, and then one an hour: never more than are kept apart where none can be closed for a day`() {
        #expect(epochs(hours: 1) == 6)
        #expect(epochs(hours: 2) == 7)
        #expect(epochs(hours: 24) == 29 && 30 < Tunables.Queue.closingEpochs)
    }

    @Test
    func `It says how long to wait, and is whole again after six hours`() {
        var wholeAt: Int64?
        for _ in 1...6 { wholeAt = DivergenceBudget.spend(wholeAt: wholeAt, now: 0) }
        #expect(DivergenceBudget.wait(wholeAt: wholeAt, now: 0) == Self.hour)
        #expect(DivergenceBudget.wait(wholeAt: wholeAt, now: Self.hour - 1) == 1)
        #expect(DivergenceBudget.wait(wholeAt: wholeAt, now: Self.hour) == 0)
        #expect(epochs(hours: 1, from: wholeAt, start: 6 * Self.hour) == 6)
    }

    @Test
    func `A time of before the budget is a whole one; one that cannot be costs no more than an empty one`() {
        #expect(epochs(hours: 1, from: 5, start: 100 * Self.hour) == 6)
        #expect(DivergenceBudget.wait(wholeAt: .max, now: 0) == Self.hour)
    }
}
