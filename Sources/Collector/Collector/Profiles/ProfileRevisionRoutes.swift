import CollectorAPI
import CollectorStore
import Foundation
import HTTPTypes
import Hummingbird
import JSON
import Logging
import WireModel

/// Compares, restores and tries out revisions of profiles, and counts the devices that apply them.
struct ProfileRevisionRoutes: Sendable {
    let metadata: MetadataService
    let pins: CertificatePinCheck
    let reader: BodyReader
    let logger: Logger

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
            let expected = try await metadata.expectedRevision(request, scope)
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

/// The differences between two revisions.
struct ProfileDiffView: Encodable {
    /// Absent if there was no earlier one.
    var from: UInt64?
    var to: UInt64
    var changes: [ProfileDiff.Change]

    init(from: ProfileRow?, to: ProfileRow) throws {
        self.from = from?.revision
        self.to = to.revision
        changes =
            ProfileDiff(
                from: try from.map { try ProfileDocument.json($0.profile) } ?? .object([:]),
                to: try ProfileDocument.json(to.profile)
            ).changes
    }
}

/// A valid profile and its effects.
struct ProfileValidationView: Encodable {
    /// The revision with which it is compared, the newest if none was named; absent if there is none.
    var from: UInt64?
    var changes: [ProfileDiff.Change]
    /// The profile that devices would receive.
    var effective: JSONValue
    /// Findings to check first.
    var findings: [ProfileFinding]
    /// Changes by which devices may be erased, blocked or silenced.
    var risks: [ProfileRiskView]

    init(_ profile: WireProfile, from former: ProfileRow?, effective: WireProfile, risks: [ProfileRisk]) throws {
        from = former?.revision
        changes =
            ProfileDiff(
                from: try former.map { try ProfileDocument.json($0.profile) } ?? .object([:]),
                to: try ProfileDocument.json(profile)
            ).changes
        self.effective = try ProfileDocument.json(effective)
        findings = ProfileFinding.findings(profile)
        self.risks = risks.map(ProfileRiskView.init)
    }
}

/// The number of devices that apply a revision.
struct ProfileAdoptionView: Encodable {
    /// The application of these devices; absent for the agent itself.
    var application: String?
    /// Absent if they have not reported it.
    var revision: UInt64?
    /// The revision they would receive now.
    var newestRevision: UInt64
    var devices: Int
    /// The number of devices that cannot apply a setting, by setting; absent if all can apply everything.
    var findings: [String: Int]?

    init(_ adoption: ProfileAdoption, newest: UInt64) {
        application = adoption.key.application.isEmpty ? nil : adoption.key.application
        revision = adoption.key.revision
        newestRevision = newest
        devices = adoption.devices
        findings = adoption.findings.isEmpty ? nil : adoption.findings
    }
}
