import Testing

@testable import Collector

@Suite struct StreamLimitTests {
    @Test func thereAreOnlySoManyPlacesAndEachComesBackOnce() {
        let limit = StreamLimit(2)
        let first = limit.take()
        var second = limit.take()
        #expect(first != nil && second != nil && limit.take() == nil)
        first?.giveBack()
        first?.giveBack()
        let third = limit.take()
        #expect(third != nil && limit.take() == nil)
        // Whoever forgets to give it back lets go of it.
        second = nil
        #expect(second == nil && limit.take() != nil)
        third?.giveBack()
    }
}
