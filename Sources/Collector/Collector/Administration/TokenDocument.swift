import CollectorStore
import Foundation
import WireModel

/// A token as people ask for it: `{kind, name, role, organization, expiresAt | expiresInSeconds, maximumUses |
/// unlimited}`.
struct TokenDocument {
    var token: NewToken

    static let uses: ClosedRange<Int> = 1...1_000_000_000

    /// - Parameter person: who asks: what is not said is their organization.
    init(_ body: Data, person: Person, now: Int64) throws(Problem) {
        var fields = try FieldReader(body: body)
        let kind = try fields.text("kind")
        let name = try fields.text("name") ?? ""
        let role = try fields.text("role")
        let organization = try fields.text("organization") ?? person.organization
        let seconds = try Self.seconds(&fields, now: now)
        let uses = try fields.integer("maximumUses", Self.uses)
        let isUnlimited = try fields.flag("unlimited") ?? false
        try fields.finish()
        guard name.utf8.count <= CollectorRegistry.tokenNameBytes else {
            throw .invalidField("name", "has more than \(CollectorRegistry.tokenNameBytes) bytes.")
        }
        guard !name.hasControlCharacters else { throw .invalidField("name", "has control characters.") }
        switch kind {
        case "person":
            guard !name.isEmpty else { throw .invalidField("name", "is missing: say whose token it is.") }
            guard let role else { throw .invalidField("role", "is missing. Known: \(Self.roles).") }
            guard let known = PersonRole.allCases.first(where: { "\($0)" == role }) else {
                throw .invalidField("role", "is none of \(Self.roles).")
            }
            guard uses == nil else { throw .invalidField("maximumUses", "is of an enrollment token.") }
            guard !isUnlimited else { throw .invalidField("unlimited", "is of an enrollment token.") }
            token = NewToken(.person(known), name: name, organization: organization, expiresInSeconds: seconds)
        case "enrollment":
            guard role == nil else { throw .invalidField("role", "is of a person's token.") }
            guard let organization else { throw .invalidField("organization", "is missing: devices enroll into one.") }
            guard uses == nil || !isUnlimited else {
                throw .invalidField("unlimited", "does not go with `maximumUses`.")
            }
            token = NewToken(
                .device, name: name, organization: organization,
                expiresInSeconds: seconds ?? FirstStart.enrollmentTokenSeconds,
                maximumUses: isUnlimited ? nil : uses ?? FirstStart.enrollmentTokenUses)
        case nil: throw .invalidField("kind", "is missing. Known: person, enrollment.")
        default: throw .invalidField("kind", "is none of person, enrollment.")
        }
    }

    private static let roles = PersonRole.allCases.map { "\($0)" }.joined(separator: ", ")

    private static func seconds(_ fields: inout FieldReader, now: Int64) throws(Problem) -> Int64? {
        let expiresAt = try fields.time("expiresAt")
        let lasting = try fields.integer("expiresInSeconds", 1...CollectorRegistry.maximumTokenSeconds)
        guard let expiresAt else { return lasting }
        guard lasting == nil else { throw .invalidField("expiresInSeconds", "does not go with `expiresAt`.") }
        let seconds = (expiresAt - now) / 1_000_000
        guard (1...CollectorRegistry.maximumTokenSeconds).contains(seconds) else {
            throw .invalidField("expiresAt", "is not within the next 100 years.")
        }
        return seconds
    }
}
