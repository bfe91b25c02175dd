import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import JSON
import Logging
import RecordStore
import Registry
import WireModel

/// Shows and changes metadata. Viewers see them, but never the privacy key. Administrators change them: as a whole with
/// `PUT`, in part with `PATCH`.
struct ProfileRoutes: RouteGroup {
    let shared: RouteContext
    /// The custom payload is the largest part of a profile, and escaping may enlarge it.
    static let bodyBytes = 1024 * 1024

    let pins: CertificatePinCheck

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/profiles/{organization}", use: get)
            .get("/api/v1/profiles/{organization}/{application}", use: get)
            .get("/api/v1/profile-revisions/{organization}", use: revisions)
        router.people(.administrator)
            .put("/api/v1/profiles/{organization}", use: put)
            .patch("/api/v1/profiles/{organization}", use: patch)
            .put("/api/v1/profiles/{organization}/{application}", use: put)
            .patch("/api/v1/profiles/{organization}/{application}", use: patch)
    }

    private func get(_ request: Request, _ context: PersonContext) async throws -> Response {
        let scope = try scope(context)
        let query = try QueryParameters(request, known: ["revision", "effective"])
        if try query.flag("effective") {
            guard query.text("revision") == nil else {
                throw Problem.invalidParameter(
                    "revision", "excludes `effective`, because devices get the newest revision.")
            }
            let device: DeviceProfile
            do throws(StoreError) { device = try await metadata.deviceProfile(of: scope) } catch {
                guard error.code == .notFound else { throw error }
                throw Problem.noProfile
            }
            return try ProfileView(device, scope).response()
        }
        guard let row = try await metadata.profile(scope, revision: try query.revision("revision")) else {
            throw Problem.noProfile
        }
        var response = try ProfileView(row).response()
        response.headers[.eTag] = RevisionTag(row.revision).text
        return response
    }

    private func put(_ request: Request, _ context: PersonContext) async throws -> Response {
        let scope = try scope(context)
        _ = try QueryParameters(request, known: [])
        let person = context.person
        return try await reader.read(request, context, limit: .json(Self.bodyBytes)) { body in
            let profile = try ProfileDocument.read(body)
            let expected = try await expectedRevision(request, scope)
            try pins.check(profile)
            let row = try await metadata.putProfile(profile, scope, expected: expected, by: AuditActor(person))
            return try await changed(row, by: person)
        }
    }

    /// How often a patch is applied again because another change came in between.
    private static let patchAttempts = 8

    /// Changes the named fields and leaves the rest (RFC 7396). A scope without a profile gets one with these fields.
    private func patch(_ request: Request, _ context: PersonContext) async throws -> Response {
        let scope = try scope(context)
        _ = try QueryParameters(request, known: [])
        let person = context.person
        return try await reader.read(request, context, limit: .mergePatch(Self.bodyBytes)) { body in
            let patch = try FieldReader.parse(body)
            // After the merge, a misspelt name with `null` would disappear.
            _ = try ProfileDocument.read(FieldReader(patch))
            let expected = try await expectedRevision(request, scope)
            var attempt = 1
            while true {
                let newest = try await metadata.profile(scope, revision: nil)
                let own = try newest.map { try ProfileDocument.json($0.profile) } ?? .object([:])
                let profile = try ProfileDocument.read(FieldReader(own.merging(patch)))
                let row: ProfileRow
                do throws(ProfileError) {
                    try pins.check(profile)
                    row = try await metadata.putProfile(
                        profile, scope, expected: expected ?? newest?.revision ?? 0, by: AuditActor(person))
                } catch {
                    guard case .notNewest = error, expected == nil, attempt < Self.patchAttempts else {
                        throw error
                    }
                    attempt += 1
                    continue
                }
                return try await changed(row, by: person)
            }
        }
    }

    private func changed(_ row: ProfileRow, by person: Person) async throws -> Response {
        logger.notice(
            "profile changed",
            metadata: [
                "organization": "\(row.scope.organization)", "application": "\(row.scope.application)",
                "profile.revision": "\(row.revision)", "person": "\(person.name)",
            ])
        let former = try await metadata.profileRevisions(
            organization: row.scope.organization, application: row.scope.application, below: row.revision, limit: 1
        ).rows.first
        var view = try ProfileView(row)
        view.reset =
            try former.map { former in
                ProfileDiff(
                    from: try ProfileDocument.json(former.profile), to: try ProfileDocument.json(row.profile)
                ).removals
            } ?? []
        var response = try view.response()
        response.headers[.eTag] = RevisionTag(row.revision).text
        return response
    }

    private func revisions(_ request: Request, _ context: PersonContext) async throws -> Response {
        let scope = try scope(context)
        let query = try QueryParameters(request, known: ["application", "own", "newest", "brief", "limit", "cursor"])
        let (isOwn, isBrief) = (try query.flag("own"), try query.flag("brief"))
        guard !isOwn || query.text("application") == nil else {
            throw Problem.invalidParameter("own", "excludes `application`.")
        }
        let page = try await metadata.profileRevisions(
            organization: scope.organization, application: isOwn ? "" : query.text("application"),
            isNewestOnly: try query.flag("newest"), below: try query.revision("cursor"), limit: try query.limit())
        let items = try page.rows.map { row in
            var view = try ProfileView(row)
            if isBrief { view.profile = nil }
            return view
        }
        return try Page(items: items, next: page.next.map { String($0) }).response()
    }

    private func scope(_ context: PersonContext) throws -> ProfileScope {
        ProfileScope(organization: try context.organization, application: try context.parameter("application"))
    }
}

