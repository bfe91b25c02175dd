import CollectorAPI
import Foundation
import HTTPTypes
import Hummingbird
import LogArchive
import Logging
import RecordStore
import Registry
import WireModel

/// Quotas of applications' logs that differ from the default. Viewers see them, administrators set them.
struct LogQuotaRoutes: RouteGroup {
    let shared: RouteContext

    func add(to router: CollectorRouter) {
        router.people(.viewer)
            .get("/api/v1/log-quotas/{organization}", use: list)
        router.people(.administrator)
            .put("/api/v1/log-quotas/{organization}", use: put)
            .delete("/api/v1/log-quotas/{organization}", use: delete)
            .put("/api/v1/log-quotas/{organization}/{application}", use: put)
            .delete("/api/v1/log-quotas/{organization}/{application}", use: delete)
    }

    private func list(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        return try await page(try context.organization).response()
    }

    private func page(_ organization: String) async throws -> Page<LogQuotaView> {
        Page(items: try await metadata.logQuotas(of: organization).map(LogQuotaView.init), next: nil)
    }

    private func put(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        return try await reader.read(request, context, limit: .json(BodyReader.fewFieldsBytes)) { body in
            var fields = try FieldReader(body: body)
            let bytes = try fields.integer("bytes", SharedRanges.quotaBytes)
            try fields.finish()
            guard let bytes else { throw Problem.invalidField("bytes", "is missing.") }
            return try await set(bytes, context)
        }
    }

    private func delete(_ request: Request, _ context: PersonContext) async throws -> Response {
        _ = try QueryParameters(request, known: [])
        return try await set(nil, context)
    }

    /// - Returns: all quotas of the organization.
    private func set(_ bytes: Int?, _ context: PersonContext) async throws -> Response {
        let (organization, application) = (try context.organization, try context.parameter("application"))
        guard application.utf8.count <= UploadManifest.textBytes else {
            throw Problem.invalidParameter("application", "has more than \(UploadManifest.textBytes) bytes.")
        }
        do throws(StoreError) {
            try await metadata.setLogQuota(
                bytes, application: application, organization: organization, by: AuditActor(context.person))
        } catch {
            switch error.code {
            case .invalid: throw Problem.invalidField("bytes", error.message)
            case .notFound: throw Problem.notFound("There is no such organization, or you do not see it.")
            default: throw Problem.ofStore(error)
            }
        }
        logger.notice(
            "log quota changed",
            metadata: [
                "organization": "\(organization)", "application": "\(application)",
                "quota.bytes": "\(bytes.map(String.init) ?? "default")", "person": "\(context.person.name)",
            ])
        return try await page(organization).response()
    }
}

extension LogQuotaView {
    init(_ row: LogQuotaRow) {
        self.init()
        application = row.application
        bytes = row.bytes
    }
}
