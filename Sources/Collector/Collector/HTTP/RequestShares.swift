import Registry
import Synchronization
import WireModel

/// Limits how many requests of one kind the collector works on at once, with a share for each token and each
/// organization. Somebody who uses up a share locks nobody else out.
///
/// Safe from any thread.
package final class RequestShares: Sendable {
    package let limit: Int
    /// The most for one token.
    package let perToken: Int
    /// The most for all tokens of one organization. Tokens for all organizations share one limit, as if they were an
    /// organization.
    package let perOrganization: Int
    private let taken = Mutex(Taken())

    private struct Taken {
        var all = 0
        var ofToken: [String: Int] = [:]
        /// The key for all organizations is `nil`.
        var ofOrganization: [String?: Int] = [:]

        mutating func count(_ person: Person, _ change: Int) {
            all += change
            // Only those that hold a place are remembered.
            let token = ofToken[person.tokenID, default: 0] + change
            ofToken[person.tokenID] = token > 0 ? token : nil
            let organization = ofOrganization[person.organization, default: 0] + change
            if organization > 0 {
                ofOrganization.updateValue(organization, forKey: person.organization)
            } else {
                ofOrganization.removeValue(forKey: person.organization)
            }
        }
    }

    /// - Parameters:
    ///   - perToken: default: half of the places.
    ///   - perOrganization: default: three quarters of the places, so another organization always finds one.
    package init(_ limit: Int = 8, perToken: Int? = nil, perOrganization: Int? = nil) {
        self.limit = limit
        self.perToken = perToken ?? max(1, limit / 2)
        self.perOrganization = perOrganization ?? max(1, limit * 3 / 4)
    }

    /// Why there is no place.
    enum Full: Error, Equatable {
        case all(Int)
        case token(Int)
        case organization(Int)
    }

    /// The places that are occupied now.
    var inUse: Int { taken.withLock { $0.all } }

    func acquire(for person: Person) throws(Full) -> Place {
        try taken.withLock { taken throws(Full) in
            guard taken.ofToken[person.tokenID, default: 0] < perToken else { throw .token(perToken) }
            guard taken.ofOrganization[person.organization, default: 0] < perOrganization else {
                throw .organization(perOrganization)
            }
            guard taken.all < limit else { throw .all(limit) }
            taken.count(person, 1)
        }
        return Place(self, person)
    }

    /// One place. It is returned at the latest when this is released.
    final class Place: Sendable {
        private let limit: RequestShares
        private let person: Person
        private let isTaken = Mutex(true)

        fileprivate init(_ limit: RequestShares, _ person: Person) {
            self.limit = limit
            self.person = person
        }

        func giveBack() {
            let wasTaken = isTaken.withLock { taken in
                defer { taken = false }
                return taken
            }
            if wasTaken { limit.taken.withLock { $0.count(person, -1) } }
        }

        deinit { giveBack() }
    }
}

extension PersonContext {
    /// - Parameter what: names the places in the message.
    /// - Throws: `Problem` `busy`.
    func acquirePlace(in limit: RequestShares, for what: String) throws -> RequestShares.Place {
        do throws(RequestShares.Full) { return try limit.acquire(for: person) } catch {
            throw Problem.ofFull(error, what)
        }
    }
}

extension Problem {
    /// - Parameter what: for instance "logs being read".
    fileprivate static func ofFull(_ full: RequestShares.Full, _ what: String) -> Problem {
        switch full {
        case .token(let limit):
            .busy("This token has \(limit) \(what) under way, which is its limit. Wait for one to end.")
        case .organization(let limit):
            .busy(
                """
                The tokens of this organization have \(limit) \(what) under way, which is their limit. Wait for one to \
                end.
                """
            )
        case .all(let limit): .busy("\(limit) \(what) are under way, which is the collector's limit. Ask again later.")
        }
    }
}
