import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import Registry
import TelemetryBasics
import WireModel

/// Tokens of people, scripts and enrollment. An organization's administrator sees and makes only its tokens.
struct TokenRoutes: RouteGroup {
    let shared: RouteContext
    let trust: EnrollmentTrust

    func add(to router: CollectorRouter) {
        router.people(.administrator)
            .get("/api/v1/tokens", use: list)
            .post("/api/v1/tokens", use: create)
            .delete("/api/v1/tokens/{token}", use: revoke)
        router.people(.viewer).post("/api/v1/sign-in-codes", use: createSignInCode)
    }

    /// Creates a code for a link to the console. It needs no entry in the audit trail, because the sign-in has one.
    private func createSignInCode(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let made = try await metadata.createSignInCode(for: context.person)
        var view = SignInCodeView()
        (view.code, view.expiresAt) = (made.code, Timestamp.text(made.expires))
        return try view.response(status: .created)
    }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["kind", "limit", "cursor"])
        let kind = try query.choice("kind", TokenRow.Kind.allCases.map { ($0.name, $0) })
        var position: TokenPosition?
        if let text = query.text("cursor") {
            position = TokenPosition(cursor: text)
            guard position != nil else {
                throw Problem.invalidParameter("cursor", "is not one that this collector gave.")
            }
        }
        let page = try await metadata.tokens(
            organization: context.person.organization, kind: kind, after: position, limit: try query.limit())
        return try Page(items: page.rows.map { TokenView($0, now: context.now) }, next: page.next?.cursor).response()
    }

    private func create(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let person = context.person
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            let document = try TokenDocument(body, person: person, broker: trust.broker, now: context.now)
            let new = document.token
            let made: (row: TokenRow, secret: String)
            do throws(AdministrationError) {
                made = try await metadata.createToken(new, by: AuditActor(person))
            } catch {
                if case .notFound = error { throw Problem.invalidField("organization", "does not exist.") }
                throw error
            }
            logger.notice(
                "token created",
                metadata: [
                    "token.id": "\(made.row.id)", "token.kind": "\(made.row.kind.name)", "person": "\(person.name)",
                ])
            var view = TokenView(made.row, now: context.now)
            view.token = made.secret
            if let address = document.address, let expires = made.row.expires {
                let pins = trust.pins(at: address, wanted: document.isPinned)
                let authorities = trust.authorities(at: address, wanted: document.isPinned)
                view.enrollmentURL =
                    EnrollmentFile(
                        collector: address, certificatePins: pins, certificateAuthorities: authorities,
                        token: made.secret, expires: expires
                    ).url
                view.enrollmentPins = pins.count
                view.enrollmentAuthorities = authorities.count
            }
            var response = try view.response(status: .created)
            response.headers[.location] = "/api/v1/tokens/\(made.row.id)"
            return response
        }
    }

    private func revoke(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let (id, person) = (try context.parameter("token"), context.person)
        do throws(AdministrationError) {
            try await metadata.revokeToken(id, organization: person.organization, by: AuditActor(person))
        } catch {
            if case .notFound = error { throw Problem.notFound("Your organization has no such token.") }
            throw error
        }
        logger.notice("token revoked", metadata: ["token.id": "\(id)", "person": "\(person.name)"])
        return Response(status: .noContent)
    }
}

extension TokenPosition {
    fileprivate var cursor: String { CursorText.of("\(created)|\(id)") }

    fileprivate init?(cursor: String) {
        guard let data = CursorText.data(cursor, maximumBytes: 128) else { return nil }
        let parts = String(decoding: data, as: UTF8.self).split(separator: "|", maxSplits: 1)
        guard parts.count == 2, let created = Int64(parts[0]) else { return nil }
        self.init(created: created, id: String(parts[1]))
    }
}

/// A request for a token: `{kind, name, role, organization, expiresAt | expiresInSeconds, maximumUses | unlimited,
/// address, pinned}`.
struct TokenDocument {
    var token: NewToken
    /// The collector's address as devices reach it, for an enrollment URL.
    var address: String?
    /// Whether the enrollment URL pins the collector's keys and brings its authority.
    var isPinned: Bool

    private static let addressBytes = 2048

    static let uses: ClosedRange<Int> = 1...1_000_000_000

