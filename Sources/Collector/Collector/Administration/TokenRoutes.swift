import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import WireModel

/// Tokens of people, scripts and enrollment. An organization's administrator sees and makes that organization's only.
struct TokenRoutes: Sendable {
    static let bodyBytes = 4 * 1024

    let administration: any Administration
    let reader: BodyReader
    let logger: Logger

    var routes: [Route] {
        [
            Route(.get, "/api/v1/tokens", .person(.administrator), handle: list),
            Route(.post, "/api/v1/tokens", .person(.administrator), handle: create),
            Route(.delete, "/api/v1/tokens/{token}", .person(.administrator), handle: revoke),
        ]
    }

    private func list(_ exchange: Exchange) async throws -> Response {
        let query = try QueryParameters(exchange.request, known: ["kind", "limit", "cursor"])
        let kind = try query.choice("kind", TokenRow.Kind.allCases.map { ($0.name, $0) })
        var position: TokenPosition?
        if let text = query.text("cursor") {
            position = TokenPosition(cursor: text)
            guard position != nil else { throw Problem.invalidParameter("cursor", "is not one that this collector gave.") }
        }
        let page = try await administration.tokens(
            organization: exchange.person.organization, kind: kind, after: position, limit: try query.limit())
        return try Page(items: page.tokens.map { TokenView($0, now: exchange.now) }, next: page.next?.cursor).response()
    }

    private func create(_ exchange: Exchange) async throws -> Response {
        _ = try QueryParameters(exchange.request, known: [])
        let person = try exchange.person
        return try await reader.read(exchange, limit: .json(Self.bodyBytes)) { body in
            let new = try TokenDocument(body, person: person, now: exchange.now).token
            let made: (row: TokenRow, secret: String)
            do throws(AdministrationError) { made = try await administration.createToken(new, by: AuditActor(person)) } catch {
                if case .notFound = error { throw Problem.invalidField("organization", "is none that there is.") }
                throw Problem.ofAdministration(error)
            }
            logger.notice(
                "token made",
                metadata: ["token.id": "\(made.row.id)", "token.kind": "\(made.row.kind.name)", "person": "\(person.name)"])
            var view = TokenView(made.row, now: exchange.now)
            view.token = made.secret
            var response = try view.response(status: .created)
            response.headers[.location] = "/api/v1/tokens/\(made.row.id)"
            return response
        }
    }

    private func revoke(_ exchange: Exchange) async throws -> Response {
        _ = try QueryParameters(exchange.request, known: [])
        let (id, person) = (exchange.parameters["token"] ?? "", try exchange.person)
        do throws(AdministrationError) {
            try await administration.revokeToken(id, organization: person.organization, by: AuditActor(person))
        } catch {
            if case .notFound = error { throw Problem.notFound("Your organization has no such token.") }
            throw Problem.ofAdministration(error)
        }
        logger.notice("token revoked", metadata: ["token.id": "\(id)", "person": "\(person.name)"])
        return Response(status: .noContent)
    }
}

extension TokenPosition {
    fileprivate var cursor: String {
        Data("\(created)|\(id)".utf8).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }

    fileprivate init?(cursor: String) {
        guard cursor.utf8.count <= 128 else { return nil }
        var base64 = cursor.replacing("-", with: "+").replacing("_", with: "/")
        while base64.utf8.count % 4 != 0 { base64 += "=" }
        guard let data = Data(base64Encoded: base64) else { return nil }
        let parts = String(decoding: data, as: UTF8.self).split(separator: "|", maxSplits: 1)
        guard parts.count == 2, let created = Int64(parts[0]) else { return nil }
        self.init(created: created, id: String(parts[1]))
    }
}
