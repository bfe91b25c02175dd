import CollectorAPI
import Testing

@testable import Collector
@testable import Registry

@Suite("Shares of what is worked on at a time")
struct RequestSharesTests {
    private static func person(_ token: String, _ organization: String?) -> Person {
        Person(name: token, role: .viewer, organization: organization, tokenID: token)
    }

    private static func isFull(_ shares: RequestShares, _ person: Person) -> RequestShares.Full? {
        do throws(RequestShares.Full) { _ = try shares.acquire(for: person) } catch { return error }
        return nil
    }

    @Test func `There is a bounded number of places, and each comes back once`() throws {
        let shares = RequestShares(2, perToken: 2, perOrganization: 2)
        let person = Self.person("a", "west")
        let first = try shares.acquire(for: person)
        var second: RequestShares.Place? = try shares.acquire(for: person)
        #expect(Self.isFull(shares, Self.person("b", "east")) == .all(2))
        first.giveBack()
        first.giveBack()
        let third = try shares.acquire(for: person)
        #expect(Self.isFull(shares, Self.person("b", "east")) == .all(2))
        // Whoever forgets to give it back lets go of it.
        second = nil
        #expect(second == nil && Self.isFull(shares, Self.person("b", "east")) == nil)
        third.giveBack()
    }

    @Test(arguments: [2, 4, 8, 64]) func `Whatever one organization uses, another finds a place`(limit: Int) throws {
        let shares = RequestShares(limit)
        var places: [RequestShares.Place] = []
        for token in 0..<limit {
            let person = Self.person("\(token)", "west")
            for _ in 0..<limit {
                guard let place = try? shares.acquire(for: person) else { break }
                places.append(place)
            }
        }
        #expect(places.count == max(1, limit * 3 / 4))
        #expect(Self.isFull(shares, Self.person("another", "west")) == .organization(places.count))
        let stranger = try shares.acquire(for: Self.person("east", "east"))
        stranger.giveBack()
        #expect(
            Self.isFull(shares, Self.person("all", nil)) == nil,
            "tokens for all organizations are not one organization's")
        places.removeAll()
        #expect(Self.isFull(shares, Self.person("0", "west")) == nil)
    }

    @Test func `One token uses its share and leaves the rest to its colleagues`() throws {
        let shares = RequestShares(8)
        let greedy = Self.person("greedy", "west")
        let places = try (0..<4).map { _ in try shares.acquire(for: greedy) }
        #expect(Self.isFull(shares, greedy) == .token(4))
        #expect(Self.isFull(shares, Self.person("colleague", "west")) == nil)
        places[0].giveBack()
        #expect(Self.isFull(shares, greedy) == nil)
    }
}
