import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import JSON
import Logging
import Registry
import WireModel

/// Compares, restores and tries out revisions of profiles, and counts the devices that apply them.
struct ProfileRevisionRoutes: RouteGroup {
    let shared: RouteContext
    let pins: CertificatePinCheck

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/profile-revisions/{organization}/diff", use: diff)
            .get("/api/v1/profile-revisions/{organization}/adoption", use: adoption)
            .post("/api/v1/profile-revisions/{organization}/validate", use: validate)
        router.people(.administrator)
            .post("/api/v1/profile-revisions/{organization}/rollback", use: rollback)
    }

    private func diff(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["application", "from", "to"])
        let scope = ProfileScope(organization: try context.organization, application: query.text("application") ?? "")
        guard let to = try await metadata.profile(scope, revision: try query.revision("to")) else {
            throw Problem.noProfile
        }
        var from: ProfileRow?
        if let revision = try query.revision("from") {
            from = try await metadata.profile(scope, revision: revision)
            guard from != nil else { throw Problem.noProfile }
        } else {
            from = try await metadata.profileRevisions(
                organization: scope.organization, application: scope.application, below: to.revision, limit: 1
            ).rows.first
        }
        return try ProfileDiffView(from: from, to: to).response()
    }

    private func adoption(_ request: Request, _ context: PersonContext) async throws -> Response {
        let withTest = try QueryParameters(request, known: ["test"]).flag("test")
        let organization = try context.organization
        guard try await metadata.profile(ProfileScope(organization: organization), revision: nil) != nil else {
            throw Problem.noProfile
        }
        var items: [ProfileAdoptionView] = []
        for adoption in try await metadata.profileAdoption(organization: organization, withTest: withTest) {
            let newest = try await metadata.profileRevision(
                of: ProfileScope(organization: organization, application: adoption.key.application))
            items.append(ProfileAdoptionView(adoption, newest: newest))
        }
        return try Page(items: items, next: nil).response()
    }

    /// Changes nothing.
    private func validate(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["application", "device", "from"])
        let scope = ProfileScope(organization: try context.organization, application: query.text("application") ?? "")
        var application = ""
        if let id = try query.device("device") {
            guard let device = try await metadata.device(id, organization: scope.organization) else {
                throw Problem.noDevice
            }
            guard scope.application.isEmpty || scope.application == device.application else {
                throw Problem.invalidParameter("device", "belongs to another application, which has another profile.")
            }
            application = device.application
        }
        let from = try query.revision("from")
        return try await reader.read(request, context, limit: .json(ProfileRoutes.bodyBytes)) { body in
            let profile = try ProfileDocument.read(body)
            try pins.check(profile)
            let effective = try await metadata.previewProfile(profile, scope, application: application)
            let former = try await metadata.profile(scope, revision: from)
            guard former != nil || from == nil else { throw Problem.noProfile }
            let risks = try await metadata.risks(of: profile, scope)
            return try ProfileValidationView(profile, from: former, effective: effective, risks: risks).response()
        }
    }

    private func rollback(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let (organization, person) = (try context.organization, context.person)
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            var fields = try FieldReader(body: body)
            let application = try fields.text("application") ?? ""
            let revision = try fields.integer("revision", 1...UInt64(Int64.max))
            try fields.finish()
            guard let revision else {
                throw Problem.invalidField("revision", "is missing: give the revision to restore.")
            }
            let scope = ProfileScope(organization: organization, application: application)
            let expected = try await expectedRevision(request, scope)
            let former = try await metadata.profile(scope, revision: revision)
            let row: ProfileRow?
            do throws(ProfileError) {
                if let former { try pins.check(former.profile) }
                row = try await metadata.rollBackProfile(
                    scope, to: revision, expected: expected, by: AuditActor(person))
            } catch { throw Problem.ofProfile(error) }
            guard let row else { throw Problem.noProfile }
            logger.notice(
                "profile rolled back",
                metadata: [
                    "organization": "\(organization)", "application": "\(application)",
                    "profile.revision": "\(row.revision)",
                    "profile.restored": "\(revision)", "person": "\(person.name)",
                ])
            var response = try ProfileView(row).response()
            response.headers[.eTag] = RevisionTag(row.revision).text
            return response
        }
    }
}

extension ProfileDiffView {
    init(from: ProfileRow?, to: ProfileRow) throws {
        self.init()
        self.from = from?.revision
        self.to = to.revision
        changes =
            ProfileDiff(
                from: try from.map { try ProfileDocument.json($0.profile) } ?? .object([:]),
                to: try ProfileDocument.json(to.profile)
            ).changes
    }
}

extension ProfileValidationView {
    init(_ profile: WireProfile, from former: ProfileRow?, effective: WireProfile, risks: [ProfileRisk]) throws {
        self.init()
        from = former?.revision
        changes =
            ProfileDiff(
                from: try former.map { try ProfileDocument.json($0.profile) } ?? .object([:]),
                to: try ProfileDocument.json(profile)
            ).changes
        self.effective = try ProfileDocument.json(effective)
        findings = ProfileFindingView.findings(profile)
        self.risks = risks.map(ProfileRiskView.init)
    }
}

extension ProfileAdoptionView {
    init(_ adoption: ProfileAdoption, newest: UInt64) {
        self.init()
        application = adoption.key.application.isEmpty ? nil : adoption.key.application
        revision = adoption.key.revision
        newestRevision = newest
        devices = adoption.devices
        findings = adoption.findings.isEmpty ? nil : adoption.findings
    }
}
