import Foundation
import Testing

@testable import DataSampler

@Suite struct PinPolicyTests {
    private static func key(_ byte: UInt8) -> Data { Data(repeating: byte, count: 32) }
    private static let (one, two, three) = (key(1), key(2), key(3))
    private static let hour: Int64 = 3_600_000_000

    @Test func `A set that the present key fits is in force; one that it does not is refused, and both sets are taken`()
    {
        var policy = PinPolicy()
        #expect(policy.arrived([Self.one], former: [], key: Self.one) == nil)
        #expect(policy.inForce([Self.one]) == [Self.one])
        #expect(policy.connected([Self.one], key: Self.one) == nil)
        #expect(policy.arrived([Self.two], former: [Self.one], key: Self.one) == .refused)
        #expect(policy.finding([Self.two]) == .unsatisfied)
        #expect(policy.inForce([Self.two]) == [Self.one, Self.two])
        // The collector changes to the announced key after all.
        #expect(policy.connected([Self.two], key: Self.one) == nil && policy.finding([Self.two]) != nil)
        #expect(policy.connected([Self.two], key: Self.two) == .applied)
        #expect(policy.inForce([Self.two]) == [Self.two] && policy.worked == [Self.two])
    }

    @Test func `A device without pins that refuses its first set goes on without`() {
        var policy = PinPolicy()
        #expect(policy.arrived([Self.two], former: [], key: Self.one) == .refused)
        #expect(policy.inForce([Self.two]).isEmpty)
        // The corrected profile.
        #expect(policy.arrived([Self.one], former: [Self.two], key: Self.one) == nil)
        #expect(policy.finding([Self.one]) == nil && policy.inForce([Self.one]) == [Self.one])
    }

    @Test func `Pins that fail for longer than is allowed give way to those that worked, once`() {
        var policy = PinPolicy()
        _ = policy.connected([Self.one], key: Self.one)
        _ = policy.arrived([Self.one, Self.two], former: [Self.one], key: Self.one)
        let pins = [Self.one, Self.two]
        #expect(policy.mismatched(pins, allowedSeconds: 3600, now: 5) == nil)
        #expect(policy.mismatched(pins, allowedSeconds: 3600, now: 4 + Self.hour) == nil)
        #expect(policy.inForce(pins) == pins)
        #expect(policy.mismatched(pins, allowedSeconds: 3600, now: 5 + Self.hour) == .fellBack)
        #expect(policy.finding(pins) == .failed)
        #expect(policy.mismatched(pins, allowedSeconds: 3600, now: 5 + 9 * Self.hour) == nil)
    }

    @Test func `A success in between begins the time anew, and without a setting it is a day`() {
        var policy = PinPolicy()
        _ = policy.arrived([Self.one], former: [], key: Self.one)
        #expect(policy.mismatched([Self.one], allowedSeconds: nil, now: 0) == nil)
        #expect(policy.mismatched([Self.one], allowedSeconds: nil, now: 24 * Self.hour - 1) == nil)
        var other = policy
        #expect(other.mismatched([Self.one], allowedSeconds: nil, now: 24 * Self.hour) == .fellBack)
        #expect(other.inForce([Self.one]).isEmpty, "before it no key was asked for")
        #expect(policy.connected([Self.one], key: Self.one) == nil)
        #expect(policy.mismatched([Self.one], allowedSeconds: nil, now: 25 * Self.hour) == nil)
    }

    /// Whoever keeps a device from its collector for long must not thereby get rid of its pins.
    @Test func `A set that worked never gives way to none`() {
        var policy = PinPolicy()
        _ = policy.arrived([Self.one], former: [], key: Self.one)
        _ = policy.connected([Self.one], key: Self.one)
        for hours in Int64(0)...100 {
            #expect(policy.mismatched([Self.one], allowedSeconds: 60, now: hours * Self.hour) == nil)
        }
        #expect(policy.inForce([Self.one]) == [Self.one])
        // One of before this was kept: nothing is known that worked.
        var unknown = PinPolicy()
        for hours in Int64(0)...100 {
            #expect(unknown.mismatched([Self.one], allowedSeconds: 60, now: hours * Self.hour) == nil)
        }
        #expect(unknown.inForce([Self.one]) == [Self.one])
    }

    @Test func `Without TLS there is nothing to check, and a device without pins keeps nothing`() {
        var policy = PinPolicy()
        #expect(policy.arrived([Self.two], former: [], key: nil) == nil)
        #expect(policy.inForce([Self.two]) == [Self.two])
        var none = PinPolicy()
        #expect(none.connected([], key: Self.one) == nil)
        #expect(none == PinPolicy())
        #expect(none.arrived([], former: [], key: Self.one) == nil)
    }
}
