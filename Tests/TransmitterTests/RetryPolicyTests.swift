import Testing
@testable import Transmitter

@Suite struct RetryPolicyTests {
    let policy = RetryPolicy()

    @Test(arguments: [(1, 1.0), (2, 2.0), (3, 4.0), (9, 256.0), (10, 300.0), (1_000_000, 300.0)])
    func `The window doubles from one second to five minutes`(failures: Int, seconds: Double) {
        #expect(policy.delay(failures: failures, roll: 1, retryAfter: nil) == .seconds(seconds))
        #expect(policy.delay(failures: failures, roll: 0.5, retryAfter: nil) == .seconds(seconds / 2))
        #expect(policy.delay(failures: failures, roll: 0, retryAfter: nil) == .zero)
    }

    @Test func `Retry-After is the least wait, up to an hour, with jitter on top`() {
        #expect(policy.delay(failures: 1, roll: 0, retryAfter: .seconds(7)) == .seconds(7))
        #expect(policy.delay(failures: 3, roll: 1, retryAfter: .seconds(7)) == .seconds(11))
        #expect(policy.delay(failures: 1, roll: 0, retryAfter: .seconds(86_400)) == .seconds(3_600))
        #expect(policy.delay(failures: 1, roll: 0, retryAfter: .seconds(-5)) == .zero)
    }

    @Test(arguments: [-1.0, 2.0])
    func `A roll outside its range is cut`(roll: Double) {
        let delay = policy.delay(failures: 1, roll: roll, retryAfter: nil)
        #expect(delay >= .zero && delay <= .seconds(1))
    }
}
