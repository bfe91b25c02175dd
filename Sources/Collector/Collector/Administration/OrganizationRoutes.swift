import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import Logging
import RecordStore
import Registry
import TelemetryBasics
import WireModel

/// Organizations. An administrator of all organizations makes them; a person of one organization sees only that one.
struct OrganizationRoutes: RouteGroup {
    let shared: RouteContext

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/organizations", use: list)
            .get("/api/v1/organizations/{organization}", use: get)
        router.people(.administrator).post("/api/v1/organizations", use: create)
    }

    private func visible(_ person: Person) async throws -> [OrganizationRow] {
        try await metadata.organizations().filter { person.organization ?? $0.name == $0.name }
    }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        let query = try QueryParameters(request, known: ["limit", "cursor"])
        let (limit, after) = (try query.limit(), query.text("cursor") ?? "")
        let rows = try await visible(context.person).filter { $0.name > after }
        let page = rows.prefix(limit)
        return try Page(items: page.map(OrganizationView.init), next: rows.count > limit ? page.last?.name : nil)
            .response()
    }

    private func get(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        return try await view(try context.parameter("organization"), context.person).response()
    }

    private func view(_ name: String, _ person: Person) async throws -> OrganizationView {
        guard let row = try await visible(person).first(where: { $0.name == name }) else {
            throw Problem.notFound("There is no such organization, or you do not see it.")
        }
        return OrganizationView(row)
    }

    private func create(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        let person = context.person
        guard person.organization == nil else {
            throw Problem.forbidden(
                """
                Only an administrator of all organizations may create one; the token belongs to \
                \(person.organization ?? "").
                """
            )
        }
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            var fields = try FieldReader(body: body)
            let name = try fields.text("name")
            try fields.finish()
            guard let name else { throw Problem.invalidField("name", "is missing.") }
            do throws(StoreError) { try await metadata.createOrganization(name, by: AuditActor(person)) } catch {
                throw error.code == .invalid
                    ? Problem.invalidField("name", "cannot be: " + error.message) : .ofStore(error)
            }
            logger.notice("organization created", metadata: ["organization": "\(name)", "person": "\(person.name)"])
            var response = try await view(name, person).response(status: .created)
            response.headers[.location] = "/api/v1/organizations/\(name)"
            return response
        }
    }
}

extension OrganizationView {
    init(_ row: OrganizationRow) {
        self.init()
        name = row.name
        createdAt = Timestamp.text(row.created)
        (devices, testDevices) = (row.devices, row.testDevices)
        profileRevision = row.profileRevision
    }
}