    /// - Parameters:
    ///   - person: the requester. Their organization is the default.
    ///   - broker: the message broker that is served; `nil`: none.
    init(_ body: Data, person: Person, broker: EnrollmentBroker?, now: Int64) throws(Problem) {
        var fields = try FieldReader(body: body)
        let kind = try fields.text("kind")
        let name = try fields.text("name") ?? ""
        let role = try fields.text("role")
        let organization = try fields.text("organization") ?? person.organization
        let seconds = try Self.seconds(&fields, now: now)
        let uses = try fields.integer("maximumUses", Self.uses)
        let isUnlimited = try fields.flag("unlimited") ?? false
        address = try fields.text("address")
        let pinned = try fields.flag("pinned")
        isPinned = pinned ?? true
        try fields.finish()
        guard name.utf8.count <= MetadataService.tokenNameBytes else {
            throw .invalidField("name", "has more than \(MetadataService.tokenNameBytes) bytes.")
        }
        guard !name.hasControlCharacters else { throw .invalidField("name", "has control characters.") }
        switch kind {
        case "person":
            guard !name.isEmpty else { throw .invalidField("name", "is missing: give the owner of the token.") }
            guard let role else { throw .invalidField("role", "is missing. Known: \(Self.roles).") }
            guard let known = PersonRole.allCases.first(where: { "\($0)" == role }) else {
                throw .invalidField("role", "must be one of \(Self.roles).")
            }
            guard uses == nil else { throw .invalidField("maximumUses", "is only for enrollment tokens.") }
            guard !isUnlimited else { throw .invalidField("unlimited", "is only for enrollment tokens.") }
            guard address == nil else { throw .invalidField("address", "is only for enrollment tokens.") }
            token = NewToken(.person(known), name: name, organization: organization, expiresInSeconds: seconds)
        case "enrollment":
            guard role == nil else { throw .invalidField("role", "is only for access tokens.") }
            guard let organization else { throw .invalidField("organization", "is missing: devices enroll into one.") }
            guard uses == nil || !isUnlimited else {
                throw .invalidField("unlimited", "excludes `maximumUses`.")
            }
            if let address, let objection = Self.objection(to: address, broker) {
                throw .invalidField("address", objection)
            }
            guard pinned == nil || address != nil else {
                throw .invalidField("pinned", "needs `address`: without it there is no enrollment URL.")
            }
            token = NewToken(
                .device, name: name, organization: organization,
                expiresInSeconds: seconds ?? FirstStart.enrollmentTokenSeconds,
                maximumUses: isUnlimited ? nil : uses ?? FirstStart.enrollmentTokenUses)
        case "otlp":
            guard role == nil else { throw .invalidField("role", "is only for access tokens.") }
            guard let organization else { throw .invalidField("organization", "is missing: records go into one.") }
            guard uses == nil else { throw .invalidField("maximumUses", "is only for enrollment tokens.") }
            guard !isUnlimited else { throw .invalidField("unlimited", "is only for enrollment tokens.") }
            guard address == nil else { throw .invalidField("address", "is only for enrollment tokens.") }
            token = NewToken(.otlp, name: name, organization: organization, expiresInSeconds: seconds)
        case nil: throw .invalidField("kind", "is missing. Known: person, enrollment, otlp.")
        default: throw .invalidField("kind", "must be one of person, enrollment, otlp.")
        }
    }

    /// Why devices cannot reach this collector with an address; `nil`: they can.
    private static func objection(to address: String, _ broker: EnrollmentBroker?) -> String? {
        guard ["mqtts", "mqtt"].contains(address.prefix { $0 != ":" }.lowercased()) else {
            return isAddress(address) ? nil : "is not http[s]://HOST[:PORT][/PREFIX] or mqtts://BROKER[:PORT]/PREFIX."
        }
        guard address.utf8.count <= addressBytes else { return "has more than \(addressBytes) bytes." }
        guard let broker else {
            return "is that of a message broker, and this collector serves none: set `mqtt-broker`."
        }
        return broker.objection(address)
    }

    /// Whether devices accept the text as a collector's address over HTTP.
    private static func isAddress(_ text: String) -> Bool {
        guard text.utf8.count <= addressBytes,
            let parts = URLComponents(string: text, encodingInvalidCharacters: false),
            ["http", "https"].contains(parts.scheme?.lowercased()), let host = parts.host, !host.isEmpty, host != "[]"
        else { return false }
        return parts.user == nil && parts.password == nil && parts.query == nil && parts.fragment == nil
            && (1...65535).contains(parts.port ?? 443)
    }

    private static let roles = PersonRole.allCases.map { "\($0)" }.joined(separator: ", ")

    private static func seconds(_ fields: inout FieldReader, now: Int64) throws(Problem) -> Int64? {
        let expiresAt = try fields.time("expiresAt")
        let lasting = try fields.integer("expiresInSeconds", 1...MetadataService.maximumTokenSeconds)
        guard let expiresAt else { return lasting }
        guard lasting == nil else { throw .invalidField("expiresInSeconds", "excludes `expiresAt`.") }
        let seconds = (expiresAt - now) / 1_000_000
        guard (1...MetadataService.maximumTokenSeconds).contains(seconds) else {
            throw .invalidField("expiresAt", "is not within the next 100 years.")
        }
        return seconds
    }
}

extension TokenView {
    init(_ row: TokenRow, now: Int64) {
        self.init()
        id = row.id
        kind = row.kind.name
        name = row.name
        role = row.role.map { "\($0)" }
        organization = row.organization
        createdAt = Timestamp.text(row.created)
        expiresAt = row.expires.map(Timestamp.text)
        revokedAt = row.revoked.map(Timestamp.text)
        uses = row.kind == .enrollment ? row.uses : nil
        maximumUses = row.maximumUses
        state = row.state(at: now).rawValue
    }
}
