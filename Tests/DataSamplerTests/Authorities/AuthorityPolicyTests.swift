import FoundationEssentials
import Testing

@testable import DataSampler

@Suite struct AuthorityPolicyTests {
    private static let (old, new, other) = (Data([1]), Data([2]), Data([3]))
    private static let hour = Int64(AuthorityPolicy.trialSeconds * 1_000_000)

    /// A policy under which the collector answered with the old authority.
    private static func worked() -> AuthorityPolicy {
        var policy = AuthorityPolicy()
        #expect(policy.answered([old], under: [old]) == nil)
        return policy
    }

    @Test func `Without a profile's authorities nothing is kept and nothing is tried`() {
        var policy = AuthorityPolicy()
        #expect(policy.answered([], under: []) == nil)
        #expect(policy == AuthorityPolicy())
        #expect(policy.fallback([], from: []) == nil && policy.inForce([], now: 0).isEmpty)
    }

    @Test func `An authority that is added is trusted at once, and its failure widens nothing`() {
        let policy = Self.worked()
        #expect(policy.inForce([Self.old, Self.new], now: 0) == [Self.old, Self.new])
        #expect(policy.fallback([Self.old, Self.new], from: [Self.old, Self.new]) == nil)
    }

    @Test func `An authority that is dropped is trusted until the collector answered without it, and never after`() {
        var policy = Self.worked()
        #expect(policy.inForce([Self.new], now: 0) == [Self.new], "the new set is tried alone")
        #expect(policy.fallback([Self.new], from: [Self.new]) == [Self.new, Self.old])
        #expect(policy.answered([Self.new], under: [Self.new]) == nil)
        #expect(policy.worked == [Self.new])
        #expect(policy.fallback([Self.new], from: [Self.new]) == nil, "the old one is forgotten")
    }

    @Test func `A set that cuts off holds together with the one that worked, and is tried alone after an hour`() {
        var policy = Self.worked()
        #expect(policy.fellBack([Self.new], now: 10) == .fellBack)
        #expect(policy.hasFallenBack([Self.new]) && !policy.hasFallenBack([Self.other]))
        #expect(policy.inForce([Self.new], now: 9 + Self.hour) == [Self.new, Self.old])
        #expect(policy.answered([Self.new], under: [Self.new, Self.old]) == nil, "that proves nothing of the new set")
        #expect(policy.worked == [Self.old])
        let trial = 10 + Self.hour
        #expect(policy.inForce([Self.new], now: trial) == [Self.new])
        #expect(policy.fellBack([Self.new], now: trial) == nil, "it was told before")
        #expect(policy.inForce([Self.new], now: trial + 1) == [Self.new, Self.old])
        #expect(policy.answered([Self.new], under: [Self.new]) == .applied)
        #expect(policy.worked == [Self.new] && policy.failed == nil)
    }

    @Test func `Another profile is tried at once, with what worked behind it`() {
        var policy = Self.worked()
        #expect(policy.fellBack([Self.new], now: 0) == .fellBack)
        #expect(policy.inForce([Self.other], now: 1) == [Self.other])
        #expect(policy.fallback([Self.other], from: [Self.other]) == [Self.other, Self.old])
        #expect(policy.inForce([], now: 1).isEmpty && policy.fallback([], from: []) == [Self.old])
    }

    @Test func `A trial that another clock put far away is due`() {
        var policy = Self.worked()
        #expect(policy.fellBack([Self.new], now: 1_000 * Self.hour) == .fellBack)
        #expect(policy.inForce([Self.new], now: 0) == [Self.new])
    }
}