extension PersonContext {
    /// The organization in the path. It must be the caller's.
    var organization: String {
        get throws {
            let named = try parameter("organization")
            if let own = person.organization, own != named { throw Problem.noProfile }
            return named
        }
    }
}

extension RouteGroup {
    /// Returns the newest revision that `If-Match` and `If-None-Match` require; `nil` for none.
    func expectedRevision(_ request: Request, _ scope: ProfileScope) async throws -> UInt64? {
        let headers = request.headers
        guard headers[.ifMatch] != nil || headers[.ifNoneMatch] != nil else { return nil }
        let newest = try await metadata.profile(scope, revision: nil)?.revision ?? 0
        if let field = headers[.ifMatch], newest == 0 || !RevisionTag(newest).isAmong(field) {
            throw Problem.preconditionFailed(newest)
        }
        if let field = headers[.ifNoneMatch], newest != 0, RevisionTag(newest).isAmong(field) {
            throw Problem.preconditionFailed(newest)
        }
        // Checked again when the profile is stored, because it must not change in between.
        return newest
    }
}

extension QueryParameters {
    func revision(_ name: String) throws -> UInt64? {
        try text(name).map { text in
            guard let revision = UInt64(text), revision >= 1, revision <= UInt64(Int64.max) else {
                throw Problem.invalidParameter(name, "is \(text); expected a revision's number.")
            }
            return revision
        }
    }
}

extension Problem {
    static let noProfile = Problem.notFound("Your organization has no such profile.")

    static func preconditionFailed(_ newest: UInt64) -> Problem {
        Problem(
            status: 412, code: .preconditionFailed, title: "Changed by another",
            detail: newest == 0
                ? "There is none yet."
                : "The newest revision is \(newest). Read it, change it, and put it with `If-Match: \"\(newest)\"`.")
    }

    static func ofProfile(_ error: ProfileError) -> Problem {
        switch error {
        case .unknownOrganization: noProfile
        case .notNewest(let newest): preconditionFailed(newest)
        case .invalid(let error):
            // The message begins with the field.
            invalidField(
                String(error.message.prefix { $0 != " " }), String(error.message.drop { $0 != " " }.dropFirst()))
        case .store(let error): ofStore(error)
        }
    }
}
