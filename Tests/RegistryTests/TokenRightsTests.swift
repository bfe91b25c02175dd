import CollectorAPI
import Testing

@testable import Registry

@Suite struct TokenRightsTests {
    private func token(
        _ id: String = "t", role: PersonRole? = .administrator, organization: String? = nil, expires: Int64? = nil,
        revoked: Int64? = nil
    ) -> TokenRow {
        TokenRow(
            id: id, kind: role == nil ? .enrollment : .person, name: id, role: role, organization: organization,
            created: 0,
            expires: expires, uses: 0, revoked: revoked)
    }

    @Test func `Nobody makes a token with more rights than their own`() {
        let table: [(maker: TokenRow, made: TokenRow, isRefused: Bool)] = [
            (token(), token(), false), (token(), token(organization: "a"), false),
            (token(), token(role: nil, organization: "a"), false),
            (token(organization: "a"), token(organization: "a"), false), (token(organization: "a"), token(), true),
            (token(organization: "a"), token(role: .viewer, organization: "b"), true),
            (token(organization: "a"), token(role: nil, organization: "b"), true),
            (token(role: .operator), token(role: .viewer), true),
            (token(role: .viewer), token(role: nil, organization: "a"), true),
            (token(role: nil, organization: "a"), token(role: .viewer, organization: "a"), true),
            (token(revoked: 1), token(role: .viewer), true), (token(expires: 5), token(role: .viewer), true),
            (token(expires: 20), token(role: .viewer), true),
            (token(expires: 20), token(role: .viewer, expires: 21), true),
            (token(expires: 20), token(role: .viewer, expires: 20), false),
            (token(expires: 20), token(role: nil, organization: "a"), false),
        ]
        for (place, row) in table.enumerated() {
            #expect((row.maker.refusal(toMake: row.made, at: 10) != nil) == row.isRefused, "row \(place)")
        }
    }

    @Test func `The last administrator is determined by who could replace it`() {
        let me = AuditActor(name: "me", token: "t", role: .administrator)
        let other = AuditActor(name: "other", token: "o", role: .administrator)
        let table: [(token: TokenRow, others: [TokenRow], actor: AuditActor, isLast: Bool)] = [
            (token(), [], me, true), (token(), [token("x")], me, false),
            (token(), [token("x", role: .operator)], me, true),
            (token(), [token("x", revoked: 1)], me, true), (token(), [token("x", expires: 9)], me, true),
            (token(), [token("x", organization: "a")], me, true), (token(), [], other, true),
            (token(organization: "a"), [token("x")], me, true),
            (token(organization: "a"), [token("x", organization: "a")], me, false),
            (token(organization: "a"), [token("x")], other, false), (token(role: .viewer), [], me, false),
            (token(role: nil, organization: "a"), [], me, false), (token(revoked: 1), [], me, false),
        ]
        for (place, row) in table.enumerated() {
            #expect(
                row.token.isLastAdministrator(among: row.others + [row.token], by: row.actor, at: 10) == row.isLast,
                "row \(place)")
        }
    }
}
